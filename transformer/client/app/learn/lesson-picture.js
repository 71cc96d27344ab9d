// The picture of a lesson's question: a table of cells, the darker the greater their number, with its answer hidden or
// marked.

import { el, svgNode } from "../../common/base.js";
import { truncated } from "../../common/naming.js";

const CELL = 24;
const LETTER = 7.2; // width of a letter of a label, about
const MAX_NAME = 12; // letters of a label
const MAX_SCALE = 1.9; // how much a wide page enlarges the picture

/**
 * @param {import("../../trace/questions/case.js").Picture} picture @param {boolean} answered
 * @param {string} [guess] label of the option that the visitor has chosen
 */
export function lessonPicture(picture, answered, guess = "") {
  const { weights, caption, hidden, marked, rowsBefore, rowNamesHidden } = picture;
  const rows = picture.rows.slice(0, answered ? undefined : rowsBefore)
    .map((name) => rowNamesHidden && !answered ? "?" : truncated(name, MAX_NAME));
  const columns = picture.columns.map((name) => truncated(name, MAX_NAME));
  const widthOf = (names) => LETTER * Math.max(1, ...names.map((name) => [...name].length));
  const [left, top] = [10 + widthOf(rows), 12 + 0.75 * widthOf(columns)];
  const width = left + CELL * columns.length + 0.75 * widthOf(columns.slice(-1));
  const height = top + CELL * rows.length + 4;
  const has = (cells, row, column) => cells.some(([i, j]) => i === row && j === column);
  const root = svgNode("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": caption,
    class: "hu-lesson-picture",
    style: `max-width: min(100%, ${Math.round(MAX_SCALE * width)}px)`,
  });
  columns.forEach((name, j) => {
    const [x, y] = [left + (j + 0.5) * CELL, top - 6];
    root.append(svgNode("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, name));
  });
  const frames = [];
  const chosen = answered ? chosenCells(picture, guess) : [];
  rows.forEach((name, i) => {
    const y = top + i * CELL;
    root.append(svgNode("text", { x: left - 6, y: y + CELL * 0.68, "text-anchor": "end" }, name));
    columns.forEach((_, j) => {
      const x = left + j * CELL;
      const isHidden = !answered && has(hidden, i, j);
      const cell = svgNode("rect", { x, y, width: CELL, height: CELL, class: isHidden ? "hu-hidden" : "" });
      const weight = weights[i][j];
      if (!isHidden) {
        cell.style.fillOpacity = String(weight);
        cell.append(svgNode("title", {}, weight.toFixed(2)));
      }
      root.append(cell);
      if (isHidden) {
        root.append(svgNode("text", { x: x + CELL / 2, y: y + CELL * 0.68, "text-anchor": "middle" }, "?"));
      }
      if (has(chosen, i, j)) {
        frames.push(svgNode("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, class: "hu-chosen" }));
      }
      if (answered && has(marked, i, j)) {
        frames.push(svgNode("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, class: "hu-marked" }));
      }
    });
  });
  root.append(...frames);
  return el("figure", { class: "hu-lesson-figure" }, root, el("figcaption", {}, `${caption}.`));
}

// The cells that a guess is about, if it names a column of those that were hidden. Options name the first of equal columns.
/** @param {import("../../trace/questions/case.js").Picture} picture @param {string} label Markdown */
function chosenCells({ columns, hidden }, label) {
  const column = columns.indexOf(label.replace(/\\(.)/g, "$1").replace(/^`|`$/g, ""));
  return hidden.filter(([, j]) => j === column);
}
