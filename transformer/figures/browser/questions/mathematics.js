// Questions whose answers are figures of the model on a sentence: embeddings, LayerNorm, values, the mask, shapes. The
// same as ui/widgets/lessons/mathematics.py and mistakes.py.

import { argsortDescending, exponentText, layersOf, mean, option, percent, question, rowsOf } from "./case.js";
import { largestLater } from "./head-questions.js";
import { siteOf } from "../model/hooks.js";
import { clearest } from "../trace/explorer-data.js";

/** @typedef {import("./case.js").LessonCase} LessonCase */

const WORDS_NOTE = " (The view joins tokens to whole words; *Show tokens* shows all.)";
const VALUE_ROW = 2; // the row of the attention matrix in the lesson on values
const meanLength = (tensor) => mean(Array.from({ length: tensor.shape[0] }, (_, i) => Math.hypot(...tensor.row(i))));

// By which factor is an embedding scaled?
/** @param {LessonCase} lesson */
export function lengths({ trace }) {
  const { d_model } = trace.config;
  const [scaled, position] = ["tokens", "positions"].map((part) =>
    meanLength(trace.sites[`encoder.embed.hook_${part}`])
  );
  const factor = significant(Math.sqrt(d_model));
  return question({
    options: [
      option("Not at all", "Then the position would be much longer than the embedding."),
      option(`By √d_model = √${d_model} = ${factor}`),
      option(`By d_model = ${d_model}`, "Then the embedding would be much longer than the position."),
    ],
    correct: 1,
    answer:
      `By √${d_model} = ${factor}: here from ${(scaled / Math.sqrt(d_model)).toFixed(2)} to ${
        scaled.toFixed(1)
      } on average. The position's vector has ` +
      `length ${position.toFixed(1)}. Without the factor it would dominate the sum.`,
  });
}

// Three significant digits, without zeros at the end.
const significant = (number) => String(Number(number.toPrecision(3)));

// Over which numbers does LayerNorm compute mean and variance?
/** @param {LessonCase} lesson */
export function norm(lesson) {
  const { trace } = lesson;
  const sums = Array.from(trace.sites["encoder.layers.0.self_attn_norm.hook_sum"].row(0));
  const meanValue = mean(sums);
  const variance = mean(sums.map((value) => (value - meanValue) ** 2));
  return question({
    options: [
      option("Over the words of the sentence", "LayerNorm never mixes positions."),
      option("Over the numbers in the vector of each position"),
      option("Over all sentences in the batch", "That is batch normalisation. Here no sentence changes another one."),
    ],
    correct: 1,
    answer:
      `Over the ${sums.length} numbers of one vector. In the first encoder layer the vector of ${
        lesson.token(trace.srcTokens, 0)
      } has mean ` +
      `${meanValue.toFixed(3)} and variance ${
        variance.toFixed(3)
      } before the norm, and 0 and 1 after it. Then each dimension is multiplied by a learned gain ` +
      "γ, and a learned bias β is added.",
  });
}

// What is a value, and what a weight?
/** @param {LessonCase} lesson */
export function value(lesson) {
  const { trace } = lesson;
  const [layer, head] = clearest(layersOf(trace).map((i) => trace.weights("cross", i)));
  const row = Math.min(VALUE_ROW, trace.tgtTokens.length - 1);
  const weights = Array.from(rowsOf(trace, "cross", layer, head)[row]);
  const [best] = argsortDescending(weights);
  const [values, outputs] = ["value", "heads"].map((point) => trace.sites[siteOf("cross", layer, point)]);
  const [, count, size] = values.shape;
  const output = Array.from(outputs.row(head * outputs.shape[1] + row));
  const summed = output.map((_, d) =>
    weights.reduce((sum, weight, n) => sum + weight * values.row(head * count + n)[d], 0)
  );
  const error = Math.max(...output.map((number, d) => Math.abs(number - summed[d])));
  return question({
    options: [
      option("A value is a separate vector, computed from the token"),
      option("The weight is not normalised", "It is: each row sums to 1."),
      option("It is the query's value, not the key's", "Values are computed from the same vectors as the keys."),
    ],
    answer:
      `The **weight** is one number for a query and a key: in ${lesson.headName(layer, head)} the row of ${
        lesson.token(trace.tgtTokens, row)
      } gives ` +
      `${lesson.token(trace.srcTokens, best)} ${
        percent(weights[best])
      }. The **value** of that token is a vector, $x W_i^V$: ${size} numbers, the same for ` +
      `every query. The output of the head is the sum of all values, each multiplied by its weight. Recomputed from the ${weights.length} values of this row ` +
      `it equals the model's output up to ${exponentText(Math.max(error, 1e-7))}.`,
    answerFields: { layer, head, row },
  });
}

