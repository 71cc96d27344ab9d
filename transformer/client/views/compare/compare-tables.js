// Aligns two tables of weights and computes their difference.

import { signedLevel } from "../../common/base.js";
import { allHeads } from "../../common/matrix.js";
import { tokenName } from "../../common/naming.js";
import { MAX_THUMBNAIL_CELLS } from "../../trace/explorer-data.js";

// Pairs of equal pieces: { rows, columns }, each a list of [index in A, index in B], null where one lacks it.
/** @param {Side[]} sides @param {Pairs} pairs @param {Kind} kind @param {boolean} rowsByInput rows are named by what they read */
export function piecePairs(sides, pairs, kind, rowsByInput) {
  const { src_tokens: src, tgt_tokens: tgt } = pairs;
  if (kind === "encoder") return { rows: src, columns: src };
  if (kind === "decoder") return { rows: tgt, columns: tgt };
  return { rows: rowsByInput ? tgt : writtenPairs(sides, tgt), columns: src };
}

// Rows of cross-attention are named by the token they write, one position before it is read.
/** @param {Side[]} sides */
function writtenPairs(sides, tgt) {
  const pairs = tgt.filter(([i, j]) => i > 0 && j > 0).map(([i, j]) => [i - 1, j - 1]);
  const [a, b] = sides.map((side) => side.predicted.tokens);
  if (a[a.length - 1] === b[b.length - 1]) pairs.push([a.length - 1, b.length - 1]);
  return pairs;
}

// Aligns two lists of entries: [index in A, index in B], null where one lacks it. Words match if their first
// pieces are paired and their texts are equal without final punctuation.
/** @param {Entry[]} first @param {Entry[]} second @param {Pair[]} pairs @returns {Pair[]} */
export function alignEntries(first, second, pairs) {
  const partner = new Map(pairs.filter(([i, j]) => i !== null && j !== null));
  const starts = new Map(second.map((entry, index) => [entry.members[0], index]));
  /** @type {Pair[]} */
  const aligned = [];
  let next = 0; // index in the second list
  first.forEach((entry, index) => {
    const partnerIndex = starts.get(partner.get(entry.members[0]));
    if (
      partnerIndex === undefined ||
      withoutEndPunctuation(entry.text) !== withoutEndPunctuation(second[partnerIndex].text)
    ) {
      aligned.push([index, null]);
      return;
    }
    while (next < partnerIndex) aligned.push([null, next++]);
    aligned.push([index, partnerIndex]);
    next = partnerIndex + 1;
  });
  while (next < second.length) aligned.push([null, next++]);
  return aligned;
}

const withoutEndPunctuation = (word) => word.replace(/(.)\p{P}+$/u, "$1");

// { a, b: the tables; rows, columns: the pairs; m: the combined table; inA, inB: weights in its cells, NaN
// where there are none }. The values of m are B − A.
export function compareTables(a, b, pairs) {
  const rows = alignEntries(a.rows, b.rows, pairs.rows);
  const columns = alignEntries(a.columns, b.columns, pairs.columns);
  const size = rows.length * columns.length;
  const [inA, inB] = [a, b].map((table, sideIndex) => {
    const values = new Float32Array(size).fill(NaN);
    rows.forEach((row, r) => {
      if (row[sideIndex] === null) return;
      columns.forEach((column, c) => {
        if (column[sideIndex] === null || table.masked(row[sideIndex], column[sideIndex])) return;
        values[r * columns.length + c] = table.values[row[sideIndex] * table.nColumns + column[sideIndex]];
      });
    });
    return values;
  });
  const masked = a.kind === "decoder" ? (r, c) => c > r : () => false; // rows and columns are the same tokens
  const m = {
    kind: a.kind,
    rows: rows.map((pair) => commonEntry(pair, a.rows, b.rows)),
    columns: columns.map((pair) => commonEntry(pair, a.columns, b.columns)),
    nRows: rows.length,
    nColumns: columns.length,
    values: inA.map((weight, i) => inB[i] - weight),
    top: Math.min(a.top, b.top),
    masked,
  };
  return { a, b, rows, columns, m, inA, inB };
}

