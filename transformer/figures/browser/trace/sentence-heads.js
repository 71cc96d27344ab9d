// Heads that stand out in one sentence: the aligner, one that attends to the previous word, attention sinks;
// and a line of text for each. The same as analysis/roles/sentence_heads.py and ui/widgets/notable_heads.py.

import { Tensor } from "../model/tensor.js";
import { isControl, mergeWords, plainWords, wordNumbers } from "./words.js";

/** @typedef {import("../model/translator.js").Trace} Trace */
/** @typedef {{ role: string, segments: [string, boolean][], state: any }} HeadNotice */

const CLEAR = 0.5; // minimum weight of a notable head: more than all other tokens together
const ENDS = { "</s>": "the end-of-sentence token", "<s>": "the start token" };

/** @typedef {import("./glance-data.js").Aligner} Aligner */

// `aligner`: the head that best aligns words by manual links; it is the one shown, however clear it is.
/** @param {Trace} trace @param {Aligner | null} aligner @returns {HeadNotice[]} */
export function notices(trace, aligner) {
  const alignerNotice = aligner ? measuredAligner(trace, aligner) : clearestAligner(trace);
  return [alignerNotice, previousWordHead(trace), sinkHeads(trace)].filter((headNotice) => headNotice !== null);
}

/** @param {string} kind @param {number[]} position layer and head @returns {HeadNotice} */
const notice = (role, segments, kind, position, tokens, to = "output") => ({
  role,
  segments,
  state: {
    view: "heads",
    kind,
    layer: position[0],
    head: position[1],
    ...(kind === "cross" ? { word_row: to } : {}),
    heads: "",
    combine: "one",
    tokens,
    pin: "",
  },
});
// Two decimals, which are on the same side of one half as the weight.
function weightText(weight) {
  if (weight >= 0.995 && weight < 1) return "more than 0.99";
  if (weight < CLEAR && weight >= 0.495) return "almost 0.50";
  return weight.toFixed(2);
}
const wordIndices = (labels) => labels.map((_, i) => i).filter((i) => labels[i]);
const piecesOf = (numbers, word) =>
  numbers.map((number, i) => (number === word ? `q${i}` : "")).filter(Boolean).join(",");

// Layer and head of all heads of a kind.
/** @param {Trace} trace @returns {[number, number][]} */
const heads = (trace) =>
  Array.from(
    { length: trace.config.n_layers * trace.config.n_heads },
    (_, i) => /** @type {[number, number]} */ ([Math.floor(i / trace.config.n_heads), i % trace.config.n_heads]),
  );

// The head that gives the most weight to word pairs that are each other's strongest in the mean of all heads.
function clearestAligner(trace) {
  const [rows, columns] = [plainWords(trace.predictedTokens), plainWords(trace.srcTokens)];
  const [target, source] = [wordIndices(rows.labels), wordIndices(columns.labels)];
  if (Math.min(target.length, source.length) < 2) return null;
  const { best, shares, pairs } = alignment(trace, rows, columns, target, source);
  if (shares[best] < CLEAR) return null;
  const [layer, head] = heads(trace)[best];
  /** @type {[string[], string[]]} */
  const tokens = [trace.predictedTokens, trace.srcTokens];
  const shown = shownWeights(trace.weights("cross", layer), head, "output", tokens, [target, source]);
  const weight = ([i, j]) => shown[i][j];
  const clear = pairs.filter((pair) => weight(pair) >= CLEAR);
  if (!clear.length) return null;
  // Prefer long words: nouns and names rather than articles.
  const length = ([, j]) => [...columns.labels[source[j]]].length;
  const [i, j] = clear.reduce((
    a,
    b,
  ) => (length(b) > length(a) || (length(b) === length(a) && weight(b) > weight(a)) ? b : a));
  return notice(
    "aligns",
    [
      ["To write ", false],
      [rows.labels[target[i]], true],
      [", one head attends to ", false],
      [columns.labels[source[j]], true],
      [
        ` with weight ${
          weightText(weight([i, j]))
        }. ${clear.length} of ${target.length} words give their source word at least half:`,
        false,
      ],
    ],
    "cross",
    heads(trace)[best],
    piecesOf(rows.numbers, target[i]),
  );
}

