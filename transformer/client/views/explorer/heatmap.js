// The Heatmap view: the weights of one head, or of several combined, with their colour scale, bars for row sums
// and column means, and zoom for long sentences.

import { clampIndex, el } from "../../common/base.js";
import {
  cellAt,
  cellNames,
  drawTable,
  inSpan,
  isSameCell,
  layoutCells,
  listenForCells,
  MARGINAL_SIZE,
  neighbourCell,
  showCellTooltip,
} from "../../common/cells.js";
import { makeLegend, withLegend } from "../../common/legend.js";
import { SMALL_LABEL_SIZE } from "../../common/token-labels.js";
import { maxOfRow, shade } from "../../common/matrix.js";
import { markedCells } from "../../trace/marks.js";
import { showWeight } from "../../common/numbers.js";
import { matrixTable } from "../../common/data-table.js";
import { makeStage } from "../../common/stage.js";

const MAX_ZOOM_STEPS = 6; // doublings, at most

/** @param {Context} ctx @returns {View} */
export function heatmapView(ctx) {
  let cell = null; // under the pointer
  let m = null;
  const stage = makeStage({
    plan: (pen, width) => layoutCells(m, spanOf(m, ctx.state), pen, width, ctx.theme, true),
    paint: (pen, layout) => paintHeatmap(pen, layout, m, ctx, cell),
  });
  const legend = makeLegend();
  const node = el("figure", { class: "hu-head" }, stage.node, legend.node);
  const { canvas } = stage;

  function draw() {
    m = ctx.matrix();
    if (!m?.nRows || !m.nColumns) return;
    if (cell && (cell.row >= m.nRows || cell.column >= m.nColumns)) cell = null;
    stage.draw(`${ctx.title()}: ${m.nRows} rows, ${m.nColumns} columns. Use the arrow keys to read the weights.`);
    legend.draw(ctx.theme, ctx.state.scale);
    showTooltip();
  }

  // The tooltip describes the cell under the pointer, or else the pinned cell.
  function showTooltip() {
    const described = cell || pinnedOf(m, ctx.state);
    const { layout } = stage;
    if (!described || !layout || !inSpan(layout.span, described)) return stage.showTooltip(null);
    const masked = m.masked(described.row, described.column);
    const weight = m.values[described.row * m.nColumns + described.column];
    showCellTooltip(stage, described, [
      el("strong", {}, masked ? "masked" : showWeight(weight, m.top)),
      ...cellNames(m, described),
    ]);
  }

  function setHoveredCell(next) {
    if (!m || isSameCell(next, cell)) return;
    cell = next;
    draw();
  }
  const zoomBy = (steps) => ({ zoom: clampIndex(ctx.state.zoom + steps, MAX_ZOOM_STEPS + 1) });
  listenForCells(stage, {
    hover: setHoveredCell,
    click: (clicked) => {
      const isPinned = isSameCell(clicked, pinnedOf(m, ctx.state));
      ctx.set(clicked && !isPinned ? firstPositions(m, clicked) : { row: -1, column: -1 });
    },
    move: (key) => ctx.set(firstPositions(m, neighbourCell(key, pinnedOf(m, ctx.state), m))),
    deselect: () => ctx.set({ row: -1, column: -1, zoom: 0 }),
  });
  canvas.addEventListener("dblclick", ({ offsetX, offsetY }) => {
    const clicked = stage.layout && cellAt(stage.layout, offsetX, offsetY);
    if (clicked) ctx.set({ ...firstPositions(m, clicked), ...zoomBy(1) });
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "+" && event.key !== "-") return;
    ctx.set(zoomBy(event.key === "+" ? 1 : -1));
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    node,
    draw,
    options: ["word_row", "special", "renormalise", "combine", "scale", "zoom"],
    keys: [["arrow keys", "read the weights, cell by cell"], ["+ and −", "zoom in, zoom out"], [
      "Esc",
      "deselect the cell",
    ]],
    figure: () => {
      if (!m?.nRows || !m.nColumns) return null;
      return withLegend({ title: ctx.title(), ...stage.figure() }, ctx.theme, ctx.state.scale);
    },
    table: () => matrixTable(m, ctx.title()),
  };
}

