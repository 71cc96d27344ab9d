// Two tables of one head: attention weights and contributions. They share the hovered and the selected cell, whose
// values are all listed below. `.show({ header, parts })` takes what app/try/off-head.js makes; `report({ row, column })` is
// called when a cell is selected, −1 for none.

import { colours, el, listenForResize, rampLevel, signedLevel, tokenText } from "../../common/base.js";
import {
  drawTable,
  fullSpan,
  isSameCell,
  layoutCells,
  listenForCells,
  neighbourCell,
  showCellTooltip,
} from "../../common/cells.js";
import { makeBar } from "../../common/legend.js";
import { numberText } from "../../common/numbers.js";
import { byPointer } from "../../common/pointing.js";
import { makeStage } from "../../common/stage.js";

const CONTRIBUTION_REPORT_MS = 150; // ms without another key press, so that a held arrow key reports once

export function contributionsView(container, report) {
  let [header, parts, m, cell, hovered, theme, drawnKey] = [null, null, null, null, null, null, ""];
  let reportTimer = 0;
  const tables = [0, 1].map((tableIndex) => makeTablePanel(tableIndex));
  const readout = el("div", { class: "hu-contribution-cell", role: "status" });
  const pair = el("div", { class: "hu-pair" }, ...tables.map(({ node }) => node));
  const frame = el("div", { class: "hu hu-explorer hu-contributions" }, pair, readout);
  container.append(frame);

  function show(data) {
    ({ header, parts } = data);
    const [sourceLang, targetLang] = header.languages ?? ["", ""];
    const lang = header.kind === "encoder" ? sourceLang : targetLang;
    const columnLang = header.kind === "decoder" ? targetLang : sourceLang;
    const entry = (text, i) => ({ text, written: header.writes ? header.writes[i] : null, dim: false, lang });
    const causal = header.kind === "decoder";
    m = {
      kind: header.kind,
      rows: header.rows.map(entry),
      columns: header.columns.map((text) => ({ text, dim: false, lang: columnLang })),
      nRows: header.rows.length,
      nColumns: header.columns.length,
      masked: (row, column) => causal && column > row,
    };
    const newKey = JSON.stringify([header.id, header.cell]);
    if (newKey !== drawnKey) cell = header.cell && { row: header.cell[0], column: header.cell[1] };
    [drawnKey, hovered] = [newKey, null];
    redraw();
  }

  function redraw() {
    if (!header || !frame.isConnected || !frame.clientWidth) return;
    theme = colours(frame);
    for (const table of tables) table.draw();
    drawReadout();
  }

  const valueAt = (quantity, { row, column }) => parts.get(quantity.name).values[row * m.nColumns + column];

  // Rank of a cell by the size of a quantity, the greatest first.
  function rankOf(quantity, position) {
    const { values } = parts.get(quantity.name);
    const size = Math.abs(valueAt(quantity, position));
    let [rank, count] = [1, 0];
    for (let i = 0; i < values.length; i++) {
      if (m.masked(Math.floor(i / m.nColumns), i % m.nColumns)) continue;
      count++;
      if (Math.abs(values[i]) > size) rank++;
    }
    return [rank, count];
  }

  function namesOf(position) {
    const entry = m.rows[position.row];
    const writes = entry.written === null ? [] : [" (writes ", tokenText(entry.written, entry.lang), ")"];
    const column = m.columns[position.column];
    return [tokenText(entry.text, entry.lang), ...writes, " attends to ", tokenText(column.text, column.lang)];
  }

  // Describe the hovered cell, or else the selected one, below the tables.
  function drawReadout() {
    const shownCell = hovered || cell;
    if (!shownCell) {
      readout.replaceChildren(
        el(
          "span",
          { class: "hu-note" },
          byPointer(
            "Hover over a cell to see its values; click to select it. Arrow keys work too.",
            "Tap a cell to see its values.",
          ),
        ),
      );
      return;
    }
    if (m.masked(shownCell.row, shownCell.column)) {
      readout.replaceChildren(
        el("strong", {}, ...namesOf(shownCell)),
        el("span", {}, "Masked: it cannot attend to later tokens."),
      );
      return;
    }
    const facts = header.quantities.map((quantity) => {
      const [rank, count] = rankOf(quantity, shownCell);
      return el(
        "div",
        { class: "hu-fact" },
        el("span", {}, quantity.label),
        el("strong", {}, numberText(valueAt(quantity, shownCell), 3)),
        el("span", {}, `${rank} of ${count}`),
      );
    });
    readout.replaceChildren(el("strong", {}, ...namesOf(shownCell)), el("div", { class: "hu-facts" }, ...facts));
  }

  function select(next) {
    cell = next;
    redraw();
    clearTimeout(reportTimer);
    const { row, column } = next || { row: -1, column: -1 };
    reportTimer = setTimeout(() => report({ row, column }), CONTRIBUTION_REPORT_MS);
  }

  function hover(next) {
    if (isSameCell(next, hovered)) return;
    hovered = next;
    redraw();
  }

  // One panel: title, table and colour scale.
  function makeTablePanel(tableIndex) {
    const stage = makeStage({
      plan: (pen, width) => layoutCells(m, fullSpan(m), pen, width, theme, false),
      paint: (pen, layout) =>
        drawTable(pen, m, layout, theme, colourOf(quantity(), parts), {
          ...(quantity().signed ? { ramp: theme.diverging, css: theme.divergingCss } : {}),
          cell: hovered,
          pinned: cell,
        }),
    });
    const quantity = () => header.quantities.find(({ name }) => name === header.shown[tableIndex]);
    const title = el("h3", { class: "hu-title" });
    const bar = makeBar();
    const unitNote = el("span", {});
    const node = el(
      "figure",
      { class: "hu-head" },
      title,
      stage.node,
      el("figcaption", { class: "hu-legend" }, bar.node, unitNote),
    );
    listenForCells(stage, {
      hover: (next) => {
        hover(next);
        showTooltip();
      },
      click: (clicked) => select(isSameCell(clicked, cell) ? null : clicked),
      move: (key) => select(neighbourCell(key, cell, m)),
      deselect: () => select(null),
    });
    stage.canvas.addEventListener("pointerleave", () => stage.showTooltip(null));

    function showTooltip() {
      if (!hovered || !stage.layout) return stage.showTooltip(null);
      const lines = m.masked(hovered.row, hovered.column)
        ? [el("strong", {}, "masked")]
        : header.quantities.map((current) => {
          const text = `${current.label} ${numberText(valueAt(current, hovered), 3)}`;
          return el(current === quantity() ? "strong" : "span", {}, text);
        });
      showCellTooltip(stage, hovered, [...lines, el("span", {}, ...namesOf(hovered))]);
    }

    function draw() {
      const current = quantity();
      title.textContent = current.title;
      stage.draw(
        `${current.title}: ${m.nRows} rows, ${m.nColumns} columns. Use the arrow keys to select a cell; its values appear below.`,
      );
      const { ramp, ticks } = contributionScale(current, theme);
      bar.draw(ramp, ticks);
      unitNote.textContent = `${current.unit}; colour by square root, so that small values are visible`;
      if (!hovered) stage.showTooltip(null);
    }
    return { node, draw };
  }

  const endResize = listenForResize(frame, redraw);
  return {
    show,
    close: () => {
      endResize();
      clearTimeout(reportTimer);
    },
  };
}

// The colour level of a cell, 0 to 255: the square root of its share of the maximum; the middle level is
// zero for signed values.
function colourOf({ name, max_abs: maxAbs, signed }, parts) {
  const { values, shape } = parts.get(name);
  return (row, column) => {
    const value = values[row * shape[1] + column];
    const share = Math.sqrt(Math.abs(value) / (maxAbs || 1));
    return signed ? signedLevel(Math.sign(value) * share) : rampLevel(share);
  };
}

/** @param {any} quantity @param {Theme} theme */
function contributionScale({ max_abs: maxAbs, signed }, theme) {
  const end = numberText(maxAbs, 2);
  if (!signed) return { ramp: theme.ramp, ticks: [[0, "0"], [0.5, numberText(maxAbs / 4, 2)], [1, end]] };
  return { ramp: theme.diverging, ticks: [[0, `−${end}`], [0.5, "0"], [1, end]] };
}
