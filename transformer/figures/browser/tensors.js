// One table of numbers, one row per token, one column per dimension or token. A table that is too wide is drawn
// twice: as an overview, and with the columns in a frame enlarged. `.show(bytes)` takes the data of
// figures/tensors.py; `report({ row, column })` is called when a cell is selected.

import { ARROWS, colours, el, tokenText, clampIndex } from "./base.js";
import { makeBar } from "./legend.js";
import { cellNumber, tensorNumber } from "./numbers.js";
import { makeStage } from "./stage.js";
import { unpack } from "./store.js";
import { cellUnder, columnName, paintTensor, planTensor, scaleOf, spotOf } from "./tensors-drawing.js";

const TENSOR_REPORT_MS = 150; // ms without another key press, so that a held arrow key reports once

// Tables of equal width show the same columns: where every view's frame begins, by number of columns.
const FRAME_STARTS = new Map();
const TENSORS_SHOWN = new Set();

export function tensorsView(container, report) {
  let [header, values, order, cell, over, theme] = [null, null, null, null, null, null];
  let [reporting, dragged, shown, strongest, firstRow] = [0, false, "", false, 0];
  const stage = makeStage({
    plan: (pen, width) => planTensor(pen, width, { header, theme, strongest, start: startOf(), firstRow }),
    paint: (pen, plan) => paintTensor(pen, plan, { header, values, order, theme, cell, over }),
  });
  const { canvas } = stage;
  const bar = makeBar();
  const words = el("span", {});
  const sorting = el("button", { type: "button", class: "hu-button", "aria-pressed": "false" }, "Strongest columns first");
  const ranked = makeRanked((row, column) => choose(row, column));
  const node = el("figure", { class: "hu-head" }, stage.node, ranked.node, el("figcaption", { class: "hu-legend" }, bar.node, words, sorting));
  const frame = el("div", { class: "hu hu-explorer hu-tensors" }, node);
  container.append(frame);

  const count = () => header.columns_count;
  const key = () => `${header.column_axis} ${count()}`;
  const startOf = () => (strongest ? strongStart : FRAME_STARTS.get(key()) || 0);
  let strongStart = 0;

  function show(bytes) {
    const { header: newHeader, parts } = unpack(bytes);
    const same = header && header.id === newHeader.id;
    header = newHeader;
    values = parts.get("values").values;
    if (!same) [strongest, strongStart, firstRow, over] = [false, 0, 0, null];
    order = orderOf(values, header, strongest);
    const moved = JSON.stringify(header.cell) !== shown;
    shown = JSON.stringify(header.cell);
    if (moved) cell = header.cell && { ...header.cell };
    TENSORS_SHOWN.add(self);
    redraw();
    if (cell && (moved || !same)) revealCell();
  }

  // Move the frame to the selected cell.
  function revealCell() {
    const plan = stage.placed;
    if (!cell || !plan?.over) return;
    const at = order.indexOf(cell.column);
    if (at < plan.start || at >= plan.start + plan.count) moveFrame(at - Math.floor(plan.count / 2));
    if (cell.row < plan.firstRow || cell.row >= plan.firstRow + plan.rows) {
      firstRow = Math.min(Math.max(cell.row - Math.floor(plan.rows / 2), 0), header.rows.length - plan.rows);
      redraw();
    }
  }

  function moveFrame(start) {
    const plan = stage.placed;
    const clamped = Math.min(Math.max(start, 0), count() - plan.count);
    if (strongest) strongStart = clamped;
    else FRAME_STARTS.set(key(), clamped);
    for (const other of strongest ? [self] : TENSORS_SHOWN) other.follow(key());
  }

  function redraw() {
    if (!header || !frame.isConnected || !canvas.clientWidth) return;
    frame.dataset.size = header.large ? "large" : "normal";
    theme = colours(frame);
    const [rows, columns] = [header.rows.length, count()];
    stage.draw(`${header.title}: ${rows} by ${columns} numbers. Use the arrow keys to select one.`);
    const { ramp, ticks, note } = scaleOf(header, theme);
    ranked.draw(header, values, cell);
    bar.draw(ramp, ticks);
    bar.node.hidden = !ticks.length;
    sorting.setAttribute("aria-label", `Strongest columns first: ${header.title}`);
    words.textContent = stage.placed.over ? `${note} Small: all ${columns} columns. The framed part is enlarged below; click or drag the frame.` : note;
    sorting.hidden = !stage.placed.over;
    sorting.setAttribute("aria-pressed", String(strongest));
    showTooltip();
  }

  const under = (event) => cellUnder(stage.placed, event.offsetX, event.offsetY);

  function showTooltip() {
    if (!over) return stage.showTooltip(null);
    const value = values[over.row * count() + order[over.at]];
    const column = columnName(header, order[over.at]);
    const line = (axis, label) => (axis ? el("span", {}, `${axis} `, tokenText(label)) : null);
    const [x, y, high] = spotOf(stage.placed, over);
    const label = header.cells ? el("span", {}, tokenText(header.cells[over.row][order[over.at]])) : null;
    stage.showTooltip([el("strong", {}, tensorNumber(value, 5)), label, line(header.row_axis, header.rows[over.row]), line(header.column_axis, column)].filter(Boolean), x, y, high);
  }

  function choose(row, column) {
    cell = { row, column, here: true };
    redraw();
    revealCell();
    clearTimeout(reporting);
    reporting = setTimeout(() => report({ row, column }), TENSOR_REPORT_MS);
  }

  canvas.addEventListener("pointerdown", (event) => {
    const target = under(event);
    if (!target) return;
    dragged = target.small;
    if (dragged) {
      canvas.setPointerCapture(event.pointerId);
      moveFrame(target.at - Math.floor(stage.placed.count / 2));
      firstRow = rowsAround(target.row);
      redraw();
    }
  });
  const rowsAround = (row) => Math.min(Math.max(row - Math.floor(stage.placed.rows / 2), 0), header.rows.length - stage.placed.rows);
  canvas.addEventListener("pointermove", (event) => {
    const target = under(event);
    if (dragged && target?.small) moveFrame(target.at - Math.floor(stage.placed.count / 2));
    over = target;
    redraw();
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { dragged = false; });
  canvas.addEventListener("pointerleave", () => { over = null; redraw(); });
  canvas.addEventListener("click", (event) => {
    const target = under(event);
    if (target && !target.small) choose(target.row, order[target.at]);
  });
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS) || !header) return;
    const [right, down] = ARROWS[event.key];
    event.preventDefault();
    const from = cell ? order.indexOf(cell.column) : -right;
    const [row, at] = [clampIndex((cell?.row ?? 0) + down, header.rows.length), clampIndex(from + right, count())];
    choose(row, order[at]);
    over = { row, at, small: false }; // shown in the tooltip and announced
    showTooltip();
  });
  canvas.addEventListener("blur", () => { over = null; redraw(); });
  sorting.addEventListener("click", () => {
    strongest = !strongest;
    strongStart = 0;
    order = orderOf(values, header, strongest);
    redraw();
    if (!strongest) revealCell();
  });
  const resized = new ResizeObserver(redraw);
  resized.observe(frame);

  const self = { follow: (other) => header && key() === other && redraw() };
  return {
    show,
    close: () => {
      resized.disconnect();
      clearTimeout(reporting);
      TENSORS_SHOWN.delete(self);
    },
  };
}

