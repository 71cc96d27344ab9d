// Layout and drawing of a table of numbers.

import { clampIndex, el, rampLevel, signedLevel, textOn } from "../../common/base.js";
import { paintPixels } from "../../common/thumbnail.js";
import {
  drawColumnLabel,
  drawRowLabel,
  drawToken,
  hatch,
  LABEL_SIZE,
  shorten,
  SMALL_LABEL_SIZE,
  tokenWidth,
} from "../../common/token-labels.js";
import { cellNumber, numberText } from "../../common/numbers.js";

const MIN_NUMBER_CELL = 44; // minimum pixels of a cell with a number
const MIN_LABEL_CELL = 56; // minimum pixels of a cell with a token and a number
const MIN_COLOUR_CELL = 13; // minimum pixels of a cell with a colour only
const MAX_ENLARGED_ROWS = 16; // maximum number of enlarged rows
const TABLE_ROW_HEIGHT = 25;
const OVERVIEW_HEIGHT_RANGE = [40, 84]; // minimum and maximum height of the overview

/** @param {Pen} pen @param {number} width @param {any} options */
export function planTensor(pen, width, { header, theme, start, firstRow }) {
  const size = theme.size;
  pen.font = `${LABEL_SIZE * size}px ${theme.font}`;
  const labels = Math.max(...header.rows.map((label) => tokenWidth(pen, label)), 44 * size);
  const left = Math.ceil(Math.min(labels + 12, width * 0.3, 170 * size));
  const tableWidth = width - left - 2;
  const columns = header.columns_count;
  const hasTokens = Boolean(header.columns);
  const names = (header.columns ?? []).map((label) => tokenWidth(pen, label));
  const longestName = Math.min(Math.max(0, ...names), 90 * size);
  // Cells need space for their numbers; without numbers they only need to be distinguishable.
  const minCell = header.cells ? MIN_LABEL_CELL : MIN_NUMBER_CELL;
  const fits = tableWidth / columns >= (header.cells || columns > 48 ? minCell * size : MIN_COLOUR_CELL);
  const rows = Math.min(header.rows.length, MAX_ENLARGED_ROWS);
  const hasOverview = !fits || rows < header.rows.length;
  const count = fits ? columns : Math.max(Math.floor(tableWidth / (minCell * size)), 3);
  const cellWidth = Math.min(tableWidth / count, (header.cells ? 110 : hasTokens ? 74 : 62) * size);
  const firstColumn = Math.min(Math.max(start, 0), columns - count);
  const slant = hasTokens && longestName > cellWidth - 8 ? Math.PI / 4 : 0;
  const overviewHeight = hasOverview
    ? Math.min(Math.max(header.rows.length * 9, OVERVIEW_HEIGHT_RANGE[0]), OVERVIEW_HEIGHT_RANGE[1])
    : 0;
  const labelInterval = Math.max(Math.ceil((hasTokens ? 15 : 26) * size / cellWidth), 1);
  const headingHeight = slant ? Math.ceil(longestName * 0.72 + 14) : 18 * size;
  const rowHeight = Math.round((header.cells ? 38 : TABLE_ROW_HEIGHT) * size);
  const top = (hasOverview ? overviewHeight + 10 : 0) + headingHeight;
  return {
    left,
    tableWidth,
    columns,
    hasOverview,
    count,
    cellWidth,
    firstColumn,
    slant,
    overviewHeight,
    top,
    rowHeight,
    rows,
    firstRow: Math.min(firstRow, header.rows.length - rows),
    rowCount: header.rows.length,
    maxLabelWidth: slant ? longestName : hasTokens ? cellWidth - 4 : cellWidth * labelInterval,
    showsNumbers: cellWidth >= MIN_NUMBER_CELL * size * 0.9,
    labelInterval,
    height: top + rows * rowHeight + 2,
    size,
  };
}

