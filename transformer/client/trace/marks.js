// The cells that a lesson speaks of: the field `marks` of the explorer's state has the positions of their tokens, as
// "row.column" with commas. A view marks these cells and writes their weights, which the lesson's answer names too.

import { percentText } from "../common/numbers.js";
import { tokenName } from "../common/naming.js";
import { fill } from "../common/sentences.js";

const MAX_LISTED_MARKS = 12; // cells whose weights are written one by one
const MARKED_CELL = "{query} → {key}: {weight}";
const MARKED_MEAN = "Mean of the {count} marked cells: {weight}";

/** @typedef {{ row: number, column: number, weight: number, text: string }} MarkedCell row and column of a table */

// The film's states have no marks.
/** @param {string} [marks] @returns {[number, number][]} */
export const readMarks = (marks = "") =>
  marks.split(",").filter(Boolean).map((mark) => /** @type {[number, number]} */ (mark.split(".").map(Number)));

/** @param {[number, number][]} cells positions of tokens */
export const writeMarks = (cells) => cells.map((cell) => cell.join(".")).join(",");

// A weight as the lessons and the marks of a view write it; a masked cell has none.
/** @param {number} weight */
export const markText = (weight) => weight === 0 ? "0%" : percentText(weight);

// The marked cells that a table has, each once.
/** @param {Matrix} m @param {string} [marks] @returns {MarkedCell[]} */
export function markedCells(m, marks) {
  const cells = new Map();
  for (const [query, key] of readMarks(marks)) {
    const row = m.rows.findIndex(({ members }) => members.includes(query));
    const column = m.columns.findIndex(({ members }) => members.includes(key));
    if (row < 0 || column < 0) continue;
    const weight = m.values[row * m.nColumns + column];
    cells.set(`${row}.${column}`, { row, column, weight, text: markText(weight) });
  }
  return [...cells.values()];
}

/** @param {MarkedCell[]} cells */
export const meanText = (cells) => markText(cells.reduce((sum, { weight }) => sum + weight, 0) / cells.length);

// What a view writes about its marked cells: the mean too, if each is of another row.
/** @param {Matrix} m @param {string} marks @returns {string[]} */
export function markSentences(m, marks) {
  const cells = markedCells(m, marks);
  const listed = cells.slice(0, MAX_LISTED_MARKS).map(({ row, column, text }) => {
    const { text: read, written } = m.rows[row];
    return fill(MARKED_CELL, {
      query: tokenName(written ?? read),
      key: tokenName(m.columns[column].text),
      weight: text,
    });
  });
  const hasMean = cells.length > 1 && new Set(cells.map(({ row }) => row)).size === cells.length;
  const mean = hasMean ? [fill(MARKED_MEAN, { count: cells.length, weight: meanText(cells) })] : [];
  return [...mean, ...listed];
}
