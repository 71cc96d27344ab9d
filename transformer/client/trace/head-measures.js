// Measures of heads on one sentence: every measure of transformer/measures that needs no corpus. Each value is
// a mean over the rows that count; a measure without such rows is left out.

import { isControl } from "../common/naming.js";
import { indices } from "../common/base.js";
import { beginsWord, hasLetterOrDigit, isPunctuation } from "./words.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */

// Measures of every head of one layer, in the order in which they are listed.
/** @param {ViewTrace} trace @param {string} kind @param {number} layer @returns {Record<string, number[]>} */
export function measuresOf(trace, kind, layer) {
  const weights = trace.weights(kind, layer);
  const rows = measuredRows(trace, kind);
  const values = {};
  for (const [name, { kinds, value }] of Object.entries(ROW_MEASURES)) {
    const countedRows = kinds.includes(kind) ? rowsThatCount(name, rows) : [];
    if (!countedRows.length) continue;
    const mean = (head) =>
      countedRows.reduce((sum, i) => sum + value(weights.row(head * rows.queries + i), i, rows), 0) /
      countedRows.length;
    values[name] = Array.from({ length: rows.heads }, (_, head) => rounded(mean(head)));
  }
  for (const [name, offset, backwards] of OFFSETS) {
    if (backwards && kind === "decoder") continue;
    const offsets = Array.from({ length: rows.heads }, (_, head) => commonOffset(weights, head, rows, backwards));
    values[name] = offsets.map(({ share }) => rounded(share));
    values[offset] = offsets.map(({ offset: mostCommon }) => mostCommon);
  }
  return Object.fromEntries(ORDER.filter((name) => name in values).map((name) => [name, values[name]]));
}

// The names of the measures of a kind, without computing them.
/** @param {ViewTrace} trace @param {string} kind */
export function measureNames(trace, kind) {
  const rows = measuredRows(trace, kind);
  return ORDER.filter((name) =>
    name in ROW_MEASURES
      ? ROW_MEASURES[name].kinds.includes(kind) && rowsThatCount(name, rows).length > 0
      : kind !== "decoder" || !name.startsWith("backwards")
  );
}

/** @returns {number[]} */
const rowsThatCount = (name, rows) => indices(rows.queries).filter((i) => ROW_MEASURES[name].counts(i, rows));

const rounded = (value) => Math.round(value * 1e4) / 1e4;
const ORDER = [
  "entropy",
  "distance",
  "confidence",
  "previous",
  "itself",
  "next",
  "positional",
  "offset",
  "backwards",
  "backwards_offset",
  "first",
  "last",
  "punctuation",
  "delimiters",
  "duplicate",
  "pieces",
];
const OFFSETS = [["positional", "offset", false], ["backwards", "backwards_offset", true]];
const [SELF_ATTENTION, ALL_KINDS] = [["encoder", "decoder"], ["encoder", "decoder", "cross"]];
const always = () => true;
// The sum of the weights in some columns. A long text has millions of weights, so these loops have no callbacks.
/** @param {Float32Array} row @param {number[]} columns */
function sum(row, columns) {
  let total = 0;
  for (const j of columns) total += row[j];
  return total;
}
/** @param {Float32Array} row */
function entropy(row) {
  let bits = 0;
  for (const w of row) if (w > 0) bits -= w * Math.log2(w);
  return bits;
}
/** @param {Float32Array} row @param {number} i */
function meanDistance(row, i) {
  let total = 0;
  for (let j = 0; j < row.length; j++) total += row[j] * Math.abs(i - j);
  return total;
}

/** @type {Record<string, { kinds: string[], counts(i: number, rows: any): boolean, value(row: Float32Array, i: number, rows: any): number }>} */
const ROW_MEASURES = {
  entropy: {
    kinds: ALL_KINDS,
    counts: always,
    value: entropy,
  },
  distance: {
    kinds: ALL_KINDS,
    counts: always,
    value: meanDistance,
  },
  confidence: { kinds: ALL_KINDS, counts: always, value: maxNonControlWeight },
  previous: { kinds: SELF_ATTENTION, counts: (i) => i > 0, value: (row, i) => row[i - 1] },
  itself: { kinds: SELF_ATTENTION, counts: always, value: (row, i) => row[i] },
  next: { kinds: ["encoder"], counts: (i, { queries }) => i + 1 < queries, value: (row, i) => row[i + 1] },
  first: { kinds: ALL_KINDS, counts: always, value: (row) => row[0] },
  last: { kinds: ALL_KINDS, counts: always, value: (row) => row[row.length - 1] },
  punctuation: {
    kinds: ALL_KINDS,
    counts: always,
    value: (row, _, { punctuation }) => sum(row, punctuation),
  },
  delimiters: {
    kinds: ALL_KINDS,
    counts: (i, { kind }) => kind !== "decoder" || i > 0,
    value: (row, i, { delimiters }) => sum(row, delimiters[i]),
  },
  duplicate: {
    kinds: ALL_KINDS,
    counts: (i, { duplicates }) => duplicates[i].length > 0,
    value: (row, i, { duplicates }) => sum(row, duplicates[i]),
  },
  pieces: {
    kinds: ["encoder"],
    counts: (i, rows) => rows.keys.some((_, j) => sameWord(i, j, rows)),
    value: (row, i, rows) => {
      const top = maxNonControlWeight(row, i, rows);
      const best = rows.keys.map((_, j) => j).filter((j) => row[j] === top && !rows.control[j]);
      return best.filter((j) => sameWord(i, j, rows)).length / Math.max(best.length, 1);
    },
  },
};

