// A table of weights as coloured cells: queries down, keys across. `layoutCells` computes the layout,
// `drawTable` draws it, `cellAt` finds the cell at a point; all in CSS pixels.

import { ARROWS, clampIndex, el, rowNodes, tokenText } from "./base.js";
import { paintPixels } from "./thumbnail.js";
import {
  drawColumnLabel,
  drawRowLabel,
  hatchPath,
  LABEL_SIZE,
  rowParts,
  SMALL_LABEL_SIZE,
  tokenWidth,
} from "./token-labels.js";

const MAX_CELL_SIZE = 60;
const MIN_ROW_HEIGHT = 16; // minimum height of a labelled row
const MAX_TABLE_HEIGHT = 620; // so that a short sentence with a long translation fits a screen
export const DIMMED_OPACITY = 0.35; // opacity of special tokens when they are dimmed
export const MARGINAL_SIZE = 46; // pixels of the marginal bars
const QUERY_AXIS_LABEL = "attends from ↓";
const KEY_AXIS_LABEL = "attends to →";

// `span` is the visible part: { row, column, rows, columns }.
/** @param {Matrix} m @param {Span} span @param {Pen} pen @param {number} width @param {Theme} theme */
export function layoutCells(m, span, pen, width, theme, marginals) {
  pen.font = `${LABEL_SIZE * theme.size}px ${theme.font}`;
  const visibleRows = m.rows.slice(span.row, span.row + span.rows);
  const visibleColumns = m.columns.slice(span.column, span.column + span.columns);
  const widths = visibleRows.map((entry) => rowParts(entry).reduce((sum, part) => sum + tokenWidth(pen, part), 0));
  const minLeft = pen.measureText(QUERY_AXIS_LABEL).width + 12;
  const left = Math.ceil(Math.max(Math.min(Math.max(...widths) + 12, width * 0.36, 220 * theme.size), minLeft));
  const labelWidth = Math.min(
    Math.max(...visibleColumns.map((entry) => tokenWidth(pen, entry.text))),
    110 * theme.size,
  );
  // Slanted labels extend beyond the last column.
  const slantOverhang = Math.ceil(labelWidth * 0.7);
  const sums = marginals && hasUnevenSums(m); // not drawn if all are 1
  const marginalWidth = sums ? MARGINAL_SIZE : 0;
  const rightMargin = (cell) => Math.max(marginalWidth, labelWidth <= cell - 8 ? 4 : cell >= 16 ? slantOverhang : 6);
  const maxCell = Math.min(MAX_CELL_SIZE, Math.max(MAX_TABLE_HEIGHT / span.rows, 26));
  let cellWidth = Math.min((width - left - 6) / span.columns, maxCell);
  if (cellWidth * span.columns + left + rightMargin(cellWidth) > width) {
    // Use narrower cells, or upright labels, which need no extra width.
    const maxUprightCell = Math.min((width - left - Math.max(marginalWidth, 6)) / span.columns, 15.9);
    cellWidth = Math.max((width - left - rightMargin(cellWidth)) / span.columns, maxUprightCell);
  }
  cellWidth = Math.max(cellWidth, 0.5);
  // Many queries and few keys: cells lower than wide, to fit a screen. Few queries and many keys: cells higher
  // than wide, to keep labels readable.
  const maxRowHeight = Math.max(MAX_TABLE_HEIGHT / span.rows, 0.5);
  let cellHeight = Math.max(Math.min(cellWidth, maxRowHeight), Math.min(MIN_ROW_HEIGHT, maxRowHeight));
  if (cellWidth >= 8) cellWidth = Math.floor(cellWidth);
  if (cellHeight >= 8) cellHeight = Math.floor(cellHeight);
  const slant = labelWidth <= cellWidth - 8 ? 0 : cellWidth >= 16 ? Math.PI / 4 : Math.PI / 2;
  const top = 22 + Math.ceil(slant === 0 ? 20 : labelWidth * Math.sin(slant) + 14);
  return {
    span,
    left,
    top,
    cellWidth,
    cellHeight,
    slant,
    marginals,
    sums,
    maxLabelWidth: labelWidth,
    everyColumn: Math.ceil((13 * theme.size) / cellWidth), // label every n-th token
    everyRow: Math.ceil((13 * theme.size) / cellHeight),
    size: theme.size * (Math.min(cellWidth, cellHeight) < 16 ? SMALL_LABEL_SIZE : LABEL_SIZE),
    right: left + cellWidth * span.columns,
    bottom: top + cellHeight * span.rows,
    height: top + cellHeight * span.rows + 2 + (marginals ? MARGINAL_SIZE : 0),
  };
}

