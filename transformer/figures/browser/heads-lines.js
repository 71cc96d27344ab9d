// Tokens in two columns, queries left and keys right, with the lines of several heads between: selection,
// layout and drawing of the lines.

import { DIMMED_OPACITY } from "./cells.js";
import {
  drawRowLabel, drawToken, fitRowParts, LABEL_SIZE, rowParts, shorten, SMALL_LABEL_SIZE, tokenWidth,
} from "./lettering.js";
import { shortName } from "./naming.js";

export const MAX_LINES = 4000; // more lines would be unreadable and slow
export const FADED_OPACITY = 0.1; // opacity of other lines while one token's lines are highlighted
const QUERY_HEADING = "attends from"; // above the queries
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [16, 4], [10, 3, 2, 3, 2, 3]];

// Line styles of heads. A head keeps its colour whichever others are shown; repeated colours differ in their
// dashes.
/** @param {Head[]} heads @param {Theme} theme */
export function headStyles(heads, theme) {
  const rounds = new Map();
  return heads.map(({ head }) => {
    const ink = theme.series[head % theme.series.length];
    const round = rounds.get(ink) ?? 0;
    rounds.set(ink, round + 1);
    return { ink, dash: DASHES[round] || [4 * round, 4], round };
  });
}

// The strongest lines, weakest first: { lines: [{ head, row, column, weight }], left, below }. `left` lines are
// omitted, all with weights up to `below`.
export function strongestLines(matrices, limit) {
  const bins = new Uint32Array(1024);
  const binOf = (weight) => Math.min(Math.floor(Math.sqrt(weight) * 1023), 1023);
  let count = 0;
  for (const { values } of matrices) {
    for (const weight of values) if (weight > 0) { bins[binOf(weight)]++; count++; }
  }
  let [last, above] = [1023, 0]; // the last bin drawn, and the number of lines above it
  while (last > 0 && above + bins[last] < limit) above += bins[last--];
  const [lines, edge] = [[], []];
  matrices.forEach(({ values, nColumns }, head) => {
    values.forEach((weight, i) => {
      if (!(weight > 0) || binOf(weight) < last) return;
      const line = { head, row: Math.floor(i / nColumns), column: i % nColumns, weight };
      (binOf(weight) === last ? edge : lines).push(line);
    });
  });
  edge.sort((a, b) => b.weight - a.weight);
  const room = limit - above;
  lines.push(...edge.slice(0, room));
  const left = count - lines.length;
  // The rest of the bin starts with its strongest omitted line; without one, the bins below do.
  const below = left ? (edge[room]?.weight ?? ((last / 1023) ** 2)) : 0;
  return { lines: lines.sort((a, b) => a.weight - b.weight), left, below };
}

// Above the columns of tokens.
/** @param {number} size of the tokens @param {Theme} theme */
const headingFont = (size, theme) => `${size > 14 ? 14 : SMALL_LABEL_SIZE}px ${theme.font}`;

/** @param {Matrix} m @param {Pen} pen @param {number} width @param {Theme} theme */
export function layoutLines(m, count, pen, width, theme, large) {
  const longestSide = Math.max(m.nRows, m.nColumns);
  const minStep = large ? 20 : 12;
  const step = Math.floor(Math.min(Math.max(580 / longestSide, minStep), large ? 44 : 34));
  const size = step < 17 ? SMALL_LABEL_SIZE : large ? (step < 26 ? 15 : 18) : LABEL_SIZE;
  pen.font = `600 ${size}px ${theme.font}`; // bold, the wider of the two weights used
  const limit = Math.min(width * 0.34, large ? 320 : 230);
  const rows = m.rows.map((entry) => fitRowParts(pen, rowParts(entry), limit - 14));
  const columns = m.columns.map((entry) => shorten(pen, entry.text, limit - 14));
  const wide = (parts) => parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  const widest = (widths) => Math.ceil(Math.min(widths.reduce((a, b) => Math.max(a, b), 56) + 14, limit));
  const [tokens, right] = [rows.map(wide), width - widest(columns.map((text) => wide([text])))];
  pen.font = headingFont(size, theme);
  const left = widest([...tokens, pen.measureText(QUERY_HEADING).width]);
  const cell = Math.min(Math.max((right - left) * 0.4 / count, 3), 14);
  const zone = count === 1 ? Math.min((right - left) * 0.4, 92) : Math.min(cell * count, (right - left) * 0.45);
  return {
    step, size, left, right, rows, columns, zone, count, width,
    top: size + 14,
    height: size + 20 + longestSide * step,
    thick: Math.max(Math.min((step * 0.7) / Math.sqrt(count), 4.5), 1),
    apart: count > 1 ? Math.min(2.2, (step * 0.7) / count) : 0,
  };
}

const middleOf = (layout, index) => layout.top + (index + 0.5) * layout.step;

