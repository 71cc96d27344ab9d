// Tokens in two columns, queries left and keys right, with the lines of several heads between: selection,
// layout and drawing of the lines.

import { DIMMED_OPACITY } from "../../common/cells.js";
import {
  drawRowLabel,
  drawToken,
  fitRowParts,
  LABEL_SIZE,
  rowParts,
  shorten,
  SMALL_LABEL_SIZE,
  tokenWidth,
} from "../../common/token-labels.js";
import { shortName } from "../../common/naming.js";

export const MAX_LINES = 4000; // more lines would be unreadable and slow
export const FADED_OPACITY = 0.1; // opacity of other lines while one token's lines are highlighted
const QUERY_HEADING = "attends from"; // above the queries
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [16, 4], [10, 3, 2, 3, 2, 3]];

// Line styles of heads. A head keeps its colour whichever others are shown; repeated colours differ in their
// dashes.
/** @param {Head[]} heads @param {Theme} theme */
export function headStyles(heads, theme) {
  const uses = new Map(); // by colour
  return heads.map(({ head }) => {
    const colour = theme.series[head % theme.series.length];
    const reuse = uses.get(colour) ?? 0; // number of earlier heads of this colour
    uses.set(colour, reuse + 1);
    return { colour, dash: DASHES[reuse] || [4 * reuse, 4], reuse };
  });
}

// The strongest lines, weakest first: { lines: [{ head, row, column, weight }], omitted, maxOmitted }. `omitted` is the
// number of lines left out, `maxOmitted` the greatest weight of one.
export function strongestLines(matrices, limit) {
  const sorted = new Float32Array(matrices.reduce((size, { values }) => size + values.length, 0));
  matrices.forEach(({ values }, head) => sorted.set(values, head * values.length));
  sorted.sort();
  const least = sorted.at(-limit) ?? 0;
  const lines = matrices.flatMap(({ values, nColumns }, head) => {
    const drawn = [];
    values.forEach((weight, i) => {
      if (weight > 0 && weight >= least) {
        drawn.push({ head, row: Math.floor(i / nColumns), column: i % nColumns, weight });
      }
    });
    return drawn;
  }).sort((a, b) => a.weight - b.weight).slice(-limit);
  const omitted = sorted.filter((weight) => weight > 0).length - lines.length;
  return { lines, omitted, maxOmitted: omitted ? sorted.at(-lines.length - 1) : 0 };
}

// The font of the headings above the columns of tokens.
/** @param {number} size of the tokens @param {Theme} theme */
const headingFont = (size, theme) => `${size > 14 ? 14 : SMALL_LABEL_SIZE}px ${theme.font}`;

/** @param {Matrix} m @param {Pen} pen @param {number} width @param {Theme} theme */
export function layoutLines(m, count, pen, width, theme, large) {
  const longestSide = Math.max(m.nRows, m.nColumns);
  const minStep = large ? 20 : 12;
  const step = Math.floor(Math.min(Math.max(580 / longestSide, minStep), large ? 44 : 34));
  const size = step < 17 ? SMALL_LABEL_SIZE : large ? (step < 26 ? 15 : 18) : LABEL_SIZE;
  pen.font = `600 ${size}px ${theme.font}`; // bold, the wider of the two weights used
  const maxWidth = Math.min(width * 0.34, large ? 320 : 230);
  const rows = m.rows.map((entry) => fitRowParts(pen, rowParts(entry), maxWidth - 14));
  const columns = m.columns.map((entry) => shorten(pen, entry.text, maxWidth - 14));
  const widthOf = (parts) => parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  const widest = (widths) => Math.ceil(Math.min(widths.reduce((a, b) => Math.max(a, b), 56) + 14, maxWidth));
  const [rowWidths, right] = [rows.map(widthOf), width - widest(columns.map((text) => widthOf([text])))];
  pen.font = headingFont(size, theme);
  const left = widest([...rowWidths, pen.measureText(QUERY_HEADING).width]);
  const blockWidth = Math.min(Math.max((right - left) * 0.4 / count, 3), 14);
  const amountWidth = count === 1
    ? Math.min((right - left) * 0.4, 92)
    : Math.min(blockWidth * count, (right - left) * 0.45);
  return {
    step,
    size,
    left,
    right,
    rows,
    columns,
    amountWidth,
    count,
    width,
    top: size + 14,
    height: size + 20 + longestSide * step,
    maxLineWidth: Math.max(Math.min((step * 0.7) / Math.sqrt(count), 4.5), 1),
    headOffset: count > 1 ? Math.min(2.2, (step * 0.7) / count) : 0,
  };
}