// The pinned cell, found by the token positions in the state; null if this table has no such cell.
/** @param {Matrix} m @param {State} state */
function pinnedOf(m, state) {
  if (!m) return null;
  const row = m.rows.findIndex(({ members }) => members.includes(state.row));
  const column = m.columns.findIndex(({ members }) => members.includes(state.column));
  return row >= 0 && column >= 0 ? { row, column } : null;
}

// The positions of a cell's first tokens, as stored in the state: the inverse of `pinnedOf`.
/** @param {Matrix} m @param {Cell} cell */
const firstPositions = (m, { row, column }) => ({ row: m.rows[row].members[0], column: m.columns[column].members[0] });

// The visible part: all of it, or a half, a quarter … around the pinned cell.
/** @param {Matrix} m @param {State} state */
export function spanOf(m, state) {
  const pinned = pinnedOf(m, state) || { row: 0, column: 0 };
  const visibleRange = (count, position) => {
    const size = Math.max(Math.min(count, 4), Math.ceil(count / 2 ** state.zoom));
    return [clampIndex(position - Math.floor(size / 2), count - size + 1), size];
  };
  const [[row, rows], [column, columns]] = [visibleRange(m.nRows, pinned.row), visibleRange(m.nColumns, pinned.column)];
  return { row, column, rows, columns };
}

/** @param {Pen} pen @param {Matrix} m @param {Context} ctx */
function paintHeatmap(pen, layout, m, ctx, cell) {
  const rowMaxima = m.rows.map((_, r) => maxOfRow(m, r));
  const { scale } = ctx.state;
  const colour = (r, c) => shade(m.values[r * m.nColumns + c], scale, rowMaxima[r]);
  const marked = markedCells(m, ctx.state.marks);
  drawTable(pen, m, layout, ctx.theme, colour, { cell, pinned: pinnedOf(m, ctx.state), marked });
  if (layout.marginals) drawMarginals(pen, m, layout, ctx.theme);
}

// Draws the sum of each row next to it, unless all sums are 1, and the mean weight of each column below it.
/** @param {Pen} pen @param {Matrix} m @param {Theme} theme */
function drawMarginals(pen, m, layout, theme) {
  const { span } = layout;
  const sums = new Float64Array(m.nRows);
  const means = new Float64Array(m.nColumns);
  m.values.forEach((weight, i) => {
    sums[Math.floor(i / m.nColumns)] += weight;
    means[i % m.nColumns] += weight / m.nRows;
  });
  const length = MARGINAL_SIZE - 16;
  const [maxSum, maxMean] = [Math.max(1, ...sums), Math.max(...means) || 1];
  pen.fillStyle = theme.muted;
  for (let r = 0; layout.sums && r < span.rows; r++) {
    const y = layout.top + r * layout.cellHeight;
    pen.fillRect(
      layout.right + 6,
      y + layout.cellHeight * 0.25,
      (length * sums[r + span.row]) / maxSum,
      Math.max(layout.cellHeight * 0.5, 0.5),
    );
  }
  for (let c = 0; c < span.columns; c++) {
    const x = layout.left + c * layout.cellWidth;
    pen.fillRect(
      x + layout.cellWidth * 0.25,
      layout.bottom + 5,
      Math.max(layout.cellWidth * 0.5, 0.5),
      (length * means[c + span.column]) / maxMean,
    );
  }
  pen.font = `${SMALL_LABEL_SIZE * theme.size}px ${theme.font}`;
  pen.textBaseline = "middle";
  if (layout.sums) pen.fillText("sum", layout.right + 6, layout.top - 8);
  pen.textAlign = "right";
  pen.fillText(`mean, 0–${maxMean.toFixed(2)}`, layout.left - 8, layout.bottom + 12);
  pen.textAlign = "left";
}

/** @type {Tab} */
export const heatmapTab = { label: "Heatmap", make: heatmapView, mosaic: true };
