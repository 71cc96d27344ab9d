// What a change of the model does, from the trace of a sentence and the trace of the same tokens under the changed
// model: the numbers of analysis/interventions/comparison.py.

import { indices } from "../common/base.js";
import { layersOfKind } from "./packed-trace.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */

// The probability of each token of the original before and after, and whether another token is now the most probable.
/** @param {ViewTrace} original @param {ViewTrace} forced */
export const probabilityChanges = (original, forced) =>
  original.steps.map(({ chosen, candidates }, i) => ({
    token: chosen.token,
    before: chosen.probability,
    after: forced.steps[i].chosen.probability,
    isOther: candidates[0]?.id !== forced.steps[i].candidates[0]?.id,
  }));

// The share of each head's weight that moved to other keys: total variation, ½ Σ |a − b| of a row, its mean over the
// rows.
/** @param {ViewTrace} original @param {ViewTrace} forced */
export const movedAttention = (original, forced) =>
  original.kinds.flatMap((kind) =>
    layersOfKind(original, kind).flatMap((layer) => {
      const [before, after] = [original.weights(kind, layer), forced.weights(kind, layer)];
      const [heads, queries, keys] = before.shape;
      return indices(heads).map((head) => {
        let sum = 0;
        for (let i = head * queries * keys; i < (head + 1) * queries * keys; i++) {
          sum += Math.abs(after.values[i] - before.values[i]);
        }
        return { kind, layer, head, share: sum / 2 / queries };
      });
    })
  );

// Spearman's rank correlation: Pearson's of the ranks, equal values sharing their mean rank; NaN if one is constant.
/** @param {number[]} a @param {number[]} b */
export function rankCorrelation(a, b) {
  const [x, y] = [ranksOf(a), ranksOf(b)];
  const mean = (a.length - 1) / 2;
  let [xy, xx, yy] = [0, 0, 0];
  x.forEach((rank, i) => {
    xy += (rank - mean) * (y[i] - mean);
    xx += (rank - mean) ** 2;
    yy += (y[i] - mean) ** 2;
  });
  return xx && yy ? xy / Math.sqrt(xx * yy) : NaN;
}

/** @param {number[]} values */
function ranksOf(values) {
  const order = indices(values.length).sort((i, j) => values[i] - values[j]);
  const ranks = new Array(values.length);
  for (let start = 0; start < order.length;) {
    let end = start;
    while (end + 1 < order.length && values[order[end + 1]] === values[order[start]]) end++;
    for (let i = start; i <= end; i++) ranks[order[i]] = (start + end) / 2;
    start = end + 1;
  }
  return ranks;
}
