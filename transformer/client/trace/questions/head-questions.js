// Questions about heads: patterns, attention sinks, the mask, reordering, and what the matrix of cross-attention is.

import { argmax } from "../../common/base.js";
import {
  argsortDescending,
  bold,
  escaped,
  firstFour,
  headsOf,
  layersOf,
  LessonUnavailable,
  mean,
  option,
  question,
  roundedPercent,
  rowsOf,
} from "./case.js";
import { CLEAR } from "../sentence-heads.js";
import { meanOfHeads, rowPicture, withBold } from "./first-questions.js";
import { alignment } from "../alignment.js";
import { mergeWords, plainWords } from "../words.js";

/** @typedef {import("./case.js").LessonCase} LessonCase */

const CROSS_VERDICT =
  "The selected head belongs to cross-attention, where no word has a previous one. Choose the encoder above the picture.";
const STACKS = { encoder: "encoder", decoder: "decoder", cross: "cross-attention" };
const ALMOST = 0.35; // minimum share of a head that nearly attends to the previous word
const MIN_SINK_SHARE = 0.4; // minimum mean weight of a sink token in the head that the lesson shows
const MIN_SINK_RATIO = 3; // minimum ratio of this weight to that of uniform attention

// Find a head that attends to the previous word.
/** @param {LessonCase} lesson */
export function previousWord(lesson) {
  const shares = previousWordShares(lesson);
  const flatShares = Object.fromEntries(Object.entries(shares).map(([kind, layers]) => [kind, layers.flat()]));
  const top = (kind) => Math.max(0, ...flatShares[kind]);
  const kind = top("decoder") > top("encoder") ? "decoder" : "encoder";
  if (top(kind) < CLEAR) throw new LessonUnavailable("none of its heads attends to the previous word on most words");
  const { n_heads } = lesson.trace.config;
  const headOf = (number) => ({ layer: Math.floor(number / n_heads), head: number % n_heads });
  const [best, weakest] = [argmax(flatShares[kind]), argmax(flatShares[kind].map((share) => -share))].map(headOf);
  const all = Object.values(flatShares).flat();
  return question({
    answer: `${
      all.filter((share) => share >= CLEAR).length
    } of the ${all.length} heads in encoder and decoder give the previous word more than half ` +
      `of their attention. The clearest is ${lesson.headName(best.layer, best.head)} of the ${STACKS[kind]}, with ${
        roundedPercent(top(kind))
      }. It was not ` +
      "programmed: training found it useful. With so few words some heads may match by chance; the page Research measures a whole corpus.",
    startFields: { view: "model", kind, ...weakest },
    answerFields: { view: "heatmap", kind, ...best },
    verdicts: {
      ...Object.fromEntries(
        Object.entries(shares).map(([stack, layers]) => [
          stack,
          layers.map((heads, layer) =>
            heads.map((share, head) => verdictOf(lesson, stack, layer, head, share))
          ),
        ]),
      ),
      cross: layersOf(lesson.trace).map(() => headsOf(lesson.trace).map(() => [false, CROSS_VERDICT])),
    },
  });
}

// Whether this head attends to the previous word, and an explanation.
/** @param {LessonCase} lesson @returns {[boolean, string]} */
function verdictOf(lesson, kind, layer, head, share) {
  const text = `The selected head (${STACKS[kind]}, ${lesson.headName(layer, head)}) gives the previous word ${
    roundedPercent(share)
  } of its attention on average`;
  if (share >= CLEAR) return [true, `${text}.`];
  return share >= ALMOST
    ? [false, `Almost. ${text}. The clearest heads give it more than half.`]
    : [false, `${text}; look for more than half.`];
}

// By kind the mean weight of every head on the previous word, [layer][head]; 0 if there are fewer than two words.
/** @param {LessonCase} lesson @returns {Record<string, number[][]>} */
function previousWordShares({ trace }) {
  const sharesOf = (kind, tokens) => {
    const { numbers, labels } = plainWords(tokens);
    const rows = labels.map((_, n) => n).filter((n) => n > 0 && labels[n] && labels[n - 1]);
    return layersOf(trace).map((layer) => {
      const merged = mergeWords(trace.weights(kind, layer), numbers, numbers);
      const shareOf = (head) => mean(rows.map((row) => merged.row(head * labels.length + row)[row - 1]));
      return headsOf(trace).map((head) => rows.length ? shareOf(head) : 0);
    });
  };
  return { encoder: sharesOf("encoder", trace.srcTokens), decoder: sharesOf("decoder", trace.tgtTokens) };
}

