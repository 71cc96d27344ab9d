// Two tables of weights as one: aligned rows and columns, and what is more or less in the second.

import { allHeads } from "./matrix.js";
import { tokenName } from "./naming.js";

// Which pieces are the same: { rows, columns }, each a list of [place in A, place in B], null for none.
/** @param {Side[]} sides @param {Pairs} pairs @param {Kind} kind @param {boolean} byRead rows are named by what they read */
export function piecePairs(sides, pairs, kind, byRead) {
  const { src_tokens: src, tgt_tokens: tgt } = pairs;
  if (kind === "encoder") return { rows: src, columns: src };
  if (kind === "decoder") return { rows: tgt, columns: tgt };
  return { rows: byRead ? tgt : writtenPairs(sides, tgt), columns: src };
}

// Words of cross attention are those that are written, each a place before it is read.
/** @param {Side[]} sides */
function writtenPairs(sides, tgt) {
  const made = tgt.filter(([i, j]) => i > 0 && j > 0).map(([i, j]) => [i - 1, j - 1]);
  const [a, b] = sides.map((side) => side.predicted.tokens);
  if (a[a.length - 1] === b[b.length - 1]) made.push([a.length - 1, b.length - 1]);
  return made;
}

// Both lists of entries as one: [place in A, place in B], null for none. A word has a partner if its
// first piece has one that begins the same word; what punctuation ends the two does not matter.
/** @param {Entry[]} first @param {Entry[]} second @param {Pair[]} pairs @returns {Pair[]} */
export function alignEntries(first, second, pairs) {
  const partner = new Map(pairs.filter(([i, j]) => i !== null && j !== null));
  const starts = new Map(second.map((entry, place) => [entry.members[0], place]));
  /** @type {Pair[]} */
  const made = [];
  let next = 0; // in the second
  first.forEach((entry, place) => {
    const found = starts.get(partner.get(entry.members[0]));
    if (found === undefined || bare(entry.text) !== bare(second[found].text)) {
      made.push([place, null]);
      return;
    }
    while (next < found) made.push([null, next++]);
    made.push([place, found]);
    next = found + 1;
  });
  while (next < second.length) made.push([null, next++]);
  return made;
}

const bare = (word) => word.replace(/(?<=.)\p{P}+$/u, "");

// { a, b: the tables; rows, columns: the pairs; m: the table of both; inA, inB: their weights in its
// cells, NaN where there are none }. The values of m are B − A.
export function compareTables(a, b, pairs) {
  const rows = alignEntries(a.rows, b.rows, pairs.rows);
  const columns = alignEntries(a.columns, b.columns, pairs.columns);
  const size = rows.length * columns.length;
  const [inA, inB] = [a, b].map((one, which) => {
    const values = new Float32Array(size).fill(NaN);
    rows.forEach((row, r) => {
      if (row[which] === null) return;
      columns.forEach((column, c) => {
        if (column[which] === null || one.masked(row[which], column[which])) return;
        values[r * columns.length + c] = one.values[row[which] * one.nColumns + column[which]];
      });
    });
    return values;
  });
  const masked = a.kind === "decoder" ? (r, c) => c > r : () => false; // rows and columns are the same list
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

// Of a token that only one has, its label says which.
/** @param {Pair} pair @param {Entry[]} first @param {Entry[]} second */
function commonEntry([i, j], first, second) {
  if (j === null) return { ...first[i], text: `${tokenName(first[i].text)} (A)` };
  if (i === null) return { ...second[j], text: `${tokenName(second[j].text)} (B)` };
  const common = (one, other) => (one === other ? one : `${one} / ${other.replace(/^▁(?=.)/, "")}`);
  return { ...first[i], text: common(first[i].text, second[j].text), written: common(first[i].written, second[j].written) };
}

// How many layers and heads both sides have.
/** @param {Side[]} sides @param {Kind} kind @returns {Pick<Side, "depths" | "n_heads">} */
export const inBoth = (sides, kind) => ({
  depths: { ...sides[0].depths, [kind]: Math.min(...sides.map((side) => side.depths[kind])) },
  n_heads: Math.min(...sides.map((side) => side.n_heads)),
});

// Of every head that both have: the mean of |B − A| over the cells that both have, and a small picture
// of B − A there. From the small pictures of the weights, which are here for all heads.
/** @param {Side[]} sides @param {Kind} kind */
export function headDifferences(sides, pairs, kind) {
  const { rows, columns } = piecePairs(sides, pairs, kind, true);
  const both = (list) => list.filter(([i, j]) => i !== null && j !== null);
  const [across, down] = [both(columns), both(rows)];
  const [height, width] = [down, across].map((list) => Math.min(list.length, SMALL));
  const seen = sides.map((side, which) => {
    const labels = side.labels(kind);
    const thumb = side.thumb(kind, 0, 0);
    return {
      y: down.map((pair) => smallPlace(pair[which], labels.rows.tokens.length, thumb.height)),
      x: across.map((pair) => smallPlace(pair[which], labels.columns.tokens.length, thumb.width)),
      width: thumb.width,
      pooled: Math.max(labels.rows.tokens.length, labels.columns.tokens.length) > SMALL,
    };
  });

  function one(layer, head) {
    const [a, b] = sides.map((side) => side.thumb(kind, layer, head).values);
    const picture = new Float32Array(height * width).fill(NaN); // what is masked stays so
    let [sum, count] = [0, 0];
    for (let r = 0; r < down.length; r++) {
      const start = Math.floor((r * height) / down.length) * width;
      const [rowA, rowB] = seen.map(({ y, width: wide }) => y[r] * wide);
      for (let c = 0; c < across.length; c++) {
        if (kind === "decoder" && across[c][0] > down[r][0]) break; // masked from here on
        const difference = SQUARES[b[rowB + seen[1].x[c]]] - SQUARES[a[rowA + seen[0].x[c]]];
        sum += Math.abs(difference);
        count++;
        const place = start + Math.floor((c * width) / across.length);
        if (!(Math.abs(difference) <= Math.abs(picture[place]))) picture[place] = difference;
      }
    }
    return { layer, head, mean: count ? sum / count : 0, picture };
  }

  const heads = allHeads(inBoth(sides, kind), kind).map(({ layer, head }) => one(layer, head));
  let greatest = LEAST;
  for (const { picture } of heads) for (const value of picture) if (Math.abs(value) > greatest) greatest = Math.abs(value);
  return { heads, height, width, greatest, pooled: seen.some(({ pooled }) => pooled) };
}

const SMALL = 64; // cells a side of a small picture, at most
const SQUARES = Float32Array.from({ length: 256 }, (_, level) => (level / 255) ** 2);
// Where a token is in a small picture: the inverse of `side.py::pool`.
const smallPlace = (token, count, size) => Math.floor(((token + 1) * size - 1) / count);

export const LEAST = 0.01; // the end of a colour scale, at least: below it lies what packing has rounded

// Differences from −1 to 1 on the diverging colours, 0 to 255; −1 for no difference to tell.
export function divergingLevel(difference, scale, greatest) {
  if (Number.isNaN(difference)) return -1;
  const share = Math.min(Math.abs(difference) / greatest, 1);
  return Math.round(127.5 + 127.5 * Math.sign(difference) * (scale === "sqrt" ? Math.sqrt(share) : share));
}