// With many lines, weak ones are fainter, or nothing else would be visible.
export const lineExponent = (count) => 0.5 + 0.4 * Math.min(Math.max(count - 300, 0) / 2700, 1);

// The token at a point: { side: "q" or "k", index }, or null.
/** @param {Matrix} m @param {number} x @param {number} y */
export function tokenAt(layout, m, x, y) {
  const index = Math.floor((y - layout.top) / layout.step);
  const side = x < layout.left + 8 ? "q" : x > layout.right - 8 ? "k" : null;
  const count = side === "q" ? m.nRows : m.nColumns;
  return side && index >= 0 && index < count ? { side, index } : null;
}

// The strength of a line is its weight to the power of `steep`, times `share`.
/** @param {Pen} pen @param {Matrix} m @param {any} layout @param {any} styles @param {any} lines @param {any} given @param {any} [more] */
export function drawLines(pen, m, layout, styles, lines, [from, to], { steep = 0.5, share = 1 } = {}) {
  const middle = (from + to) / 2;
  pen.save();
  for (const { head, row, column, weight } of lines) {
    const strength = Math.sqrt(Math.min(weight, 1));
    const shift = (head - (layout.count - 1) / 2) * layout.apart;
    const [y, end] = [middleOf(layout, row) + shift, middleOf(layout, column) + shift];
    pen.globalAlpha = Math.min(weight ** steep * share, 1) * (m.rows[row].dim || m.columns[column].dim ? DIMMED_OPACITY : 1);
    pen.lineWidth = 0.6 + (layout.thick - 0.6) * strength;
    pen.strokeStyle = styles[head].ink;
    pen.setLineDash(styles[head].dash);
    pen.beginPath();
    pen.moveTo(from, y);
    pen.bezierCurveTo(middle, y, middle, end, to, end);
    pen.stroke();
  }
  pen.restore();
}

// The x positions where lines begin and end, leaving space for the amounts on their side.
/** @returns {[number, number]} */
export const lineEnds = (layout, focus) => [
  layout.left + (focus?.fromQueries ? layout.zone + 6 : 0),
  layout.right - (focus?.toKeys ? layout.zone + 6 : 0),
];

// Draw the lines of the tokens of `focus`, and next to every token of the other side the weight that each head
// gives it.
/** @param {Pen} pen @param {Matrix[]} ms @param {Theme} theme */
export function drawFocus(pen, ms, layout, styles, focus, theme) {
  pen.textBaseline = "middle";
  drawLines(pen, ms[0], layout, styles, linesOf(ms, focus), lineEnds(layout, focus), { share: 1.25 });
  for (const [sums, side, parts] of [[focus.toKeys, "k", focus.queries.length], [focus.fromQueries, "q", focus.keys.length]]) {
    if (!sums) continue;
    sums[0].forEach((_, index) => {
      const unseen = side === "k" ? focus.queries.every((row) => ms[0].masked(row, index)) : focus.keys.every((column) => ms[0].masked(index, column));
      if (unseen) return; // masked, which is not a weight of zero
      const weights = sums.map((of) => of[index]);
      if (layout.count === 1) drawAmount(pen, layout, side, index, weights[0], parts, styles[0], theme);
      else drawBlocks(pen, layout, side, index, weights, parts, styles);
    });
  }
  pen.globalAlpha = 1;
}

// All lines of the focused tokens, weak ones too, weakest first.
/** @param {Matrix[]} ms @param {any} given */
function linesOf(ms, { queries, keys }) {
  const focusedLines = [];
  const add = (m, head, row, column) => {
    const weight = m.values[row * m.nColumns + column];
    if (weight > 0) focusedLines.push({ head, row, column, weight });
  };
  ms.forEach((m, head) => {
    for (const row of queries) for (let c = 0; c < m.nColumns; c++) add(m, head, row, c);
    for (const column of keys) for (let r = 0; r < m.nRows; r++) if (!queries.includes(r)) add(m, head, r, column);
  });
  return focusedLines.sort((a, b) => a.weight - b.weight);
}

// One head: a bar that grows towards the token, with the number.
/** @param {Pen} pen @param {any} layout @param {any} side @param {any} index @param {number} weight @param {any} parts @param {any} given @param {Theme} theme */
function drawAmount(pen, layout, side, index, weight, parts, { ink }, theme) {
  const [y, high] = [middleOf(layout, index), Math.min(layout.step - 4, 13)];
  const number = 10 + layout.size * 2.1;
  const longest = Math.max(layout.zone - number, 6);
  const length = (longest * Math.min(weight, parts)) / parts;
  pen.fillStyle = ink;
  pen.globalAlpha = 0.9;
  if (length >= 0.5) pen.fillRect(side === "k" ? layout.right - layout.zone : layout.left + layout.zone - length, y - high / 2, length, high);
  if (weight < 0.005) return;
  pen.globalAlpha = 1;
  pen.font = `${Math.min(layout.size, 12)}px ${theme.font}`;
  pen.textAlign = side === "k" ? "right" : "left";
  pen.fillStyle = theme.text;
  pen.fillText(weight.toFixed(2), side === "k" ? layout.right - 8 : layout.left + 8, y);
  pen.textAlign = "left";
}

