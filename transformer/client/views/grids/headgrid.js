// Grids with a number for every head, in which a cell can be selected. `.show(data)` takes the data of
// figures/headgrid.py; `report({ grid, row, column })` is called when a cell is selected.

import { button, colours, el, listenForResize, moveInGrid, rampLevel, textOn } from "../../common/base.js";
import { makeBar } from "../../common/legend.js";

export function headgridView(container, report) {
  let [data, builtKey, pendingReports] = [null, "", []];
  let grids = []; // { name, cells }
  const bar = makeBar();
  const legendText = el("span", {});
  const legend = el("figcaption", { class: "hu-legend" }, bar.node, legendText);
  const row = el("div", { class: "hu-kindrow" });
  const frame = el("div", { class: "hu hu-explorer hu-headgrid" }, row, legend);
  container.append(frame);

  function show(newData) {
    // Ignore the server's answer to an earlier report when the user has already selected another cell.
    const echoed = pendingReports.indexOf(JSON.stringify(newData.chosen));
    if (echoed >= 0) pendingReports.splice(0, echoed + 1);
    const chosen = pendingReports.length ? data.chosen : newData.chosen;
    data = { ...newData, chosen };
    redraw();
  }

  function redraw() {
    if (!data || !frame.isConnected) return;
    frame.dataset.size = data.large ? "large" : "normal";
    const key = JSON.stringify(data.grids.map(({ name, label, rows, columns }) => [name, label, rows, columns]));
    if (key !== builtKey) build();
    builtKey = key;
    const theme = colours(frame);
    data.grids.forEach((grid, index) => paint(grid, grids[index].cells, theme));
    bar.draw(theme.ramp, data.ticks);
    legendText.textContent = data.legend;
  }

  function build() {
    row.style.setProperty("--hu-heads", Math.max(...data.grids.map(({ columns }) => columns.length)));
    row.style.setProperty("--hu-min-width", data.grids.length === 4 ? "40%" : "0%"); // two per row
    grids = data.grids.map(makeGrid);
    row.replaceChildren(...grids.map(({ node }) => node));
  }

  function makeGrid({ name, label, rows, columns }) {
    const cells = rows.map((_, r) =>
      columns.map((__, c) =>
        button("", () => select(name, r, c), { class: "hu-thumb", role: "radio", "data-cell": `${name} ${r} ${c}` })
      )
    );
    const grid = el(
      "div",
      { class: "hu-grid", role: "radiogroup", "aria-label": `${label}: choose a head` },
      el("span", {}),
      ...columns.map((text) => el("span", { class: "hu-column" }, text)),
      ...cells.flatMap((cellRow, r) => [el("span", { class: "hu-row" }, rows[r]), ...cellRow]),
    );
    grid.style.setProperty("--hu-heads", columns.length);
    grid.addEventListener("keydown", (event) => moveInGrid(event, cells));
    return { name, cells, node: el("section", {}, el("h2", {}, label), grid) };
  }

  function paint(grid, cells, theme) {
    const [name, r, c] = data.chosen || [];
    let tabStop = cells[0][0]; // the cell that Tab focuses
    cells.forEach((cellRow, i) =>
      cellRow.forEach((cell, j) => {
        const level = grid.levels[i][j];
        const colour = level === null ? null : theme.css(rampLevel(level));
        cell.style.background = colour ?? "none";
        cell.style.color = colour ? textOn(colour) : theme.muted;
        cell.textContent = grid.marks[i][j];
        cell.title = grid.descriptions[i][j];
        cell.setAttribute("aria-label", grid.descriptions[i][j]);
        const chosen = grid.name === name && i === r && j === c;
        cell.setAttribute("aria-checked", String(chosen));
        cell.tabIndex = -1;
        if (chosen) tabStop = cell;
      })
    );
    tabStop.tabIndex = 0;
  }

  function select(name, r, c) {
    data.chosen = [name, r, c];
    pendingReports.push(JSON.stringify(data.chosen));
    redraw();
    report({ grid: name, row: r, column: c });
  }

  return { show, close: listenForResize(frame, redraw) };
}