// Which token is the attention sink of a head? The sink is a token without letters, such as </s> or a full stop.
/** @param {LessonCase} lesson */
export function attentionSink(lesson) {
  const { trace } = lesson;
  const tokens = trace.srcTokens;
  const wordTokens = tokens.map((_, n) => n).filter((n) => !/^<.*>$/.test(tokens[n]) && /\p{L}/u.test(tokens[n]));
  if (wordTokens.length < 3) throw new LessonUnavailable("its sentence is shorter than three words");
  let sinkHead = { share: 0, kind: "encoder", layer: 0, head: 0 };
  for (const kind of ["encoder", "cross"]) {
    for (const layer of layersOf(trace)) {
      for (const head of headsOf(trace)) {
        const row = meanRow(trace, kind, layer, head);
        tokens.forEach((_, column) => {
          if (!wordTokens.includes(column) && row[column] > sinkHead.share) {
            sinkHead = { share: row[column], kind, layer, head };
          }
        });
      }
    }
  }
  const { share, kind, layer, head } = sinkHead;
  const row = meanRow(trace, kind, layer, head);
  const [column, uniform] = [argmax(row), 1 / tokens.length];
  if (wordTokens.includes(column) || share < Math.max(MIN_SINK_SHARE, MIN_SINK_RATIO * uniform)) {
    throw new LessonUnavailable("none of its heads gives most of its attention to one such token");
  }
  const longest = wordTokens.reduce((a, b) => ([...tokens[b]].length > [...tokens[a]].length ? b : a));
  const labels = tokens.map((_, n) => lesson.token(tokens, n));
  const options = firstFour([column, longest, wordTokens[0], tokens.length - 1, ...argsortDescending(row)], labels);
  return question({
    exhibit: lesson.tokens(tokens),
    options: options.map((n) => option(labels[n], `${labels[n]} gets ${roundedPercent(row[n])}.`)),
    correct: options.indexOf(column),
    answer: `${lesson.token(tokens, column)}: ${roundedPercent(share)} of this head's attention, averaged over ` +
      `${kind === "encoder" ? "all tokens read" : "all tokens written"}; uniform attention would give it ${
        roundedPercent(uniform)
      }. The token says little ` +
      "about the sentence. A row has to sum to 1, so a head that finds nothing useful still has to give its weight to some token: an **attention sink**.",
    answerFields: { view: "heads", kind, layer, head, tokens: `k${column}` },
    picture: {
      weights: rowsOf(trace, kind, layer, head).map((weights) => Array.from(weights)),
      rows: lesson.names(kind === "encoder" ? tokens : trace.predictedTokens),
      columns: lesson.names(tokens),
      caption: "One head: how much each token (row) attends to each token of the sentence (column)",
      hidden: rowsOf(trace, kind, layer, head).flatMap((weights, i) => Array.from(weights, (_, n) => [i, n])),
      marked: rowsOf(trace, kind, layer, head).map((_, i) => [i, column]),
    },
  });
}

function meanRow(trace, kind, layer, head) {
  const rows = rowsOf(trace, kind, layer, head);
  return Array.from(rows[0], (_, column) => mean(rows.map((row) => row[column])));
}

// How much attention can a later word get?
/** @param {LessonCase} lesson */
export function laterWord(lesson) {
  const { trace, words } = lesson;
  if (words.target.length < 3) throw new LessonUnavailable("its translation is shorter than three words");
  const largest = largestLater(trace);
  if (largest > 0) throw new LessonUnavailable("its decoder attends to later tokens");
  return question({
    exhibit: withBold(words.target, 1),
    options: [
      option("None"),
      option(
        "A little, and less the further away it is",
        "Then training would teach it to copy the word that it has to predict.",
      ),
      option("As much as earlier words", "In training the whole translation is there, but the mask hides later words."),
    ],
    answer:
      `None: over all ${
        trace.config.n_layers * trace.config.n_heads
      } decoder heads the largest weight on a later token is ${largest.toFixed(0)}. The ` +
      "causal mask sets those scores to −∞ before the softmax, and e to the power of −∞ is 0. The matrix is empty above its diagonal.",
    answerFields: { view: "heatmap", kind: "decoder", tokens: `q${words.firstRow(2)}` },
    picture: {
      weights: meanOfHeads(trace, "decoder"),
      rows: lesson.names(trace.tgtTokens),
      columns: lesson.names(trace.tgtTokens),
      caption: "The mean of all decoder heads: how much each token (row) attends to each token (column)",
      hidden: trace.tgtTokens.flatMap((_, i) => trace.tgtTokens.slice(i + 1).map((_, n) => [i, i + 1 + n])),
      marked: [[words.firstRow(2), words.firstRow(2) + 1]],
    },
  });
}