// Several heads: a block for each, in the order of the list, with an opacity by weight. Blocks of dashed heads
// are cut into slices.
/** @param {Pen} pen */
function drawBlocks(pen, layout, side, index, weights, parts, styles) {
  const [y, high] = [middleOf(layout, index), Math.min(layout.step - 3, 16)];
  const cell = layout.zone / weights.length;
  const start = side === "k" ? layout.right - layout.zone - 4 : layout.left + 4;
  const gap = cell > 5 ? 1.5 : 0.5;
  weights.forEach((weight, i) => {
    const slices = styles[i].round + 1;
    const slice = high / slices;
    pen.globalAlpha = Math.max(Math.sqrt(Math.min(weight / parts, 1)), 0.05);
    pen.fillStyle = styles[i].ink;
    for (let s = 0; s < slices; s++) {
      pen.fillRect(start + i * cell, y - high / 2 + s * slice, cell - gap, slice - (slices > 1 ? 1 : 0));
    }
  });
}

// `marks` is { at, queries, keys }: the token under the pointer, and the pinned tokens.
/** @param {Pen} pen @param {Matrix} m @param {Theme} theme */
export function drawTokens(pen, m, layout, theme, marks) {
  const font = (bold) => `${bold ? "600 " : ""}${layout.size}px ${theme.font}`;
  pen.textBaseline = "middle";
  const one = (side, entry, index, pinned) => {
    const at = marks.at?.side === side && marks.at.index === index;
    const y = middleOf(layout, index);
    markToken(pen, layout, theme, side, y, at, pinned);
    pen.font = font(at || pinned);
    pen.globalAlpha = entry.dim ? 0.5 : 1;
    if (side === "q") {
      drawRowLabel(pen, layout.rows[index], layout.left - 7, y, Infinity, theme, at || pinned);
    } else {
      pen.save();
      pen.translate(layout.right + 7, y);
      drawToken(pen, layout.columns[index], 0, theme, at || pinned);
      pen.restore();
    }
    pen.globalAlpha = 1;
  };
  m.rows.forEach((entry, i) => one("q", entry, i, marks.queries.includes(i)));
  m.columns.forEach((entry, i) => one("k", entry, i, marks.keys.includes(i)));
  pen.font = headingFont(layout.size, theme);
  pen.fillStyle = theme.muted;
  pen.textAlign = "right";
  pen.fillText(QUERY_HEADING, layout.left - 7, layout.top - 13);
  pen.textAlign = "left";
  pen.fillText("attends to", layout.right + 7, layout.top - 13);
}

/** @param {Pen} pen @param {Theme} theme @param {number} y */
function markToken(pen, layout, theme, side, y, at, pinned) {
  if (!at && !pinned) return;
  const [x, wide] = side === "q" ? [1, layout.left - 2] : [layout.right + 1, layout.width - layout.right - 2];
  const high = Math.min(layout.step - 1, layout.size + 11);
  pen.globalAlpha = pinned ? 0.22 : 1;
  pen.fillStyle = pinned ? theme.choice : theme.soft;
  pen.fillRect(x, y - high / 2, wide, high);
  pen.globalAlpha = 1;
  pen.strokeStyle = pinned ? theme.choice : theme.faint;
  pen.lineWidth = at && pinned ? 2 : 1;
  if (at) pen.strokeRect(x, y - high / 2, wide, high);
  if (!pinned) return;
  pen.fillStyle = theme.choice;
  pen.fillRect(side === "q" ? layout.left - 4 : layout.right + 1, y - high / 2, 3, high);
}

// The legend of exported pictures: each head's line style.
const LEGEND_CELL = [84, 20];
const legendColumns = (width) => Math.max(Math.floor(width / LEGEND_CELL[0]), 1);
export const legendHeight = (on, width) => 12 + LEGEND_CELL[1] * Math.ceil(on.length / legendColumns(width));

/** @param {Pen} pen @param {number} width @param {Theme} theme */
export function drawHeadLegend(pen, on, styles, width, top, theme) {
  pen.save();
  pen.font = `12px ${theme.font}`;
  pen.textBaseline = "middle";
  on.forEach((one, i) => {
    const x = (i % legendColumns(width)) * LEGEND_CELL[0];
    const y = top + 12 + (Math.floor(i / legendColumns(width)) + 0.5) * LEGEND_CELL[1];
    pen.strokeStyle = styles[i].ink;
    pen.lineWidth = 4;
    pen.setLineDash(styles[i].dash);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + 22, y);
    pen.stroke();
    pen.fillStyle = theme.text;
    pen.fillText(shortName(one), x + 28, y);
  });
  pen.restore();
}
