// A table of numbers with a row per token and a column per dimension or token. A table that is too wide is drawn
// twice: as an overview, and below it the columns in a frame, enlarged. `.show(bytes)` takes the data of
// figures/tensors.py; `report({ row, column })` is called when a cell is selected.

import { ARROWS, button, clampIndex, colours, el, indices, listenForResize, tokenText } from "../../common/base.js";
import { makeBar } from "../../common/legend.js";
import { cellNumber, tensorNumber } from "../../common/numbers.js";
import { makeStage } from "../../common/stage.js";
import { unpack } from "../../trace/packing.js";
import { cellUnder, columnName, paintTensor, planTensor, scaleOf, tooltipAnchor } from "./tensors-drawing.js";

const TENSOR_REPORT_MS = 150; // ms without another key press, so that a held arrow key reports once

// The first enlarged column by the number of columns, so that tables of equal width show the same columns.
const FIRST_COLUMNS = new Map();
const OPEN_VIEWS = new Set();

export function tensorsView(container, report) {
  let [header, values, order, cell, hovered, theme] = [null, null, null, null, null, null];
  let [reportTimer, isDragging, drawnCell, strongestFirst, firstRow] = [0, false, "", false, 0];
  const stage = makeStage({
    plan: (pen, width) => planTensor(pen, width, { header, theme, start: firstVisibleColumn(), firstRow }),
    paint: (pen, plan) => paintTensor(pen, plan, { header, values, order, theme, cell, hovered }),
  });
  const { canvas } = stage;
  const bar = makeBar();
  const legendText = el("span", {});
  const sortButton = button("Strongest columns first", () => {
    strongestFirst = !strongestFirst;
    sortedFirstColumn = 0;
    order = orderOf(values, header, strongestFirst);
    redraw();
    if (!strongestFirst) revealCell();
  });
  const rankedBars = makeRankedBars((row, column) => select(row, column));
  const node = el(
    "figure",
    { class: "hu-head" },
    stage.node,
    rankedBars.node,
    el("figcaption", { class: "hu-legend" }, bar.node, legendText, sortButton),
  );
  const frame = el("div", { class: "hu hu-explorer hu-tensors" }, node);
  container.append(frame);

  const columnCount = () => header.columns_count;
  const columnsKey = () => `${header.column_axis} ${columnCount()}`;
  const firstVisibleColumn = () => (strongestFirst ? sortedFirstColumn : FIRST_COLUMNS.get(columnsKey()) || 0);
  let sortedFirstColumn = 0;

  function show(bytes) {
    const { header: newHeader, parts } = unpack(bytes);
    const isSameTable = header && header.id === newHeader.id;
    header = newHeader;
    values = parts.get("values").values;
    if (!isSameTable) [strongestFirst, sortedFirstColumn, firstRow, hovered] = [false, 0, 0, null];
    order = orderOf(values, header, strongestFirst);
    const cellChanged = JSON.stringify(header.cell) !== drawnCell;
    drawnCell = JSON.stringify(header.cell);
    if (cellChanged) cell = header.cell && { ...header.cell };
    OPEN_VIEWS.add(view);
    redraw();
    if (cell && (cellChanged || !isSameTable)) revealCell();
  }

  // Move the frame to the selected cell.
  function revealCell() {
    const plan = stage.layout;
    if (!cell || !plan?.hasOverview) return;
    const position = order.indexOf(cell.column);
    if (position < plan.firstColumn || position >= plan.firstColumn + plan.count) {
      moveFrame(position - Math.floor(plan.count / 2));
    }
    if (cell.row < plan.firstRow || cell.row >= plan.firstRow + plan.rows) {
      firstRow = firstRowAround(cell.row);
      redraw();
    }
  }

  function moveFrame(start) {
    const plan = stage.layout;
    const firstColumn = Math.min(Math.max(start, 0), columnCount() - plan.count);
    if (strongestFirst) sortedFirstColumn = firstColumn;
    else FIRST_COLUMNS.set(columnsKey(), firstColumn);
    for (const other of strongestFirst ? [view] : OPEN_VIEWS) other.redrawIf(columnsKey());
  }

  function redraw() {
    if (!header || !frame.isConnected || !canvas.clientWidth) return;
    frame.dataset.size = header.large ? "large" : "normal";
    theme = colours(frame);
    const [rows, columns] = [header.rows.length, columnCount()];
    stage.draw(`${header.title}: ${rows} by ${columns} numbers. Use the arrow keys to select one.`);
    const { ramp, ticks, note } = scaleOf(header, theme);
    rankedBars.draw(header, values, cell);
    bar.draw(ramp, ticks);
    bar.node.hidden = !ticks.length;
    sortButton.setAttribute("aria-label", `Strongest columns first: ${header.title}`);
    legendText.textContent = stage.layout.hasOverview
      ? `${note} The strip shows all ${columns} columns, the table its framed part. Click or drag the frame.`
      : note;
    sortButton.hidden = !stage.layout.hasOverview;
    sortButton.setAttribute("aria-pressed", String(strongestFirst));
    showTooltip();
  }

  const cellUnderPointer = (event) => cellUnder(stage.layout, event.offsetX, event.offsetY);

  function showTooltip() {
    if (!hovered) return stage.showTooltip(null);
    const value = values[hovered.row * columnCount() + order[hovered.position]];
    const column = columnName(header, order[hovered.position]);
    const line = (axis, label) => (axis ? el("span", {}, `${axis} `, tokenText(label)) : null);
    const [x, y, height] = tooltipAnchor(stage.layout, hovered);
    const label = header.cells ? el("span", {}, tokenText(header.cells[hovered.row][order[hovered.position]])) : null;
    stage.showTooltip(
      [
        el("strong", {}, tensorNumber(value, 5)),
        label,
        line(header.row_axis, header.rows[hovered.row]),
        line(header.column_axis, column),
      ].filter(Boolean),
      x,
      y,
      height,
    );
  }

  function select(row, column) {
    cell = { row, column, in_this_table: true };
    redraw();
    revealCell();
    clearTimeout(reportTimer);
    reportTimer = setTimeout(() => report({ row, column }), TENSOR_REPORT_MS);
  }

  canvas.addEventListener("pointerdown", (event) => {
    const target = cellUnderPointer(event);
    if (!target) return;
    isDragging = target.inOverview;
    if (isDragging) {
      canvas.setPointerCapture(event.pointerId);
      moveFrame(target.position - Math.floor(stage.layout.count / 2));
      firstRow = firstRowAround(target.row);
      redraw();
    }
  });
  const firstRowAround = (row) =>
    Math.min(Math.max(row - Math.floor(stage.layout.rows / 2), 0), header.rows.length - stage.layout.rows);
  canvas.addEventListener("pointermove", (event) => {
    const target = cellUnderPointer(event);
    if (isDragging && target?.inOverview) moveFrame(target.position - Math.floor(stage.layout.count / 2));
    hovered = target;
    redraw();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => {
      isDragging = false;
    });
  }
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
    redraw();
  });
  canvas.addEventListener("click", (event) => {
    const target = cellUnderPointer(event);
    if (target && !target.inOverview) select(target.row, order[target.position]);
  });
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS) || !header) return;
    const [right, down] = ARROWS[event.key];
    event.preventDefault();
    const from = cell ? order.indexOf(cell.column) : -right;
    const [row, position] = [
      clampIndex((cell?.row ?? 0) + down, header.rows.length),
      clampIndex(from + right, columnCount()),
    ];
    select(row, order[position]);
    hovered = { row, position, inOverview: false }; // shown in the tooltip and announced
    showTooltip();
  });
  canvas.addEventListener("blur", () => {
    hovered = null;
    redraw();
  });
  const endResize = listenForResize(frame, redraw);

  const view = { redrawIf: (other) => header && columnsKey() === other && redraw() };
  return {
    show,
    close: () => {
      endResize();
      clearTimeout(reportTimer);
      OPEN_VIEWS.delete(view);
    },
  };
}

