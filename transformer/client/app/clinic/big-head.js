// One head as a table of buttons: rows are queries, columns keys. A click chooses a cell, or at an edge a row or a column.

import { button, el, moveInGrid, rampLevel, textOn } from "../../common/base.js";
import { fill } from "../../common/sentences.js";
import { shortWeight } from "./evidence.js";

const CELL = "Row {row} ({query}) looks at column {column} ({key}): weight {weight}";
const AXES = "A row is a query, a token that looks; a column is a key, where it looks.";

/** @typedef {{ row?: number, column?: number }} Part a cell, or with one of both a row or a column */

/** @param {(part: Part) => void} onChoose */
export function makeBigHead(onChoose) {
  const title = el("figcaption", { class: "hu-clinic-big-title" });
  const body = el("div", { class: "hu-clinic-scroll" });
  const text = el("p", { class: "hu-note" });
  const node = el("figure", { class: "hu-head hu-clinic-big" }, title, body, text);
  let [shape, cells, rowLabels, columnLabels] = ["", [], [], []];
  let [head, pointed] = /** @type {[import("./evidence.js").Head | null, any]} */ ([null, null]);

  /** @param {import("./evidence.js").Head} newHead @param {string} name @param {Part | null} chosen @param {Theme} theme */
  function draw(newHead, name, chosen, theme) {
    head = newHead;
    title.textContent = name;
    const newShape = JSON.stringify([head.rows, head.columns]);
    if (shape !== newShape) build();
    shape = newShape;
    cells.forEach((line, row) =>
      line.forEach((cell, column) => {
        const weight = head.at(row, column);
        const colour = theme.css(rampLevel(Math.sqrt(Math.max(weight, 0))));
        cell.textContent = shortWeight(weight);
        cell.style.background = colour;
        cell.style.color = textOn(colour);
        const values = { row: row + 1, query: head.rows[row], column: column + 1, key: head.columns[column] };
        cell.setAttribute("aria-label", fill(CELL, { ...values, weight: weight.toFixed(2) }));
        press(cell, chosen !== null && (chosen.row ?? row) === row && (chosen.column ?? column) === column);
      })
    );
    rowLabels.forEach((label, row) => press(label, chosen?.row === row && chosen.column === undefined));
    columnLabels.forEach((label, column) => press(label, chosen?.column === column && chosen.row === undefined));
    text.textContent = pointed?.getAttribute("aria-label") ?? AXES;
  }

  function build() {
    pointed = null;
    cells = head.rows.map((_, row) => head.columns.map((_, column) => makeButton("", { row, column }, () => cells)));
    rowLabels = head.rows.map((token, row) =>
      makeButton(token, { row }, () => rowLabels.map((label) => [label]), `All of row ${row + 1} (${token})`)
    );
    columnLabels = head.columns.map((token, column) =>
      makeButton(token, { column }, () => [columnLabels], `All of column ${column + 1} (${token})`)
    );
    body.replaceChildren(el(
      "table",
      { translate: "no" },
      el("thead", {}, el("tr", {}, el("td"), ...columnLabels.map((label) => el("th", { scope: "col" }, label)))),
      el(
        "tbody",
        {},
        ...cells.map((line, row) =>
          el("tr", {}, el("th", { scope: "row" }, rowLabels[row]), ...line.map((cell) => el("td", {}, cell)))
        ),
      ),
    ));
  }

  /** @param {string} content @param {Part} part @param {() => any[][]} grid the buttons among which arrow keys move */
  function makeButton(content, part, grid, label = "") {
    const isFirst = !part.row && !part.column;
    const node = button(content, () => onChoose(part), {
      class: null,
      tabindex: isFirst ? 0 : -1,
      "aria-label": label || null,
    });
    for (const event of ["focus", "pointerenter"]) {
      node.addEventListener(event, () => {
        pointed = node;
        text.textContent = node.getAttribute("aria-label");
      });
    }
    node.addEventListener("keydown", (event) => moveInGrid(event, grid()));
    return node;
  }
  return { node, draw };
}

/** @param {HTMLElement} node @param {boolean} isPressed */
export const press = (node, isPressed) => node.setAttribute("aria-pressed", String(isPressed));
