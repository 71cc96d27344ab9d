// What the explorer draws of all heads at once: thumbnails, the attention to and from a pinned word, the head that
// opens first.

import { layersOfKind } from "./packed-trace.js";
import { pool } from "./packing.js";
import { mergeWords, plainWords } from "./words.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */
/** @typedef {import("./head-weights.js").HeadWeights} HeadWeights */

export const MAX_THUMBNAIL_CELLS = 64; // maximum height and width of a thumbnail

// Thumbnails of all heads of a kind, [layer][head]: levels of 0 to 255 of the square root of the weights.
/** @param {ViewTrace} trace @param {string} kind @returns {Thumb[][]} */
export const thumbnails = (trace, kind) =>
  layersOfKind(trace, kind).map((layer) => {
    const { shape: [heads, height, width], values } = pool(trace.weights(kind, layer), MAX_THUMBNAIL_CELLS);
    const levels = Uint8Array.from(values, (weight) => Math.round(255 * Math.sqrt(weight)));
    const size = height * width;
    return Array.from(
      { length: heads },
      (_, head) => ({ values: levels.subarray(head * size, (head + 1) * size), height, width }),
    );
  });

// The head with the sharpest pattern: the largest mean over columns of a column's greatest weight. The same as
// measures/shape.py.
/** @param {HeadWeights[]} layers weights of the layers of a kind @returns {[number, number]} layer and head */
export function clearest(layers) {
  let [best, maxScore] = [/** @type {[number, number]} */ ([0, 0]), -1];
  layers.forEach(({ shape: [heads, rows, columns], values }, layer) => {
    for (let h = 0; h < heads; h++) {
      let sum = 0;
      for (let j = 0; j < columns; j++) {
        let maxWeight = 0;
        for (let i = 0; i < rows; i++) maxWeight = Math.max(maxWeight, values[(h * rows + i) * columns + j]);
        sum += maxWeight;
      }
      if (sum > maxScore) [best, maxScore] = [[layer, h], sum];
    }
  });
  return best;
}

// The values that colour every head when a word is pinned: the strongest attention to and from every word, and
// the word at the other end, by layer, head and word. A row of cross-attention belongs to the word that it writes, or
// with `isRead` to the word that it reads.
// The maximum is used, not the mean: in the mean, uniform attention looks like a single strong link.
/** @param {ViewTrace} trace @param {string} kind @returns {{ to: PinWeights, from: PinWeights }} */
export function pinWeights(trace, kind, isRead = false) {
  const cross = isRead ? trace.tgtTokens : trace.predictedTokens;
  const rows = plainWords({ encoder: trace.srcTokens, decoder: trace.tgtTokens, cross }[kind]);
  const columns = plainWords(kind === "decoder" ? trace.tgtTokens : trace.srcTokens);
  const [m, n] = [rows.labels.length, columns.labels.length];
  const heads = trace.n_heads;
  const layers = layersOfKind(trace, kind);
  const empty = (words) => ({
    weights: new Float32Array(layers.length * heads * words),
    others: new Uint16Array(layers.length * heads * words),
    words,
  });
  const [to, from] = [empty(n), empty(m)];
  for (const layer of layers) {
    const merged = mergeWords(trace.weights(kind, layer), rows.numbers, columns.numbers);
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          if (!rows.labels[i] || !columns.labels[j] || (kind !== "cross" && i === j)) continue;
          const weight = merged.values[(h * m + i) * n + j];
          const [toIndex, fromIndex] = [(layer * heads + h) * n + j, (layer * heads + h) * m + i];
          if (weight > to.weights[toIndex]) [to.weights[toIndex], to.others[toIndex]] = [weight, i];
          if (weight > from.weights[fromIndex]) [from.weights[fromIndex], from.others[fromIndex]] = [weight, j];
        }
      }
    }
  }
  return { to, from };
}

// The state with a kind that the trace has and, if no head is selected, the head of the aligner notice in
// cross-attention, otherwise the clearest head.
/** @param {Side} side @param {State} state @param {() => import("./sentence-heads.js").HeadNotice[]} getNotices @returns {State} */
export function startState(side, state, getNotices) {
  const kind = side.kinds.includes(state.kind) ? state.kind : side.kinds[side.kinds.length - 1];
  if (Math.max(state.layer, state.head) >= 0) {
    return { ...state, kind, layer: Math.max(state.layer, 0), head: Math.max(state.head, 0) };
  }
  const aligner = kind === "cross" && getNotices().find(({ role }) => role === "aligns");
  if (aligner) {
    const { layer, head, word_row } = aligner.state;
    return { ...state, kind, layer, head, word_row };
  }
  const [layer, head] = side.clearest[kind];
  return { ...state, kind, layer, head };
}
