// Two tables of one head: weights and what they contribute. They share pointer and selected cell, and show all
// values of that cell. `.show(bytes)` takes the data of figures/contributions.py; `report({ row, column })` is
// called when a cell is selected, −1 for none.

import { ARROWS, colours, el, tokenText, clampIndex } from "./base.js";
import { cellAt, cornerOf, drawTable, layoutCells } from "./cells.js";
import { makeBar } from "./legend.js";
import { numberText } from "./numbers.js";
import { makeStage } from "./stage.js";
import { unpack } from "./store.js";

const CONTRIBUTION_REPORT_MS = 150; // ms without another key press, so that a held arrow key reports once

export function contributionsView(container, report) {
  let [header, parts, m, cell, over, theme, shown] = [null, null, null, null, null, null, ""];
  let reporting = 0;
  const tables = [0, 1].map((which) => makeMoved(which));
  const readout = el("div", { class: "hu-contribution-cell", role: "status" });
  const pair = el("div", { class: "hu-pair" }, ...tables.map(({ node }) => node));
  const frame = el("div", { class: "hu hu-explorer hu-contributions" }, pair, readout);
  container.append(frame);

  function show(bytes) {
    const unpacked = unpack(bytes);
    [header, parts] = [unpacked.header, unpacked.parts];
    const entry = (text, i) => ({ text, written: header.writes ? header.writes[i] : null, dim: false });
    const causal = header.kind === "decoder";
    m = {
      kind: header.kind,
      rows: header.rows.map(entry),
      columns: header.columns.map((text) => ({ text, dim: false })),
      nRows: header.rows.length,
      nColumns: header.columns.length,
      masked: (row, column) => causal && column > row,
    };
    const drawingKey = JSON.stringify([header.id, header.cell]);
    if (drawingKey !== shown) cell = header.cell && { row: header.cell[0], column: header.cell[1] };
    [shown, over] = [drawingKey, null];
    redraw();
  }

  function redraw() {
    if (!header || !frame.isConnected || !frame.clientWidth) return;
    frame.dataset.size = header.large ? "large" : "normal";
    theme = colours(frame);
    for (const table of tables) table.draw();
    tell();
  }

  const valueAt = (quantity, { row, column }) => parts.get(quantity.name).values[row * m.nColumns + column];

  // Rank of a cell by the size of a quantity, the greatest first.
  function rankOf(quantity, at) {
    const { values } = parts.get(quantity.name);
    const size = Math.abs(valueAt(quantity, at));
    let [rank, count] = [1, 0];
    for (let i = 0; i < values.length; i++) {
      if (m.masked(Math.floor(i / m.nColumns), i % m.nColumns)) continue;
      count++;
      if (Math.abs(values[i]) > size) rank++;
    }
    return [rank, count];
  }

  function namesOf(at) {
    const entry = m.rows[at.row];
    const writes = entry.written === null ? [] : [" (writes ", tokenText(entry.written), ")"];
    return [tokenText(entry.text), ...writes, " attends to ", tokenText(m.columns[at.column].text)];
  }

  // Caption below the tables: the cell under the pointer, or else the selected one.
  function tell() {
    const at = over || cell;
    if (!at) {
      readout.replaceChildren(el("span", { class: "hu-note" }, "Hover over a cell to see its values; click to select it. Arrow keys work too."));
      return;
    }
    if (m.masked(at.row, at.column)) {
      readout.replaceChildren(el("strong", {}, ...namesOf(at)), el("span", {}, "Masked: it cannot attend to later tokens."));
      return;
    }
    const facts = header.quantities.map((quantity) => {
      const [rank, count] = rankOf(quantity, at);
      return el("div", { class: "hu-fact" },
        el("span", {}, quantity.label),
        el("strong", {}, numberText(valueAt(quantity, at), 3)),
        el("span", {}, `${rank} of ${count}`));
    });
    readout.replaceChildren(el("strong", {}, ...namesOf(at)), el("div", { class: "hu-facts" }, ...facts));
  }

  function choose(next) {
    cell = next;
    redraw();
    clearTimeout(reporting);
    const { row, column } = next || { row: -1, column: -1 };
    reporting = setTimeout(() => report({ row, column }), CONTRIBUTION_REPORT_MS);
  }

  function point(next) {
    if (next?.row === over?.row && next?.column === over?.column) return;
    over = next;
    redraw();
  }

  // One panel: title, table and colour scale.
  function makeMoved(which) {
    const stage = makeStage({
      plan: (pen, width) => layoutCells(m, { row: 0, column: 0, rows: m.nRows, columns: m.nColumns }, pen, width, theme, false),
      paint: (pen, at) => drawTable(pen, m, at, theme, colourOf(quantity(), parts), {
        ...(quantity().signed ? { ramp: theme.diverging, css: theme.divergingCss } : {}), cell: over, pinned: cell,
      }),
    });
    const quantity = () => header.quantities.find(({ name }) => name === header.shown[which]);
    const title = el("h3", { class: "hu-title" });
    const bar = makeBar();
    const words = el("span", {});
    const node = el("figure", { class: "hu-head" }, title, stage.node, el("figcaption", { class: "hu-legend" }, bar.node, words));
    const { canvas } = stage;
    const under = (event) => (stage.placed ? cellAt(stage.placed, event.offsetX, event.offsetY) : null);
    canvas.addEventListener("pointermove", (event) => {
      point(under(event));
      sayHere();
    });
    canvas.addEventListener("pointerleave", (event) => {
      stage.say(null);
      if (event.pointerType === "mouse") point(null);
    });
    canvas.addEventListener("click", (event) => {
      const now = under(event);
      choose(now && now.row === cell?.row && now.column === cell?.column ? null : now);
    });
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "Escape") choose(null);
      else if (event.key in ARROWS) {
        const [right, down] = ARROWS[event.key];
        choose(cell ? { row: clampIndex(cell.row + down, m.nRows), column: clampIndex(cell.column + right, m.nColumns) } : { row: 0, column: 0 });
      } else return;
      event.preventDefault();
    });

    function sayHere() {
      if (!over || !stage.placed) return stage.say(null);
      const [x, y] = cornerOf(stage.placed, over);
      const lines = m.masked(over.row, over.column)
        ? [el("strong", {}, "masked")]
        : header.quantities.map((one) => el(one === quantity() ? "strong" : "span", {}, `${one.label} ${numberText(valueAt(one, over), 3)}`));
      stage.say([...lines, el("span", {}, ...namesOf(over))], x + stage.placed.cell / 2, y, stage.placed.high);
    }

    function draw() {
      const one = quantity();
      title.textContent = one.title;
      stage.draw(`${one.title}: ${m.nRows} rows, ${m.nColumns} columns. Use the arrow keys to select a cell; its values appear below.`);
      const { ramp, ticks } = movedScale(one, theme);
      bar.draw(ramp, ticks);
      words.textContent = `${one.unit}; colour by square root, so that small values are visible`;
      if (!over) stage.say(null);
    }
    return { node, draw };
  }

  const resized = new ResizeObserver(redraw);
  resized.observe(frame);
  return {
    show,
    close: () => {
      resized.disconnect();
      clearTimeout(reporting);
    },
  };
}

// The colour level of a cell, 0 to 255: the square root of its share of the maximum; signed values go both ways
// from the middle.
function colourOf({ name, most, signed }, parts) {
  const { values, shape } = parts.get(name);
  return (row, column) => {
    const share = Math.sqrt(Math.min(Math.abs(values[row * shape[1] + column]) / (most || 1), 1));
    if (!signed) return Math.round(255 * share);
    return Math.round(127.5 * (1 + Math.sign(values[row * shape[1] + column]) * share));
  };
}

/** @param {any} given @param {Theme} theme */
function movedScale({ most, signed }, theme) {
  const end = numberText(most, 2);
  if (!signed) return { ramp: theme.ramp, ticks: [[0, "0"], [0.5, numberText(most / 4, 2)], [1, end]] };
  return { ramp: theme.diverging, ticks: [[0, `−${end}`], [0.5, "0"], [1, end]] };
}