// The cell at a point: { row, position, inOverview }; `position` is that of its column on screen.
export function cellUnder(plan, x, y) {
  if (!plan || x < plan.left) return null;
  if (plan.hasOverview && y <= plan.overviewHeight) {
    return {
      inOverview: true,
      row: clampIndex(Math.floor((y / plan.overviewHeight) * plan.rowCount), plan.rowCount),
      position: clampIndex(Math.floor(((x - plan.left) / plan.tableWidth) * plan.columns), plan.columns),
    };
  }
  const [row, position] = [Math.floor((y - plan.top) / plan.rowHeight), Math.floor((x - plan.left) / plan.cellWidth)];
  if (row < 0 || row >= plan.rows || position >= plan.count) return null;
  return { inOverview: false, row: row + plan.firstRow, position: position + plan.firstColumn };
}

// The middle, top and height of a cell, for the tooltip.
export function tooltipAnchor(plan, { inOverview, row, position }) {
  if (inOverview) return [plan.left + ((position + 0.5) / plan.columns) * plan.tableWidth, 0, plan.overviewHeight];
  return [
    plan.left + (position - plan.firstColumn + 0.5) * plan.cellWidth,
    plan.top + (row - plan.firstRow) * plan.rowHeight,
    plan.rowHeight,
  ];
}

/** @param {Pen} pen @param {any} plan @param {any} options */
export function paintTensor(pen, plan, { header, values, order, theme, cell, hovered }) {
  const level = levelScale(header);
  const css = header.signed ? theme.divergingCss : theme.css;
  if (plan.hasOverview) paintOverview(pen, plan, { header, values, order, theme, level });
  paintColumnNames(pen, plan, { header, order, theme, cell });
  const gap = plan.cellWidth >= 8 ? 1 : 0;
  for (let r = 0; r < plan.rows; r++) {
    const row = r + plan.firstRow;
    const y = plan.top + r * plan.rowHeight;
    pen.font = `${cell?.row === row ? "600 " : ""}${LABEL_SIZE * plan.size}px ${theme.font}`;
    pen.textBaseline = "middle";
    const isSelected = cell?.row === row;
    drawRowLabel(pen, [header.rows[row]], plan.left - 8, y + plan.rowHeight / 2, plan.left - 10, theme, isSelected);
    pen.font = `${12 * plan.size}px ${theme.font}`;
    pen.textAlign = "center";
    for (let c = 0; c < plan.count; c++) {
      const value = values[row * plan.columns + order[c + plan.firstColumn]];
      const x = plan.left + c * plan.cellWidth;
      const colourLevel = level(value);
      if (colourLevel < 0) {
        hatch(pen, x, y, plan.cellWidth - gap, plan.rowHeight - gap, theme.line);
        pen.fillStyle = theme.muted;
      } else {
        const colour = css(colourLevel);
        pen.fillStyle = colour;
        pen.fillRect(x, y, plan.cellWidth - gap, plan.rowHeight - gap);
        pen.fillStyle = textOn(colour);
      }
      if (header.cells) paintLabel(pen, plan, header.cells[row][order[c + plan.firstColumn]], x, y);
      if (plan.showsNumbers) {
        pen.fillText(
          cellNumber(value, header.max_abs),
          x + (plan.cellWidth - gap) / 2,
          y + (header.cells ? plan.rowHeight * 0.74 : plan.rowHeight / 2 + 0.5),
        );
      }
    }
    pen.textAlign = "left";
  }
  if (cell) frameCell(pen, plan, order, cell, theme.choice, cell.in_this_table ? 3 : 1.5);
  if (hovered && !hovered.inOverview) {
    frameCell(pen, plan, order, { row: hovered.row, column: order[hovered.position] }, theme.text, 1.5);
  }
}

// Draw a cell's own label above its number.
/** @param {Pen} pen @param {string} text @param {number} x @param {number} y */
function paintLabel(pen, plan, text, x, y) {
  const textColour = String(pen.fillStyle);
  pen.save();
  pen.font = `600 ${pen.font}`;
  pen.textAlign = "left";
  const shortText = shorten(pen, text, plan.cellWidth - 8);
  pen.translate(x + (plan.cellWidth - tokenWidth(pen, shortText)) / 2, y + plan.rowHeight * 0.32);
  drawToken(pen, shortText, 0, { faint: textColour, muted: textColour, text: textColour }, false);
  pen.restore();
  pen.fillStyle = textColour;
}