// Whether some row does not sum to 1, as with hidden tokens or combined heads.
/** @param {Matrix} m */
export function hasUnevenSums(m) {
  return m.rows.some((_, r) => {
    let sum = 0;
    for (let c = 0; c < m.nColumns; c++) sum += m.values[r * m.nColumns + c];
    return Math.abs(sum - 1) > (m.top > 255 ? 0.002 : 0.08); // rounding error of a long row
  });
}

export function cellAt(layout, x, y) {
  const column = Math.floor((x - layout.left) / layout.cellWidth);
  const row = Math.floor((y - layout.top) / layout.cellHeight);
  const { span } = layout;
  const inside = column >= 0 && row >= 0 && column < span.columns && row < span.rows;
  return inside ? { row: row + span.row, column: column + span.column } : null;
}

// The cell to which an arrow key leads, the first one if there is none yet.
/** @param {string} key @param {Cell | null} cell @param {{ nRows: number, nColumns: number }} table @returns {Cell} */
export function neighbourCell(key, cell, { nRows, nColumns }) {
  if (!cell) return { row: 0, column: 0 };
  const [right, down] = ARROWS[key];
  return { row: clampIndex(cell.row + down, nRows), column: clampIndex(cell.column + right, nColumns) };
}

export const isSameCell = (a, b) => a?.row === b?.row && a?.column === b?.column;

// The top left corner of a cell.
export const cornerOf = (layout, cell) => [
  layout.left + (cell.column - layout.span.column) * layout.cellWidth,
  layout.top + (cell.row - layout.span.row) * layout.cellHeight,
];

// Shows a tooltip of these lines at a cell of a table on this stage.
export function showCellTooltip(stage, cell, lines) {
  const [x, y] = cornerOf(stage.layout, cell);
  stage.showTooltip(lines, x + stage.layout.cellWidth / 2, y, stage.layout.cellHeight);
}

// The tooltip's lines about a cell's row and column.
/** @param {Matrix} m @param {Cell} cell */
export const cellNames = (m, { row, column }) => [
  el("span", {}, ...rowNodes(m.rows[row])),
  el(
    "span",
    {},
    m.masked(row, column) ? "masked, a later token: " : "attends to ",
    tokenText(m.columns[column].text, m.columns[column].lang),
  ),
];