// Which row of the training table is missing?
/** @param {LessonCase} lesson */
export function missing(lesson) {
  const { predictedTokens, steps } = lesson.trace;
  const [start, end] = ["<s>", "</s>"].map((token) => lesson.token([token], 0));
  return question({
    options: [
      option(`${start} → ${end}`, "That would teach the model to write nothing."),
      option(`${start} Je suis étudiant → ${end}`),
      option("Je → suis", `Every row begins with ${start}, and each is longer by one.`),
    ],
    correct: 1,
    answer:
      `The last one: after the whole sentence the right answer is ${end}. A sentence of n tokens gives n + 1 rows. This model took ` +
      `${predictedTokens.length} steps for ${lesson.tokens(predictedTokens)}, and gave ${end} a probability of ${
        percent(steps.at(-1).chosen.probability)
      } in the last step. ` +
      "Without that row no training example would teach it to stop.",
  });
}

// Which sign does the mask have?
/** @param {LessonCase} lesson */
export function infinity({ trace }) {
  return question({
    options: [
      option("The scores are set to −∞, not to +∞"),
      option("The weights should be 1, not 0", "A masked position gets no attention."),
      option(
        "The past is masked, not the future",
        "The decoder may read what it has written; it has to predict what follows.",
      ),
    ],
    answer:
      "The mask sets the scores of later positions to −∞, and $e^{-\\infty} = 0$. A score of +∞ would take all of the weight. In this model the largest " +
      `weight on a later position, over all layers and heads, is ${
        largestLater(trace).toFixed(0)
      }, and each row still sums to 1.`,
  });
}

// Where do the queries of cross-attention come from?
/** @param {LessonCase} lesson */
export function memory({ trace }) {
  const [, rows, columns] = trace.weights("cross", 0).shape;
  return question({
    options: [
      option("The keys come from the decoder", "The keys are computed from the output of the encoder."),
      option("The queries come from the decoder alone"),
      option(
        "The queries come from the memory alone",
        "The query belongs to the position that writes, in the decoder.",
      ),
    ],
    correct: 1,
    answer:
      `The queries come from the decoder alone: the ${rows} rows of the matrix are the decoder's input tokens. Keys and values come from the memory: ` +
      `the ${columns} columns are the source tokens. So every target position can attend to every source position.${WORDS_NOTE}`,
  });
}

// Is the decoder's second sublayer self-attention?
/** @param {LessonCase} lesson */
export function notSelf({ trace }) {
  const [, rows, columns] = trace.weights("cross", 0).shape;
  const decoderLength = trace.weights("decoder", 0).shape[2];
  return question({
    options: [
      option("*encoder's*: it attends to the decoder's output", "It does attend to the encoder's output, the memory."),
      option("*second*: it is the first", "The masked self-attention comes first."),
      option("*self*: queries and keys come from different sequences"),
    ],
    correct: 2,
    answer:
      `*self*. The matrix is ${rows} × ${columns}: a row for each of the ${rows} decoder input tokens, a column for each of the ${columns} source tokens. It is ` +
      "cross-attention. A self-attention matrix is always square, with the same tokens on both sides: that of the decoder is " +
      `${decoderLength} × ${decoderLength}, and empty above the diagonal because of the mask.${WORDS_NOTE}`,
  });
}

// Which word is missing in the formula of the feed-forward network?
/** @param {LessonCase} lesson */
export function units({ trace }) {
  const hidden = layersOf(trace).map((layer) => trace.sites[`encoder.layers.${layer}.ffn.hook_hidden`]);
  const size = hidden[0].shape.at(-1);
  const positive = hidden.reduce(
    (sum, { values }) => sum + values.reduce((count, unit) => count + Number(unit > 0), 0),
    0,
  );
  const { activation } = trace.config;
  return question({
    options: [
      option("softmax", "A softmax would make the units sum to 1; here each is independent."),
      option("$\\max$"),
      option("√", "There is no square root in it."),
    ],
    correct: 1,
    answer:
      "$\\max$: the formula has $\\max(0, xW_1 + b_1)$, a ReLU, which sets negative numbers to 0 (equation 2). Of the " +
      `${size.toLocaleString("en")} units of each encoder layer ${
        percent(positive / (hidden.length * hidden[0].values.length))
      } are positive on this sentence; ` +
      `the others are ${activation === "relu" ? "exactly 0" : `small, for this model uses ${activation}`}.`,
  });
}