/** @param {Pen} pen */
function frameCell(pen, plan, order, cell, colour, lineWidth) {
  const [c, r] = [order.indexOf(cell.column) - plan.firstColumn, cell.row - plan.firstRow];
  if (c < 0 || c >= plan.count || r < 0 || r >= plan.rows) return;
  pen.strokeStyle = colour;
  pen.lineWidth = lineWidth;
  const [x, y] = [plan.left + c * plan.cellWidth, plan.top + r * plan.rowHeight];
  pen.strokeRect(x - 0.5, y - 0.5, plan.cellWidth, plan.rowHeight);
}

// The overview: all columns and rows, one pixel per cell, scaled to fit. A frame marks the part enlarged below.
/** @param {Pen} pen @param {any} plan @param {any} options */
function paintOverview(pen, plan, { header, values, order, theme, level }) {
  const ramp = header.signed ? theme.diverging : theme.ramp;
  const canvas = el("canvas");
  paintPixels(canvas, plan.rowCount, plan.columns, (row, column) => {
    const colourLevel = level(values[row * plan.columns + order[column]]);
    return colourLevel < 0 ? 0 : ramp[colourLevel];
  });
  pen.imageSmoothingEnabled = plan.columns > plan.tableWidth;
  pen.drawImage(canvas, plan.left, 0, plan.tableWidth, plan.overviewHeight);
  const [cellWidth, cellHeight] = [plan.tableWidth / plan.columns, plan.overviewHeight / plan.rowCount];
  pen.strokeStyle = theme.text;
  pen.lineWidth = 2;
  pen.strokeRect(
    plan.left + plan.firstColumn * cellWidth,
    plan.firstRow * cellHeight + 1,
    plan.count * cellWidth,
    plan.rows * cellHeight - 2,
  );
  pen.font = `${SMALL_LABEL_SIZE * plan.size}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const name = plan.columns > 999 && plan.left < 60 ? "all" : `all ${plan.columns}`;
  pen.fillText(name, plan.left - 8, plan.overviewHeight / 2);
  pen.textAlign = "left";
}

/** @param {Pen} pen @param {any} plan @param {any} options */
function paintColumnNames(pen, plan, { header, order, theme, cell }) {
  const selected = cell ? order.indexOf(cell.column) - plan.firstColumn : -Infinity;
  pen.textBaseline = "middle";
  for (let c = 0; c < plan.count; c++) {
    const column = order[c + plan.firstColumn];
    const isSelected = c === selected;
    if (!isSelected && (c % plan.labelInterval || Math.abs(c - selected) < plan.labelInterval)) continue;
    pen.font = `${isSelected ? "600 " : ""}${SMALL_LABEL_SIZE * plan.size}px ${theme.font}`;
    const [x, y] = [plan.left + (c + 0.5) * plan.cellWidth, plan.top - (plan.slant ? 9 : 3)];
    const name = columnName(header, column);
    drawColumnLabel(pen, name, x, y, plan.maxLabelWidth, plan.slant, theme, isSelected, !header.columns);
  }
}

// A column's label, or its number.
export const columnName = ({ columns, first = 0 }, column) => columns ? columns[column] : String(column + first);

// A function that returns the level of a number on the colour scale, 0 to 255, or -1 for NaN and infinity.
function levelScale({ kind, max_abs: maxAbs, signed }) {
  const top = maxAbs || 1;
  const levelOf = signed
    ? signedLevel
    : kind === "share"
    ? (share) => rampLevel(Math.sqrt(Math.max(share, 0)))
    : rampLevel;
  return (value) => (Number.isFinite(value) ? levelOf(value / top) : -1);
}

// The legend: its colours, ticks as [position, text], and a line of text.
/** @param {any} options @param {Theme} theme */
export function scaleOf({ kind, max_abs: maxAbs, signed }, theme) {
  const end = numberText(maxAbs, 3);
  if (signed) return { ramp: theme.diverging, ticks: [[0, `−${end}`], [0.5, "0"], [1, end]], note: "" };
  if (kind === "share") {
    return {
      ramp: theme.ramp,
      ticks: [0, 0.01, 0.1, 0.25, 0.5, 1].map((tick) => [Math.sqrt(tick), String(tick)]),
      note: "Square-root colour scale, so that small values are visible.",
    };
  }
  return { ramp: theme.ramp, ticks: [[0, "0"], [1, end]], note: "" };
}
