// Heads that stand out in one sentence: the aligner, one that attends to the previous word, attention sinks;
// and a line of text for each, from the numbers that the views draw of whole words.

import { isControl } from "../common/naming.js";
import { argmax } from "../common/base.js";
import { alignment } from "./alignment.js";
import { layersOfKind } from "./packed-trace.js";
import { mergeWords, trimPunctuation, wordLabels, wordNumbers } from "./words.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */
/** @typedef {{ role: string, segments: Notice["segments"], state: any }} HeadNotice */

export const CLEAR = 0.5; // minimum weight of a notable head: more than all other tokens together
const UNCERTAIN = ". It is uncertain on this sentence: no target word gives half of its weight to one source word";
const ENDS = { "</s>": "the end-of-sentence token", "<s>": "the start token" };

/** @typedef {import("./glance-data.js").Aligner} Aligner */

// `aligner`: the head that best aligns words by manual links; it is the one shown, however clear it is.
/** @param {ViewTrace} trace @param {Aligner | null} aligner @returns {HeadNotice[]} */
export function notices(trace, aligner) {
  const alignerNotice = !trace.kinds.includes("cross")
    ? null
    : aligner
    ? measuredAligner(trace, aligner)
    : clearestAligner(trace);
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
function noticeWeight(weight) {
  if (weight >= 0.995 && weight < 1) return "more than 0.99";
  if (weight < CLEAR && weight >= 0.495) return "almost 0.50";
  return weight.toFixed(2);
}
// Whether the first numbers that differ are greater in the first list.
const isGreater = (a, b) => a.reduce((decided, value, i) => decided || Math.sign(value - b[i]), 0) > 0;
const wordIndices = (labels) => labels.map((_, i) => i).filter((i) => labels[i]);
const piecesOf = (numbers, word) =>
  numbers.map((number, i) => (number === word ? `q${i}` : "")).filter(Boolean).join(",");

// Layer and head of all heads of a kind.
/** @param {ViewTrace} trace @param {string} kind @returns {[number, number][]} */
const headsOfKind = (trace, kind) =>
  Array.from(
    { length: (trace.depths[kind] ?? 0) * trace.n_heads },
    (_, i) => /** @type {[number, number]} */ ([Math.floor(i / trace.n_heads), i % trace.n_heads]),
  );

// The words of a kind as the views draw them, and the weights of a layer between them: averaged over the rows of a word,
// summed over its columns. A row of cross-attention belongs to the word that it writes, with `to` "input" to the one that
// it reads. `labels` lack punctuation and are "" for what has no letters.
/** @param {ViewTrace} trace @param {string} kind @param {string} [to] */
function drawnWords(trace, kind, to = "output") {
  const { srcTokens, tgtTokens, predictedTokens } = trace;
  const rowTokens =
    { encoder: srcTokens, decoder: tgtTokens, cross: to === "input" ? tgtTokens : predictedTokens }[kind];
  const [rows, columns] = [rowTokens, kind === "decoder" ? tgtTokens : srcTokens].map((tokens) => ({
    numbers: wordNumbers(tokens),
    labels: wordLabels(tokens).map((label) => (isControl(label) ? "" : trimPunctuation(label))),
  }));
  return {
    rows,
    columns,
    target: wordIndices(rows.labels),
    source: wordIndices(columns.labels),
    merged: (layer) => mergeWords(trace.weights(kind, layer), rows.numbers, columns.numbers),
  };
}

// The head that gives the most weight to word pairs that are each other's strongest in the mean of all heads.
function clearestAligner(trace) {
  const words = drawnWords(trace, "cross");
  const { rows, columns, target, source } = words;
  if (Math.min(target.length, source.length) < 2) return null;
  const heads = weightsBetweenWords(trace, words);
  const { shares, pairs } = alignment(heads);
  const best = argmax(shares);
  if (shares[best] < CLEAR) return null;
  const weight = ([i, j]) => heads[best][i][j];
  const clear = pairs.filter((pair) => weight(pair) >= CLEAR);
  // Prefer long words: nouns and names rather than articles.
  const rankOf = ([i, j]) => [[...columns.labels[source[j]]].length, weight([i, j])];
  const [i, j] = clear.reduce((a, b) => (isGreater(rankOf(b), rankOf(a)) ? b : a));
  return notice(
    "aligns",
    [
      ["To write ", ""],
      [rows.labels[target[i]], "t"],
      [", one head attends to ", ""],
      [columns.labels[source[j]], "s"],
      [
        ` with weight ${
          noticeWeight(weight([i, j]))
        }. ${clear.length} of ${target.length} words give their source word at least half:`,
        "",
      ],
    ],
    "cross",
    headsOfKind(trace, "cross")[best],
    piecesOf(rows.numbers, target[i]),
  );
}

// The measured aligner on this sentence: the greatest weight of each word.
/** @param {ViewTrace} trace @param {Aligner} aligner */
function measuredAligner(trace, { layer, head, weights_to: to }) {
  const { rows, columns, target, source, merged } = drawnWords(trace, "cross", to);
  if (Math.min(target.length, source.length) < 2) return null;
  const { values, shape: [, m, n] } = merged(layer);
  const weights = target.map((word) => source.map((other) => values[(head * m + word) * n + other]));
  const best = weights.map((row) => Math.max(...row));
  // Among the clearest words, a long one: nouns and names rather than articles.
  const isUncertain = best.every((weight) => weight < CLEAR);
  const rankOf = (i) => [Number(best[i] >= CLEAR), [...rows.labels[target[i]]].length, best[i]];
  const row = target.map((_, i) => i).reduce((a, b) => (isGreater(rankOf(b), rankOf(a)) ? b : a));
  return notice(
    "aligns",
    [
      [to === "input" ? "After writing " : "To write ", ""],
      [rows.labels[target[row]], "t"],
      [", the head that best follows human-made links attends most to ", ""],
      [columns.labels[source[weights[row].indexOf(best[row])]], "s"],
      [`, with ${noticeWeight(best[row])} of its attention${isUncertain ? UNCERTAIN : ""}:`, ""],
    ],
    "cross",
    [layer, head],
    piecesOf(rows.numbers, target[row]),
    to,
  );
}

// Cross-attention between words by head, target word and source word.
/** @returns {number[][][]} */
function weightsBetweenWords(trace, { rows, columns, target, source, merged }) {
  const [m, n] = [rows.labels.length, columns.labels.length];
  return layersOfKind(trace, "cross").map(merged).flatMap(({ values }) =>
    Array.from(
      { length: trace.n_heads },
      (_, head) => target.map((i) => source.map((j) => values[(head * m + i) * n + j])),
    )
  );
}

// The weight of one head between two words, as `mergeWords` gives it.
function weightBetween({ shape: [, rows, columns], values }, head, queries, keys) {
  let sum = 0;
  for (const i of queries) for (const j of keys) sum += values[(head * rows + i) * columns + j];
  return sum / queries.length;
}

// The head whose words attend most to the word before.
function previousWordHead(trace) {
  let best = null;
  for (const kind of ["encoder", "decoder"]) {
    if (!trace.kinds.includes(kind)) continue;
    const { rows: { numbers, labels } } = drawnWords(trace, kind);
    const rows = wordIndices(labels).filter((i) => labels[i - 1]);
    if (rows.length < 2) continue;
    const pieces = labels.map((_, word) => numbers.flatMap((number, i) => (number === word ? [i] : [])));
    for (const layer of layersOfKind(trace, kind)) {
      const layerWeights = trace.weights(kind, layer);
      for (let head = 0; head < trace.n_heads; head++) {
        const weights = rows.map((word) => weightBetween(layerWeights, head, pieces[word], pieces[word - 1]));
        const share = weights.reduce((a, b) => a + b) / rows.length;
        if (share < CLEAR || (best && share <= best.share)) continue;
        best = { share, kind, position: [layer, head], weights, rows, labels, numbers };
      }
    }
  }
  if (!best) return null;
  const { weights, rows, labels, numbers } = best;
  const strongest = argmax(weights);
  const sentence = best.kind === "encoder" ? "s" : "t";
  return notice(
    "previous-word",
    [
      [labels[rows[strongest]], sentence],
      [" attends to the previous word, ", ""],
      [labels[rows[strongest] - 1], sentence],
      [
        `, with weight ${noticeWeight(weights[strongest])}. ${
          weights.filter((weight) => weight >= CLEAR).length
        } of ${rows.length} words give the previous word at least half:`,
        "",
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
    if (!trace.kinds.includes(kind)) continue;
    const column = kind === "decoder" ? 0 : tokens.length - 1;
    const from = kind === "decoder" ? 1 : 0;
    const rows = trace.weights(kind, 0).shape[1];
    if (!isControl(tokens[column]) || rows - from < 2) continue;
    for (const [layer, head] of headsOfKind(trace, kind)) {
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
      }. This one gives it ${noticeWeight(best.share)}:`,
      false,
    ]],
    best.kind,
    best.position,
    `k${best.column}`,
  );
}