// The measured aligner on this sentence: the greatest weight of each word.
/** @param {Trace} trace @param {Aligner} aligner */
function measuredAligner(trace, { layer, head, weights_to: to }) {
  const [rows, columns] = [plainWords(trace.predictedTokens), plainWords(trace.srcTokens)];
  const [target, source] = [wordIndices(rows.labels), wordIndices(columns.labels)];
  if (Math.min(target.length, source.length) < 2) return null;
  /** @type {[string[], string[]]} */
  const tokens = [trace.predictedTokens, trace.srcTokens];
  const weights = shownWeights(trace.weights("cross", layer), head, to, tokens, [target, source]);
  const best = weights.map((row) => Math.max(...row));
  const clear = best.filter((weight) => weight >= CLEAR).length;
  // Among the clearest words, a long one: nouns and names rather than articles.
  const rankOf = (i) => [Number(best[i] >= CLEAR), [...rows.labels[target[i]]].length, best[i]];
  const isGreater = (a, b) => a.reduce((decided, value, i) => decided || Math.sign(value - b[i]), 0) > 0;
  const row = target.map((_, i) => i).reduce((a, b) => (isGreater(rankOf(b), rankOf(a)) ? b : a));
  const pieces = rows.numbers.map((_, i) => i).filter((i) => rows.numbers[i] === target[row]);
  const readRows = [...new Set(pieces.map((i) => Math.min(i + Number(to === "input"), rows.numbers.length - 1)))];
  const unsure = target.length - clear;
  const clarity = !unsure
    ? "Every target word gives at least half of its weight to one source word."
    : clear
    ? `It is uncertain for ${unsure} of the ${target.length} target words: no source word gets half of its weight.`
    : "It is uncertain on this sentence: no target word gives half of its weight to one source word.";
  return notice(
    "aligns",
    [
      [to === "input" ? "After writing " : "To write ", false],
      [rows.labels[target[row]], true],
      [", one head attends most to ", false],
      [columns.labels[source[weights[row].indexOf(best[row])]], true],
      [
        ` with ${
          weightText(best[row])
        } of its attention. ${clarity} On human-made links it is the best aligner of this model:`,
        false,
      ],
    ],
    "cross",
    [layer, head],
    readRows.map((i) => `q${i}`).join(","),
    to,
  );
}

// The weights of one head between words, numbered as by `plainWords`, as pictures show them: between words with their
// punctuation. With `to` "input" a token has the next row, which reads it.
function shownWeights(weights, head, to, [rowTokens, columnTokens], [rowWords, columnWords]) {
  const [, rows, columns] = weights.shape;
  const shifted = new Tensor([1, rows, columns]);
  for (let i = 0; i < rows; i++) {
    shifted.row(i).set(weights.row(head * rows + (to === "input" ? Math.min(i + 1, rows - 1) : i)));
  }
  const { values, shape: [, , n] } = mergeWords(shifted, wordNumbers(rowTokens), wordNumbers(columnTokens));
  const shownColumns = shownNumbers(columnTokens, columnWords);
  return shownNumbers(rowTokens, rowWords).map((i) => shownColumns.map((j) => values[i * n + j]));
}

// The number in `wordNumbers` of each of these words, numbered as by `plainWords`.
function shownNumbers(tokens, words) {
  const [plain, shown] = [plainWords(tokens).numbers, wordNumbers(tokens)];
  return words.map((word) => shown[plain.indexOf(word)]);
}

// Weights between words, the pairs that are each other's strongest in the mean of all heads, and each head's mean weight
// on these pairs.
function alignment(trace, rows, columns, target, source) {
  const layers = Array.from(
    { length: trace.config.n_layers },
    (_, layer) => mergeWords(trace.weights("cross", layer), rows.numbers, columns.numbers),
  );
  const headCount = trace.config.n_heads;
  const [m, n] = [rows.labels.length, columns.labels.length];
  const weightAt = (number, i, j) =>
    layers[Math.floor(number / headCount)].values[((number % headCount) * m + i) * n + j];
  const headNumbers = heads(trace).map((_, number) => number);
  const mean = target.map((i) =>
    source.map((j) => headNumbers.reduce((sum, number) => sum + weightAt(number, i, j), 0) / headNumbers.length)
  );
  const pairs = strongestPairs(mean);
  const shares = headNumbers.map((number) =>
    pairs.reduce((sum, [i, j]) => sum + weightAt(number, target[i], source[j]), 0) /
    Math.min(target.length, source.length)
  );
  return { shares, pairs, best: shares.indexOf(Math.max(...shares)) };
}

