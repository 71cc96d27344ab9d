// One head as a table of buttons: rows are queries, columns keys. A click marks a cell.

import { button, el, moveInGrid, rampLevel, textOn } from "../../common/base.js";

/** @param {(row: number, column: number) => void} onMark */
export function makeBigHead(onMark) {
  const title = el("figcaption", { class: "hu-clinic-big-title" });
  const body = el("div", { class: "hu-clinic-scroll" });
  const text = el("p", { class: "hu-note" });
  const node = el("figure", { class: "hu-head hu-clinic-big" }, title, body, text);
  let [shape, cells, head, pointed] = ["", [], null, null];

  /** @param {import("./evidence.js").Head} newHead @param {string} name @param {[number, number] | null} marked @param {Theme} theme */
  function draw(newHead, name, marked, theme) {
    head = newHead;
    title.textContent = name;
    const newShape = `${head.rows} ${head.columns}`;
    if (shape !== newShape) build();
    shape = newShape;
    cells.forEach((line, row) =>
      line.forEach((cell, column) => {
        const weight = head.at(row, column);
        const colour = theme.css(rampLevel(Math.sqrt(Math.max(weight, 0))));
        cell.textContent = weight.toFixed(2).replace(/^0/, "");
        cell.style.background = colour;
        cell.style.color = textOn(colour);
        cell.setAttribute("aria-label", describe(row, column));
        cell.setAttribute("aria-pressed", String(marked !== null && marked[0] === row && marked[1] === column));
      })
    );
    text.textContent = pointed?.getAttribute("aria-label") ?? "";
  }

  const describe = (row, column) =>
    `Row ${row + 1} (${head.rows[row]}) looks at column ${column + 1} (${head.columns[column]}): weight ${
      head.at(row, column).toFixed(2)
    }`;

  function build() {
    pointed = null;
    cells = head.rows.map((_, row) => head.columns.map((_, column) => makeCell(row, column)));
    const columnHeads = head.columns.map((token) => el("th", { scope: "col" }, token));
    body.replaceChildren(el(
      "table",
      {},
      el("thead", {}, el("tr", {}, el("td"), ...columnHeads)),
      el(
        "tbody",
        {},
        ...cells.map((line, row) =>
          el("tr", {}, el("th", { scope: "row" }, head.rows[row]), ...line.map((cell) => el("td", {}, cell)))
        ),
      ),
    ));
  }

  function makeCell(row, column) {
    const cell = button("", () => onMark(row, column), { class: null, tabindex: row + column ? -1 : 0 });
    for (const event of ["focus", "pointerenter"]) {
      cell.addEventListener(event, () => {
        pointed = cell;
        text.textContent = cell.getAttribute("aria-label");
      });
    }
    cell.addEventListener("keydown", (event) => moveInGrid(event, cells));
    return cell;
  }
  return { node, draw };
}
