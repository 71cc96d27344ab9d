// Computes the table that a view draws from the weights of heads: combines heads, merges pieces into words,
// removes special tokens and renormalises rows.

import { rampLevel } from "./base.js";

// Parse heads such as "3.2,3.4" (layer.head); "" is none. Heads that the model lacks are left out.
/** @param {string} text @param {Side} side @param {Kind} kind */
export function parseHeads(text, side, kind) {
  return text.split(",").filter(Boolean)
    .map((code) => code.split(".").map(Number))
    .filter(([layer, head]) => layer < side.depths[kind] && head < side.n_heads)
    .map(([layer, head]) => ({ layer, head }));
}

export const writeHeads = (heads) => heads.map(({ layer, head }) => `${layer}.${head}`).join(",");

// All heads of a kind, layer by layer.
/** @param {Pick<Side, "depths" | "n_heads">} side @param {Kind} kind */
export const allHeads = (side, kind) =>
  Array.from({ length: side.depths[kind] * side.n_heads }, (_, i) => ({
    layer: Math.floor(i / side.n_heads),
    head: i % side.n_heads,
  }));

/** @param {Side} side @param {number} layer */
export const headsOfLayer = (side, layer) => Array.from({ length: side.n_heads }, (_, head) => ({ layer, head }));

// The heads that the state combines: the selected one, the set, or all of the selected layer.
/** @param {Side} side @param {State} state */
export function combinedHeads(side, state) {
  if (state.combine === "one") return [{ layer: state.layer, head: state.head }];
  const listedHeads = parseHeads(state.heads, side, state.kind);
  return listedHeads.length ? listedHeads : headsOfLayer(side, state.layer);
}

// The labels of one axis: entries { text, written, special, dim, members } in the order shown. `members` are
// the positions of the pieces in an entry.
/** @param {State} state */
function entries(tokens, writes, state) {
  const special = writes ? writes.special : tokens.special;
  let entryList;
  if (!state.exact) {
    const labelSource = writes || tokens;
    entryList = labelSource.word_labels.map((text) => ({
      text,
      written: null,
      special: false,
      members: [],
      lang: labelSource.lang,
    }));
    labelSource.words.forEach((word, position) => {
      entryList[word].members.push(position);
      entryList[word].special ||= special[position];
    });
  } else {
    entryList = tokens.tokens.map((text, position) => ({
      text,
      written: writes ? writes.tokens[position] : null,
      special: special[position],
      members: [position],
      lang: tokens.lang,
      writtenLang: writes?.lang,
    }));
  }
  for (const entry of entryList) entry.dim = entry.special && state.special === "dimmed";
  return state.special === "hidden" ? entryList.filter((entry) => !entry.special) : entryList;
}

// Whether a row of cross-attention belongs to the word that its position reads, not to the word that it predicts.
/** @param {State} state */
export const rowsAreRead = ({ exact, word_row }) => !exact && word_row === "input";

// { kind, rows, columns, nRows, nColumns, values, top, masked(row, column) }, or null for no head. `heads` are combined
// by mean or maximum.
/** @param {Side} side @param {State} state @param {Head[]} [heads] @returns {Matrix | null} */
export function matrixOf(side, state, heads = combinedHeads(side, state)) {
  const { kind } = state;
  const headWeights = heads.map(({ layer, head }) => side.weights(kind, layer, head));
  if (!headWeights.length) return null;
  const labels = side.labels(kind);
  // In decoder self-attention rows and columns are the same pieces. A row of cross-attention is labelled with
  // the word that the decoder predicts there, or with the word that it has just read.
  const writtenLabels = kind === "cross" && !rowsAreRead(state) ? labels.writes : null;
  const rows = kind === "decoder" && state.exact
    ? withWrittenTokens(entries(labels.rows, null, state), labels.writes)
    : entries(labels.rows, writtenLabels, state);
  const columns = entries(labels.columns, null, state);
  const width = labels.columns.tokens.length;
  const combinedWeights = combineWeights(headWeights.map(({ values }) => values), state.combine === "max");
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, r) => {
    columns.forEach((column, c) => {
      let sum = 0;
      for (const i of row.members) for (const j of column.members) sum += combinedWeights[i * width + j];
      values[r * columns.length + c] = sum / row.members.length;
    });
  });
  if (state.renormalise) renormalise(values, columns.length);
  const causal = kind === "decoder";
  return {
    kind,
    rows,
    columns,
    nRows: rows.length,
    nColumns: columns.length,
    values,
    top: Math.min(...headWeights.map(({ top }) => top)),
    masked: (r, c) => causal && columns[c].members[0] > rows[r].members[rows[r].members.length - 1],
  };
}

const withWrittenTokens = (rows, writes) =>
  rows.map((row) => ({ ...row, written: writes.tokens[row.members[0]], writtenLang: writes.lang }));

function combineWeights(tables, useMaximum) {
  if (tables.length === 1) return tables[0];
  const combinedWeights = new Float32Array(tables[0].length);
  for (const values of tables) {
    for (let i = 0; i < combinedWeights.length; i++) {
      combinedWeights[i] = useMaximum
        ? Math.max(combinedWeights[i], values[i])
        : combinedWeights[i] + values[i] / tables.length;
    }
  }
  return combinedWeights;
}

function renormalise(values, width) {
  for (let start = 0; start < values.length; start += width) {
    const row = values.subarray(start, start + width);
    const sum = row.reduce((a, b) => a + b, 0);
    if (sum > 0) { for (let i = 0; i < width; i++) row[i] /= sum; }
  }
}

// The level of a weight on the colour scale, 0 to 255. `maxWeight` is the row's maximum.
export function shade(weight, scale, maxWeight) {
  const share = scale === "row"
    ? (maxWeight > 0 ? weight / maxWeight : 0)
    : scale === "linear"
    ? weight
    : Math.sqrt(weight);
  return rampLevel(share);
}

// The greatest weight of a row.
/** @param {Matrix} m */
export function maxOfRow(m, row) {
  let maxWeight = 0;
  for (let c = 0; c < m.nColumns; c++) maxWeight = Math.max(maxWeight, m.values[row * m.nColumns + c]);
  return maxWeight;
}