const middleOf = (layout, index) => layout.top + (index + 0.5) * layout.step;

// The exponent of `drawLines`: with many lines, weak ones must be fainter, or they would hide the others.
export const lineExponent = (count) => 0.5 + 0.4 * Math.min(Math.max(count - 300, 0) / 2700, 1);

// The token at a point: { side: "q" or "k", index }, or null.
/** @param {Matrix} m @param {number} x @param {number} y */
export function tokenAt(layout, m, x, y) {
  const index = Math.floor((y - layout.top) / layout.step);
  const side = x < layout.left + 8 ? "q" : x > layout.right - 8 ? "k" : null;
  const count = side === "q" ? m.nRows : m.nColumns;
  return side && index >= 0 && index < count ? { side, index } : null;
}

// The opacity of a line is its weight to the power of `exponent`, times `factor`.
/** @param {Pen} pen @param {Matrix} m @param {any} layout @param {any} styles @param {any} lines @param {[number, number]} ends x positions @param {any} [opacity] */
export function drawLines(pen, m, layout, styles, lines, [from, to], { exponent = 0.5, factor = 1 } = {}) {
  const middle = (from + to) / 2;
  pen.save();
  for (const { head, row, column, weight } of lines) {
    const strength = Math.sqrt(Math.min(weight, 1));
    const shift = (head - (layout.count - 1) / 2) * layout.headOffset;
    const [y, endY] = [middleOf(layout, row) + shift, middleOf(layout, column) + shift];
    pen.globalAlpha = Math.min(weight ** exponent * factor, 1) *
      (m.rows[row].dim || m.columns[column].dim ? DIMMED_OPACITY : 1);
    pen.lineWidth = 0.6 + (layout.maxLineWidth - 0.6) * strength;
    pen.strokeStyle = styles[head].colour;
    pen.setLineDash(styles[head].dash);
    pen.beginPath();
    pen.moveTo(from, y);
    pen.bezierCurveTo(middle, y, middle, endY, to, endY);
    pen.stroke();
  }
  pen.restore();
}

// The x positions where lines begin and end, leaving space for the focused tokens' weights.
/** @returns {[number, number]} */
export const lineEnds = (layout, focus) => [
  layout.left + (focus?.fromQueries ? layout.amountWidth + 6 : 0),
  layout.right - (focus?.toKeys ? layout.amountWidth + 6 : 0),
];

// Draw the lines of the tokens of `focus`, and next to every token of the other side the weight that each head
// gives it.
/** @param {Pen} pen @param {Matrix[]} matrices @param {Theme} theme */
export function drawFocus(pen, matrices, layout, styles, focus, theme) {
  pen.textBaseline = "middle";
  drawLines(pen, matrices[0], layout, styles, linesOf(matrices, focus), lineEnds(layout, focus), { factor: 1.25 });
  for (
    const [headWeights, side] of [[focus.toKeys, "k"], [focus.fromQueries, "q"]]
  ) {
    if (!headWeights) continue;
    headWeights[0].forEach((_, index) => {
      const isMasked = side === "k"
        ? focus.queries.every((row) => matrices[0].masked(row, index))
        : focus.keys.every((column) => matrices[0].masked(index, column));
      if (isMasked) return; // masked, which is not a weight of zero
      const weights = headWeights.map((values) => values[index]);
      if (layout.count === 1) drawAmount(pen, layout, side, index, weights[0], styles[0], theme);
      else drawBlocks(pen, layout, side, index, weights, styles);
    });
  }
  pen.globalAlpha = 1;
}