// The largest weight of any decoder head on a later position.
/** @param {import("./case.js").Trace} trace */
function largestLater(trace) {
  const later = layersOf(trace).flatMap((layer) =>
    headsOf(trace).flatMap((head) =>
      rowsOf(trace, "decoder", layer, head).flatMap((row, i) => Array.from(row.subarray(i + 1)))
    )
  );
  return later.reduce((largest, weight) => Math.max(largest, weight), 0);
}

// Two neighbouring words of the translation whose source words are in the opposite order.
/** @param {LessonCase} lesson */
export function crossingWords(lesson) {
  const { words, trace } = lesson;
  if (Math.min(words.target.length, words.source.length) < 3) {
    throw new LessonUnavailable("its sentence or its translation is shorter than three words");
  }
  const heads = words.cross.flat();
  const { shares, pairs } = alignment(heads);
  for (const number of argsortDescending(shares)) {
    const weights = heads[number];
    const best = weights.map(argmax);
    const isClear = (word) =>
      pairs.some(([i, j]) => i === word && j === best[word]) && weights[word][best[word]] >= CLEAR;
    const targetWord = words.target.findIndex((_, word) =>
      word > 0 && isClear(word) && isClear(word - 1) && best[word] < best[word - 1]
    );
    if (targetWord > 0) {
      return reorderingQuestion(
        lesson,
        weights,
        Math.floor(number / trace.config.n_heads),
        number % trace.config.n_heads,
        targetWord,
      );
    }
  }
  throw new LessonUnavailable("no head shows two neighbouring words in the opposite order");
}

function reorderingQuestion(lesson, weights, layer, head, targetWord) {
  const { source, target } = lesson.words;
  const [previousSourceWord, sourceWord] = [argmax(weights[targetWord - 1]), argmax(weights[targetWord])];
  const options = firstFour(
    [sourceWord, previousSourceWord, previousSourceWord + 1, previousSourceWord - 1, sourceWord - 1, sourceWord + 1, 0]
      .filter((n) => n >= 0 && n < source.length),
    source,
  );
  return question({
    exhibit: `${escaped(lesson.text)}  →  ${withBold(target, targetWord)}`,
    options: options.map((n) =>
      option(escaped(source[n]), `${bold(source[n])} gets ${roundedPercent(weights[targetWord][n])} there.`)
    ),
    correct: options.indexOf(sourceWord),
    answer:
      `${bold(source[sourceWord])}, with ${roundedPercent(weights[targetWord][sourceWord])} of ${
        lesson.headName(layer, head)
      }. For the word before, ` +
      `${bold(target[targetWord - 1])}, it was ${
        bold(source[previousSourceWord])
      }. The two languages order these words differently, so the lines cross. The model had no ` +
      "dictionary and no grammar: it learned both from pairs of sentences.",
    answerFields: {
      view: "heads",
      kind: "cross",
      layer,
      head,
      tokens: `${lesson.words.rows(targetWord - 1)},${lesson.words.rows(targetWord)}`,
    },
    picture: rowPicture(lesson.words, weights, targetWord, sourceWord),
  });
}

// Where do the queries of cross-attention come from?
/** @param {LessonCase} lesson */
export function memory(lesson) {
  const { trace } = lesson;
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
      `the ${columns} columns are the source tokens. So every target position can attend to every source position.${
        wordsNote(lesson)
      }`,
    picture: crossPicture(lesson),
  });
}

// Is the decoder's second sublayer self-attention?
/** @param {LessonCase} lesson */
export function notSelf(lesson) {
  const { trace } = lesson;
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
      `${decoderLength} × ${decoderLength}, and empty above the diagonal because of the mask.${wordsNote(lesson)}`,
    picture: crossPicture(lesson),
  });
}

// A sentence for a view of whole words, which has fewer rows than there are tokens.
const wordsNote = ({ exact }) => exact ? "" : " (The view joins tokens to whole words; *Show tokens* shows all.)";

// The matrix of cross-attention, without the names of its rows until the answer is shown.
/** @param {LessonCase} lesson @returns {import("./case.js").Picture} */
function crossPicture(lesson) {
  const { trace } = lesson;
  return {
    weights: meanOfHeads(trace, "cross"),
    rows: lesson.names(trace.tgtTokens),
    columns: lesson.names(trace.srcTokens),
    caption: "The mean of all heads of this sublayer: a row for each query, a column for each key",
    hidden: [],
    marked: [],
    rowNamesHidden: true,
  };
}