// Pairs in which each is the other's strongest.
/** @param {number[][]} table @returns {[number, number][]} */
function strongestPairs(table) {
  const indexOfMax = (numbers) => numbers.indexOf(Math.max(...numbers));
  const pairs = table.map((row, i) => /** @type {[number, number]} */ ([i, indexOfMax(row)]));
  return pairs.filter(([i, j]) => table[i][j] > 0 && indexOfMax(table.map((row) => row[j])) === i);
}

// The head whose words attend most to the word before, without punctuation between them.
function previousWordHead(trace) {
  let best = null;
  for (const [kind, tokens] of [["encoder", trace.srcTokens], ["decoder", trace.tgtTokens]]) {
    const { numbers, labels } = plainWords(tokens);
    const rows = wordIndices(labels).filter((i) => labels[i - 1]);
    if (rows.length < 2) continue;
    for (let layer = 0; layer < trace.config.n_layers; layer++) {
      const { shape: [count, words], values } = mergeWords(trace.weights(kind, layer), numbers, numbers);
      for (let head = 0; head < count; head++) {
        const weights = rows.map((i) => values[(head * words + i) * words + i - 1]);
        const share = weights.reduce((a, b) => a + b) / rows.length;
        if (share < CLEAR || (best && share <= best.share)) continue;
        best = { share, kind, position: [layer, head], tokens, rows, labels, numbers };
      }
    }
  }
  if (!best) return null;
  const { tokens, rows, labels, numbers, kind: bestKind, position: [layer, head] } = best;
  const before = rows.map((i) => i - 1);
  const shown = shownWeights(trace.weights(bestKind, layer), head, "output", [tokens, tokens], [rows, before]);
  const weights = shown.map((row, i) => row[i]);
  const strongest = weights.indexOf(Math.max(...weights));
  return notice(
    "previous-word",
    [
      [labels[rows[strongest]], true],
      [" attends to the previous word, ", false],
      [labels[rows[strongest] - 1], true],
      [
        `, with weight ${weightText(weights[strongest])}. ${
          weights.filter((weight) => weight >= CLEAR).length
        } of ${rows.length} words give the previous word at least half:`,
        false,
      ],
    ],
    best.kind,
    best.position,
    piecesOf(numbers, rows[strongest]),
  );
}

// Attention sinks: heads that give most of their attention to an end of the sentence. The source's end is
// checked first; the decoder's first row, which sees only `<s>`, is left out.
function sinkHeads(trace) {
  const sinks = [];
  for (
    const [kind, tokens] of [["encoder", trace.srcTokens], ["cross", trace.srcTokens], ["decoder", trace.tgtTokens]]
  ) {
    const column = kind === "decoder" ? 0 : tokens.length - 1;
    const from = kind === "decoder" ? 1 : 0;
    const rows = trace.weights(kind, 0).shape[1];
    if (!isControl(tokens[column]) || rows - from < 2) continue;
    for (const [layer, head] of heads(trace)) {
      const weights = trace.weights(kind, layer);
      let sum = 0;
      for (let i = from; i < rows; i++) sum += weights.row(head * rows + i)[column];
      sinks.push({
        share: sum / (rows - from),
        kind,
        position: [layer, head],
        token: tokens[column],
        column,
        last: kind !== "decoder",
      });
    }
  }
  const clear = sinks.filter(({ share }) => share >= CLEAR);
  if (!clear.length) return null;
  const best = clear.reduce((a, b) => (Number(b.last) - Number(a.last) || b.share - a.share) > 0 ? b : a);
  return notice(
    "sink",
    [[
      `${clear.length} of ${sinks.length} heads attend mostly to a sink: they give most of their weight to ${
        ENDS[best.token] ?? "punctuation"
      }. This one gives it ${weightText(best.share)}:`,
      false,
    ]],
    best.kind,
    best.position,
    `k${best.column}`,
  );
}
