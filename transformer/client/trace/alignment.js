// How clearly heads align the words of a translation with those of its source.

import { argmax } from "../common/base.js";

// The pairs of words that are each other's strongest in the mean of all heads, which is a standard way to make alignments
// symmetric (Och and Ney 2003, from memory), and each head's mean weight on them, 0 to 1.
/** @param {number[][][]} heads [head][target word][source word] @returns {{ pairs: [number, number][], shares: number[] }} */
export function alignment(heads) {
  const mean = heads[0].map((row, i) =>
    row.map((_, j) => heads.reduce((sum, weights) => sum + weights[i][j], 0) / heads.length)
  );
  const pairs = mean
    .map((row, i) => /** @type {[number, number]} */ ([i, argmax(row)]))
    .filter(([i, j]) => mean[i][j] > 0 && argmax(mean.map((row) => row[j])) === i);
  const most = Math.max(1, Math.min(mean.length, mean[0]?.length ?? 0));
  const shares = heads.map((weights) => pairs.reduce((sum, [i, j]) => sum + weights[i][j], 0) / most);
  return { pairs, shares };
}