// The greatest weight, without control tokens.
function maxNonControlWeight(row, i, rows) {
  let top = 0;
  for (let j = 0; j < row.length; j++) if (row[j] > top && !rows.control[j] && rows.isVisible(i, j)) top = row[j];
  return top;
}

// Tokens of rows and columns, and the token that each row writes next (in the encoder, the token itself).
function measuredRows(trace, kind) {
  const [queries, keys] = [
    kind === "encoder" ? trace.srcTokens : trace.tgtTokens,
    kind === "decoder" ? trace.tgtTokens : trace.srcTokens,
  ];
  const rowTokens = kind === "cross" ? trace.predictedTokens : queries;
  const isVisible = (i, j) => kind !== "decoder" || j <= i;
  const [control, punctuation] = [keys.map(isControl), keys.map(isPunctuation)];
  const columnsWhere = (isCounted) => indices(keys.length).filter(isCounted);
  const marks = columnsWhere((j) => control[j] || punctuation[j]);
  return {
    kind,
    keys,
    queries: queries.length,
    heads: trace.n_heads,
    words: wordsOf(keys),
    control,
    isVisible,
    punctuation: columnsWhere((j) => punctuation[j]),
    delimiters: queries.map((_, i) => marks.filter((j) => punctuation[j] || isVisible(i, j))),
    duplicates: duplicatesOf(kind, rowTokens, keys, isVisible),
  };
}

// Whether each token is a complete word.
function wholeWords(tokens) {
  const continuesWord = (token) =>
    token !== undefined && !beginsWord(token) && !isPunctuation(token) && !isControl(token);
  return tokens.map((token, i) => beginsWord(token) && hasLetterOrDigit(token) && !continuesWord(tokens[i + 1]));
}

// For each source token the number of its word, or null for punctuation and the end.
function wordsOf(tokens) {
  let word = 0;
  return tokens.map((token, i) => {
    word += Number(beginsWord(token));
    return isPunctuation(token) || i === tokens.length - 1 ? null : word;
  });
}

const sameWord = (i, j, { words }) => i !== j && words[i] !== null && words[i] === words[j];

// For each row the columns of its word in the source; in self-attention, those of its other occurrences.
function duplicatesOf(kind, rowTokens, keys, isVisible) {
  const [isRowWord, isKeyWord] = [wholeWords(rowTokens), wholeWords(keys)];
  const columnsByWord = new Map();
  keys.forEach((key, j) => isKeyWord[j] && columnsByWord.set(key, [...(columnsByWord.get(key) ?? []), j]));
  return rowTokens.map((token, i) =>
    isRowWord[i] ? (columnsByWord.get(token) ?? []).filter((j) => isVisible(i, j) && (kind === "cross" || i !== j)) : []
  );
}

// The most common offset of a row's greatest weight, j − i, and its share among the rows that can reach it.
function commonOffset(weights, head, { queries, keys }, backwards) {
  const counts = new Map();
  for (let i = 0; i < queries; i++) {
    const row = weights.row(head * queries + i);
    let greatest = 0;
    for (let j = 1; j < row.length; j++) {
      if (row[j] > row[greatest] || (backwards && row[j] === row[greatest])) greatest = j;
    }
    const at = backwards ? keys.length - 1 - greatest : greatest;
    counts.set(at - i, (counts.get(at - i) ?? 0) + 1);
  }
  const nearest = [...counts.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || a - b);
  const offset = nearest.reduce((a, b) => (counts.get(b) > counts.get(a) ? b : a));
  const reachableRows = Math.min(queries, keys.length - offset) - Math.max(0, -offset);
  return { offset, share: counts.get(offset) / reachableRows };
}