// The order of columns: as given, or by the greatest number.
export function orderOf(values, header, strongestFirst) {
  const columns = header.columns_count;
  const columnOrder = indices(columns);
  if (!strongestFirst) return columnOrder;
  const maxAbs = new Float64Array(columns);
  values.forEach((value, i) => {
    if (Number.isFinite(value)) maxAbs[i % columns] = Math.max(maxAbs[i % columns], Math.abs(value));
  });
  return columnOrder.sort((a, b) => maxAbs[b] - maxAbs[a]);
}

// The selected row's values as bars, greatest first: what the model would predict at this position.
function makeRankedBars(select) {
  const title = el("p", { class: "hu-note" });
  const list = el("div", { class: "hu-ranked", role: "group" });
  const node = el("div", { class: "hu-ranked-place", hidden: "" }, title, list);

  function draw(header, values, cell) {
    const columns = header.columns_count;
    node.hidden = !header.cells || columns < 2 || !cell?.in_this_table;
    if (node.hidden) return;
    const row = cell?.row ?? 0;
    const rowValues = values.subarray(row * columns, (row + 1) * columns);
    // The zero of logits is arbitrary: bars start at the smallest value shown.
    const startsAtZero = header.kind === "share" || header.kind === "positive";
    const [minValue, high] = [startsAtZero ? 0 : Math.min(...rowValues), Math.max(...rowValues)];
    title.replaceChildren(
      `Position ${row + (header.first || 0)}, after `,
      tokenText(header.rows[row]),
      startsAtZero ? "" : ". Bars start at the smallest of these.",
    );
    list.replaceChildren(...Array.from(rowValues, (value, column) => {
      const width = (100 * (value - minValue)) / (high - minValue || 1);
      const chosen = cell?.in_this_table && cell.column === column;
      const content = [
        el("span", { class: "hu-ranked-name" }, tokenText(header.cells[row][column])),
        el("span", { class: "hu-ranked-bar" }, el("span", { style: `width: ${Math.max(width, 0.5)}%` })),
        el("span", { class: "hu-ranked-value" }, header.kind === "share" ? percent(value) : cellNumber(value, high)),
      ];
      const attributes = { class: "hu-ranked-row", "aria-pressed": String(Boolean(chosen)) };
      return button(content, () => select(row, column), attributes);
    }));
  }
  return { node, draw };
}

const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1%" : `${(100 * share).toFixed(1)}%`);