// Listens to a table on this stage. `hover(cell)` is called for the cell under the pointer and with null when a mouse
// leaves the table, `click(cell)` for a click, `move(key)` for an arrow key and `deselect()` for Escape.
export function listenForCells(stage, { hover, click = (_) => undefined, move, deselect }) {
  const { canvas } = stage;
  const cellUnder = (event) => (stage.layout ? cellAt(stage.layout, event.offsetX, event.offsetY) : null);
  canvas.addEventListener("pointermove", (event) => hover(cellUnder(event)));
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hover(null));
  canvas.addEventListener("click", (event) => click(cellUnder(event)));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") deselect();
    else if (event.key in ARROWS) move(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// The whole table, as a span.
/** @param {{ nRows: number, nColumns: number }} m @returns {Span} */
export const fullSpan = ({ nRows, nColumns }) => ({ row: 0, column: 0, rows: nRows, columns: nColumns });

// `colour(row, column)` returns a level on the ramp, 0 to 255, or -1 for an empty cell.
/** @param {Pen} pen @param {Matrix} m @param {any} layout @param {Theme} theme @param {any} colour @param {any} [more] */
export function drawTable(
  pen,
  m,
  layout,
  theme,
  colour,
  { ramp = theme.ramp, css = theme.css, cell = null, pinned = null, marked = [] } = {},
) {
  drawMask(pen, m, layout, theme);
  drawCells(pen, m, layout, colour, ramp, css);
  drawLabels(pen, m, layout, theme, cell || pinned);
  for (const place of marked) outlineCell(pen, layout, place, theme.choice);
  for (const place of marked) writeInCell(pen, layout, place, theme);
  if (pinned) outlineCell(pen, layout, pinned, theme.choice);
  if (cell) outlineCell(pen, layout, cell, theme.text);
}

/** @param {Pen} pen @param {Cell} cell @param {string} colour */
function outlineCell(pen, layout, cell, colour) {
  if (!inSpan(layout.span, cell)) return;
  const [x, y] = cornerOf(layout, cell);
  pen.lineWidth = 2;
  pen.strokeStyle = colour;
  pen.strokeRect(x - 0.5, y - 0.5, Math.max(layout.cellWidth, 3), Math.max(layout.cellHeight, 3));
}

// Write the text of a cell on its own background, where there is space for it.
/** @param {Pen} pen @param {Cell & { text: string }} cell @param {Theme} theme */
function writeInCell(pen, layout, cell, theme) {
  if (!inSpan(layout.span, cell)) return;
  pen.font = `600 ${SMALL_LABEL_SIZE}px ${theme.font}`;
  const [[x, y], width] = [cornerOf(layout, cell), pen.measureText(cell.text).width];
  if (width + 4 > layout.cellWidth || layout.cellHeight < SMALL_LABEL_SIZE + 3) return;
  const [middleX, middleY] = [x + layout.cellWidth / 2, y + layout.cellHeight / 2];
  pen.fillStyle = theme.background;
  pen.fillRect(middleX - width / 2 - 2, middleY - SMALL_LABEL_SIZE / 2 - 2, width + 4, SMALL_LABEL_SIZE + 4);
  pen.fillStyle = theme.text;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  pen.fillText(cell.text, middleX, middleY);
  pen.textAlign = "left";
}

/** @param {Span} span @param {Cell} cell */
export const inSpan = (span, { row, column }) =>
  row >= span.row && row < span.row + span.rows && column >= span.column && column < span.column + span.columns;

/** @param {Pen} pen @param {Matrix} m @param {Pixels} ramp */
function drawCells(pen, m, layout, colour, ramp, css) {
  const { span } = layout;
  const gap = Math.min(layout.cellWidth, layout.cellHeight) >= 12 ? 1 : 0;
  if (!gap) {
    // Too many cells for rectangles: draw one pixel per cell and enlarge without smoothing.
    const pixelCanvas = el("canvas");
    paintPixels(pixelCanvas, span.rows, span.columns, (r, c) => {
      const [row, column] = [r + span.row, c + span.column];
      const level = m.masked(row, column) ? -1 : colour(row, column);
      if (level < 0) return 0;
      return m.rows[row].dim || m.columns[column].dim ? (ramp[level] & 0xffffff) | 0x59000000 : ramp[level];
    });
    pen.imageSmoothingEnabled = false;
    pen.drawImage(pixelCanvas, layout.left, layout.top, layout.cellWidth * span.columns, layout.cellHeight * span.rows);
    return;
  }
  for (let row = span.row; row < span.row + span.rows; row++) {
    for (let column = span.column; column < span.column + span.columns; column++) {
      const level = m.masked(row, column) ? -1 : colour(row, column);
      if (level < 0) continue;
      pen.fillStyle = css(level);
      pen.globalAlpha = m.rows[row].dim || m.columns[column].dim ? DIMMED_OPACITY : 1;
      const [x, y] = cornerOf(layout, { row, column });
      pen.fillRect(x, y, layout.cellWidth - gap, layout.cellHeight - gap);
    }
  }
  pen.globalAlpha = 1;
}

// Later positions are hatched: they are masked, which is not a weight of zero.
/** @param {Pen} pen @param {Matrix} m @param {Theme} theme */
function drawMask(pen, m, layout, theme) {
  if (m.kind !== "decoder") return;
  const { span } = layout;
  pen.save();
  pen.beginPath();
  let hasMaskedCells = false;
  for (let row = span.row; row < span.row + span.rows; row++) {
    let firstMasked = span.column + span.columns;
    while (firstMasked > span.column && m.masked(row, firstMasked - 1)) firstMasked--;
    if (firstMasked === span.column + span.columns) continue;
    const [x, y] = cornerOf(layout, { row, column: firstMasked });
    pen.rect(x, y, layout.right - x, layout.cellHeight);
    hasMaskedCells = true;
  }
  if (hasMaskedCells) {
    hatchPath(pen, layout.left, layout.top, layout.right - layout.left, layout.bottom - layout.top, theme.line);
  }
  pen.restore();
}

/** @param {Pen} pen @param {Matrix} m @param {Theme} theme */
function drawLabels(pen, m, layout, theme, cell) {
  const { span } = layout;
  const font = (bold) => `${bold ? "600 " : ""}${layout.size}px ${theme.font}`;
  pen.textBaseline = "middle";
  for (let r = 0; r < span.rows; r++) {
    const [row, chosen] = [r + span.row, cell && cell.row === r + span.row];
    if (r % layout.everyRow && !chosen) continue;
    pen.font = font(chosen);
    drawRowLabel(
      pen,
      rowParts(m.rows[row]),
      layout.left - 8,
      layout.top + (r + 0.5) * layout.cellHeight,
      layout.left - 12,
      theme,
      chosen,
    );
  }
  for (let c = 0; c < span.columns; c++) {
    const [column, chosen] = [c + span.column, cell && cell.column === c + span.column];
    if (c % layout.everyColumn && !chosen) continue;
    pen.font = font(chosen);
    const { text, dim } = m.columns[column];
    const x = layout.left + (c + 0.5) * layout.cellWidth;
    drawColumnLabel(pen, text, x, layout.top - 6, layout.maxLabelWidth + 4, layout.slant, theme, chosen, dim);
  }
  pen.font = `${SMALL_LABEL_SIZE * theme.size}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "left";
  pen.fillText(KEY_AXIS_LABEL, layout.left, 8);
  pen.textAlign = "right";
  pen.fillText(QUERY_AXIS_LABEL, layout.left - 8, layout.top - 8);
  pen.textAlign = "left";
}