// The label of a token that only one side has ends in (A) or (B).
/** @param {Pair} pair @param {Entry[]} first @param {Entry[]} second */
function commonEntry([i, j], first, second) {
  if (j === null) return { ...first[i], text: `${tokenName(first[i].text)} (A)` };
  if (i === null) return { ...second[j], text: `${tokenName(second[j].text)} (B)` };
  const joinTexts = (textA, textB) => (textA === textB ? textA : `${textA} / ${textB.replace(/^▁(?=.)/, "")}`);
  return {
    ...first[i],
    text: joinTexts(first[i].text, second[j].text),
    written: joinTexts(first[i].written, second[j].written),
  };
}

// Number of layers and heads that both sides have.
/** @param {Side[]} sides @param {Kind} kind @returns {Pick<Side, "depths" | "n_heads">} */
export const commonDimensions = (sides, kind) => ({
  depths: { ...sides[0].depths, [kind]: Math.min(...sides.map((side) => side.depths[kind])) },
  n_heads: Math.min(...sides.map((side) => side.n_heads)),
});

// For every common head: the mean of |B − A| over the common cells, and a thumbnail of B − A. Computed from the
// thumbnails, which are available for all heads.
/** @param {Side[]} sides @param {Kind} kind */
export function headDifferences(sides, pairs, kind) {
  const { rows, columns } = piecePairs(sides, pairs, kind, true);
  const withoutGaps = (list) => list.filter(([i, j]) => i !== null && j !== null);
  const [columnPairs, rowPairs] = [withoutGaps(columns), withoutGaps(rows)];
  const [height, width] = [rowPairs, columnPairs].map((list) => Math.min(list.length, MAX_THUMBNAIL_CELLS));
  const lookups = sides.map((side, sideIndex) => {
    const labels = side.labels(kind);
    const thumb = side.thumb(kind, 0, 0);
    return {
      y: rowPairs.map((pair) => thumbnailIndex(pair[sideIndex], labels.rows.tokens.length, thumb.height)),
      x: columnPairs.map((pair) => thumbnailIndex(pair[sideIndex], labels.columns.tokens.length, thumb.width)),
      width: thumb.width,
      pooled: Math.max(labels.rows.tokens.length, labels.columns.tokens.length) > MAX_THUMBNAIL_CELLS,
    };
  });

  function headDifference(layer, head) {
    const [a, b] = sides.map((side) => side.thumb(kind, layer, head).values);
    const picture = new Float32Array(height * width).fill(NaN); // masked cells stay NaN
    let [sum, count] = [0, 0];
    for (let r = 0; r < rowPairs.length; r++) {
      const start = Math.floor((r * height) / rowPairs.length) * width;
      const [rowA, rowB] = lookups.map(({ y, width: thumbWidth }) => y[r] * thumbWidth);
      for (let c = 0; c < columnPairs.length; c++) {
        if (kind === "decoder" && columnPairs[c][0] > rowPairs[r][0]) break; // masked from here on
        const difference = SQUARES[b[rowB + lookups[1].x[c]]] - SQUARES[a[rowA + lookups[0].x[c]]];
        sum += Math.abs(difference);
        count++;
        const pixel = start + Math.floor((c * width) / columnPairs.length);
        if (!(Math.abs(difference) <= Math.abs(picture[pixel]))) picture[pixel] = difference;
      }
    }
    return { layer, head, mean: count ? sum / count : 0, picture };
  }

  const heads = allHeads(commonDimensions(sides, kind), kind).map(({ layer, head }) => headDifference(layer, head));
  let maxDifference = MIN_SCALE_END;
  for (const { picture } of heads) {
    for (const value of picture) if (Math.abs(value) > maxDifference) maxDifference = Math.abs(value);
  }
  return { heads, height, width, maxDifference, pooled: lookups.some(({ pooled }) => pooled) };
}

const SQUARES = Float32Array.from({ length: 256 }, (_, level) => (level / 255) ** 2);
// A token's position in a thumbnail; the inverse of `pool` in trace/packing.js.
const thumbnailIndex = (token, count, size) => Math.floor(((token + 1) * size - 1) / count);

export const MIN_SCALE_END = 0.01; // minimum end of a colour scale; smaller differences may be rounding

// A difference from −1 to 1 as a level of the diverging colours, 0 to 255; −1 for NaN.
export function divergingLevel(difference, scale, maxDifference) {
  if (Number.isNaN(difference)) return -1;
  const share = Math.min(Math.abs(difference) / maxDifference, 1);
  return signedLevel(Math.sign(difference) * (scale === "sqrt" ? Math.sqrt(share) : share));
}