// The order of columns: as given, or by the greatest number.
export function orderOf(values, header, strongest) {
  const columns = header.columns_count;
  const columnOrder = Array.from({ length: columns }, (_, i) => i);
  if (!strongest) return columnOrder;
  const maxAbs = new Float64Array(columns);
  values.forEach((value, i) => {
    if (Number.isFinite(value)) maxAbs[i % columns] = Math.max(maxAbs[i % columns], Math.abs(value));
  });
  return columnOrder.sort((a, b) => maxAbs[b] - maxAbs[a]);
}

// The selected row's values as bars, greatest first: what the model would predict at this position.
export function makeRanked(choose) {
  const title = el("p", { class: "hu-note" });
  const list = el("div", { class: "hu-ranked", role: "group" });
  const node = el("div", { class: "hu-ranked-place", hidden: "" }, title, list);

  function draw(header, values, cell) {
    const columns = header.columns_count;
    node.hidden = !header.cells || columns < 2 || !cell?.here;
    if (node.hidden) return;
    const row = cell?.row ?? 0;
    const rowValues = values.subarray(row * columns, (row + 1) * columns);
    // The zero of logits is arbitrary: bars start at the smallest value shown.
    const shares = header.kind === "share" || header.kind === "positive";
    const [low, high] = [shares ? 0 : Math.min(...rowValues), Math.max(...rowValues)];
    title.replaceChildren(`Position ${row + (header.first || 0)}, after `, tokenText(header.rows[row]), shares ? "" : ". Bars start at the smallest of these.");
    list.replaceChildren(...Array.from(rowValues, (value, column) => {
      const wide = (100 * (value - low)) / (high - low || 1);
      const chosen = cell?.here && cell.column === column;
      const button = el("button", { type: "button", class: "hu-ranked-row", "aria-pressed": String(Boolean(chosen)) },
        el("span", { class: "hu-ranked-name" }, tokenText(header.cells[row][column])),
        el("span", { class: "hu-ranked-bar" }, el("span", { style: `width: ${Math.max(wide, 0.5)}%` })),
        el("span", { class: "hu-ranked-value" }, header.kind === "share" ? percent(value) : cellNumber(value, high)));
      button.addEventListener("click", () => choose(row, column));
      return button;
    }));
  }
  return { node, draw };
}

const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);