// Draw the lines of marked cells, each with its weight at its end.
/** @param {Pen} pen @param {Matrix} m @param {any} layout @param {import("../../trace/marks.js").MarkedCell[]} cells @param {Theme} theme */
export function drawMarkedLines(pen, m, layout, cells, theme) {
  const lines = cells.map(({ row, column, weight }) => ({ head: 0, row, column, weight }));
  const style = [{ colour: theme.choice, dash: [] }];
  drawLines(pen, m, layout, style, lines, lineEnds(layout, null), { factor: 1.25 });
  pen.font = `600 ${Math.min(layout.size, 12)}px ${theme.font}`;
  pen.textBaseline = "middle";
  const drawn = new Map(); // number of weights at the lines to a column, which meet at its end
  for (const { row, column, text } of cells) {
    const share = 0.84 - 0.2 * ((drawn.get(column) ?? 0) % 4); // of the way
    drawn.set(column, (drawn.get(column) ?? 0) + 1);
    const [y, endY] = [middleOf(layout, row), middleOf(layout, column)];
    const x = layout.left + (layout.right - layout.left) * share;
    const atY = y + (endY - y) * bezierShare(share);
    const width = pen.measureText(text).width;
    pen.fillStyle = theme.background;
    pen.fillRect(x - width / 2 - 3, atY - 8, width + 6, 16);
    pen.fillStyle = theme.text;
    pen.textAlign = "center";
    pen.fillText(text, x, atY);
  }
  pen.textAlign = "left";
}

// How far a line has come vertically at a share of its way horizontally: its curve has both control points in the middle.
function bezierShare(share) {
  let [low, high] = [0, 1];
  for (let i = 0; i < 20; i++) {
    const t = (low + high) / 2;
    const x = 1.5 * t * (1 - t) ** 2 + 1.5 * t ** 2 * (1 - t) + t ** 3;
    if (x < share) low = t;
    else high = t;
  }
  return 3 * low ** 2 * (1 - low) + low ** 3;
}

// All lines of the focused tokens, weak ones too, weakest first.
/** @param {Matrix[]} matrices @param {any} focus */
function linesOf(matrices, { queries, keys }) {
  const focusedLines = [];
  const addLine = (m, head, row, column) => {
    const weight = m.values[row * m.nColumns + column];
    if (weight > 0) focusedLines.push({ head, row, column, weight });
  };
  matrices.forEach((m, head) => {
    for (const row of queries) for (let c = 0; c < m.nColumns; c++) addLine(m, head, row, c);
    for (const column of keys) for (let r = 0; r < m.nRows; r++) if (!queries.includes(r)) addLine(m, head, r, column);
  });
  return focusedLines.sort((a, b) => a.weight - b.weight);
}

