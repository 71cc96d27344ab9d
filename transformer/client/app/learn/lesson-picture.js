// The picture of a lesson's question: a table of cells, the darker the greater their number, with its answer hidden or
// marked.

import { el, svgNode } from "../../common/base.js";
import { truncated } from "../../common/naming.js";
import { trimPunctuation } from "../../trace/words.js";

const CELL = 24; // height of a cell, and its width unless a marked cell has a longer text
const LETTER = 7.2; // width of a letter of a label, about
const MAX_NAME = 12; // letters of a label
const MAX_SCALE = 1.9; // how much a wide page enlarges the picture

/**
 * @param {import("../../trace/questions/case.js").Picture} picture @param {boolean} answered
 * @param {string} [guess] label of the option that the visitor has chosen
 */
export function lessonPicture(picture, answered, guess = "") {
  const { weights, caption, hidden, marked, noted = [], rowsBefore, rowNamesHidden } = picture;
  const rows = picture.rows.slice(0, answered ? undefined : rowsBefore)
    .map((name) => rowNamesHidden && !answered ? "?" : truncated(name, MAX_NAME));
  const columns = picture.columns.map((name) => truncated(name, MAX_NAME));
  const lengthOf = (names) => LETTER * Math.max(1, ...names.map((name) => [...name].length));
  const cellWidth = Math.max(CELL, 8 + lengthOf([...marked, ...noted].map(([, , text = ""]) => text)));
  const [left, top] = [10 + lengthOf(rows), 12 + 0.75 * lengthOf(columns)];
  const width = left + cellWidth * columns.length + 0.75 * lengthOf(columns.slice(-1));
  const height = top + CELL * rows.length + 4;
  const root = svgNode("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": caption,
    class: "hu-lesson-picture",
    translate: "no",
    style: `max-width: min(100%, ${Math.round(MAX_SCALE * width)}px)`,
  });
  columns.forEach((name, j) => {
    const [x, y] = [left + (j + 0.5) * cellWidth, top - 6];
    root.append(svgNode("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, name));
  });
  /** @type {(row: number, column: number) => Box} */
  const boxOf = (i, j) => ({ x: left + j * cellWidth, y: top + i * CELL, width: cellWidth });
  rows.forEach((name, i) => {
    root.append(svgNode("text", { x: left - 6, y: top + (i + 0.68) * CELL, "text-anchor": "end" }, name));
    columns.forEach((_, j) => {
      const isHidden = !answered && hidden.some(([row, column]) => row === i && column === j);
      root.append(...cellNodes(boxOf(i, j), weights[i][j], isHidden));
    });
  });
  const shown = (cells) => answered ? cells.filter(([i]) => i < rows.length) : [];
  for (const [i, j] of shown(chosenCells(picture, guess))) root.append(frameAt(boxOf(i, j), "hu-chosen"));
  for (const [i, j] of shown(marked)) root.append(frameAt(boxOf(i, j), "hu-marked"));
  for (const [i, j, text] of shown([...marked, ...noted])) if (text) root.append(...numberNodes(boxOf(i, j), text));
  return el("figure", { class: "hu-lesson-figure" }, root, el("figcaption", {}, `${caption}.`));
}

/** @typedef {{ x: number, y: number, width: number }} Box of a cell */

/** @param {Box} box @param {number} shade from 0 to 1 @param {boolean} isHidden */
function cellNodes(box, shade, isHidden) {
  const cell = svgNode("rect", { ...box, height: CELL, class: isHidden ? "hu-hidden" : "" });
  if (!isHidden) cell.style.fillOpacity = String(shade);
  return isHidden ? [cell, textAt(box, "?")] : [cell];
}

/** @param {Box} box @param {string} className */
const frameAt = ({ x, y, width }, className) =>
  svgNode("rect", { x: x + 1, y: y + 1, width: width - 2, height: CELL - 2, class: className });

// The number in a cell, on its own background.
/** @param {Box} box @param {string} text */
function numberNodes(box, text) {
  const { x, y, width } = box;
  const back = svgNode("rect", { x: x + 4, y: y + 4, width: width - 8, height: CELL - 8, class: "hu-marked-number" });
  return [back, textAt(box, text)];
}

/** @param {Box} box @param {string} text */
const textAt = ({ x, y, width }, text) =>
  svgNode("text", { x: x + width / 2, y: y + CELL * 0.68, "text-anchor": "middle" }, text);

// The cells that a guess is about, if it names a column of those that were hidden. Options name the first of equal columns.
/** @param {import("../../trace/questions/case.js").Picture} picture @param {string} label Markdown */
function chosenCells({ columns, hidden }, label) {
  const column = columns.indexOf(plainLabel(label));
  return hidden.filter(([, j]) => j === column);
}

// Whether an option is a word of the picture, which page translators leave alone.
/** @param {import("../../trace/questions/case.js").Picture | null | undefined} picture @param {string} label Markdown */
export const isWordOf = (picture, label) =>
  Boolean(picture) &&
  [...picture.rows, ...picture.columns].map(trimPunctuation).includes(trimPunctuation(plainLabel(label)));

/** @param {string} label Markdown */
export const plainLabel = (label) => label.replace(/\\(.)/g, "$1").replace(/^`|`$/g, "");