// One head: a bar that grows towards the token, with the number.
/** @param {Pen} pen @param {any} layout @param {any} side @param {any} index @param {number} weight @param {any} style @param {Theme} theme */
function drawAmount(pen, layout, side, index, weight, { colour }, theme) {
  const [y, height] = [middleOf(layout, index), Math.min(layout.step - 4, 13)];
  const numberWidth = 10 + layout.size * 2.1;
  const maxLength = Math.max(layout.amountWidth - numberWidth, 6);
  const length = maxLength * Math.min(weight, 1);
  pen.fillStyle = colour;
  pen.globalAlpha = 0.9;
  if (length >= 0.5) {
    pen.fillRect(
      side === "k" ? layout.right - layout.amountWidth : layout.left + layout.amountWidth - length,
      y - height / 2,
      length,
      height,
    );
  }
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
function drawBlocks(pen, layout, side, index, weights, styles) {
  const [y, height] = [middleOf(layout, index), Math.min(layout.step - 3, 16)];
  const cell = layout.amountWidth / weights.length;
  const start = side === "k" ? layout.right - layout.amountWidth - 4 : layout.left + 4;
  const gap = cell > 5 ? 1.5 : 0.5;
  weights.forEach((weight, i) => {
    const slices = styles[i].reuse + 1;
    const slice = height / slices;
    pen.globalAlpha = Math.max(Math.sqrt(Math.min(weight, 1)), 0.05);
    pen.fillStyle = styles[i].colour;
    for (let s = 0; s < slices; s++) {
      pen.fillRect(start + i * cell, y - height / 2 + s * slice, cell - gap, slice - (slices > 1 ? 1 : 0));
    }
  });
}

// `marks` is { hovered, queries, keys }: the token under the pointer, and the pinned tokens.
/** @param {Pen} pen @param {Matrix} m @param {Theme} theme */
export function drawTokens(pen, m, layout, theme, marks) {
  const font = (bold) => `${bold ? "600 " : ""}${layout.size}px ${theme.font}`;
  pen.textBaseline = "middle";
  const drawSide = (side, entry, index, pinned) => {
    const isHovered = marks.hovered?.side === side && marks.hovered.index === index;
    const y = middleOf(layout, index);
    markToken(pen, layout, theme, side, y, isHovered, pinned);
    pen.font = font(isHovered || pinned);
    pen.globalAlpha = entry.dim ? 0.5 : 1;
    if (side === "q") {
      drawRowLabel(pen, layout.rows[index], layout.left - 7, y, Infinity, theme, isHovered || pinned);
    } else {
      pen.save();
      pen.translate(layout.right + 7, y);
      drawToken(pen, layout.columns[index], 0, theme, isHovered || pinned);
      pen.restore();
    }
    pen.globalAlpha = 1;
  };
  m.rows.forEach((entry, i) => drawSide("q", entry, i, marks.queries.includes(i)));
  m.columns.forEach((entry, i) => drawSide("k", entry, i, marks.keys.includes(i)));
  pen.font = headingFont(layout.size, theme);
  pen.fillStyle = theme.muted;
  pen.textAlign = "right";
  pen.fillText(QUERY_HEADING, layout.left - 7, layout.top - 13);
  pen.textAlign = "left";
  pen.fillText("attends to", layout.right + 7, layout.top - 13);
}

/** @param {Pen} pen @param {Theme} theme @param {number} y */
function markToken(pen, layout, theme, side, y, isHovered, pinned) {
  if (!isHovered && !pinned) return;
  const [x, width] = side === "q" ? [1, layout.left - 2] : [layout.right + 1, layout.width - layout.right - 2];
  const height = Math.min(layout.step - 1, layout.size + 11);
  pen.globalAlpha = pinned ? 0.22 : 1;
  pen.fillStyle = pinned ? theme.choice : theme.soft;
  pen.fillRect(x, y - height / 2, width, height);
  pen.globalAlpha = 1;
  pen.strokeStyle = pinned ? theme.choice : theme.faint;
  pen.lineWidth = isHovered && pinned ? 2 : 1;
  if (isHovered) pen.strokeRect(x, y - height / 2, width, height);
  if (!pinned) return;
  pen.fillStyle = theme.choice;
  pen.fillRect(side === "q" ? layout.left - 4 : layout.right + 1, y - height / 2, 3, height);
}

// The legend of exported pictures: each head's line style.
const LEGEND_CELL = [84, 20];
const legendColumns = (width) => Math.max(Math.floor(width / LEGEND_CELL[0]), 1);
export const legendHeight = (heads, width) => 12 + LEGEND_CELL[1] * Math.ceil(heads.length / legendColumns(width));

/** @param {Pen} pen @param {number} width @param {Theme} theme */
export function drawHeadLegend(pen, heads, styles, width, top, theme) {
  pen.save();
  pen.font = `12px ${theme.font}`;
  pen.textBaseline = "middle";
  heads.forEach((head, i) => {
    const x = (i % legendColumns(width)) * LEGEND_CELL[0];
    const y = top + 12 + (Math.floor(i / legendColumns(width)) + 0.5) * LEGEND_CELL[1];
    pen.strokeStyle = styles[i].colour;
    pen.lineWidth = 4;
    pen.setLineDash(styles[i].dash);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + 22, y);
    pen.stroke();
    pen.fillStyle = theme.text;
    pen.fillText(shortName(head), x + 28, y);
  });
  pen.restore();
}
