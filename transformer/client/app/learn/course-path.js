// Lessons as stations of a path, which runs to the right and back to the left in turn.

import { button, clampIndex, el, listenForResize, svgNode } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { fill } from "../../common/sentences.js";
import { stationPicture } from "./station-picture.js";

const [MIN_WIDTH, MAX_COLUMNS] = [115, 5]; // of a station in pixels, and of a row
const TURN = 0.46; // how far a turn goes beyond the last station of its row, in widths of a station
const PART_COLOURS = 8; // colours in the style sheet

/** @typedef {{ row: number, column: number }} PathCell */

// The cells of so many stations in a grid with these columns.
/** @param {number} count @param {number} columns @returns {PathCell[]} */
export function pathCells(count, columns) {
  return Array.from({ length: count }, (_, n) => {
    const [row, at] = [Math.floor(n / columns), n % columns];
    return { row, column: row % 2 ? columns - 1 - at : at };
  });
}

// The line through these points as an SVG path: straight within a row, and round from one row to the next.
/** @param {[number, number][]} points @param {number} turn how far a turn goes beyond its row */
export function pathLine(points, turn) {
  const middle = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const steps = points.slice(1).map(([x, y], n) => {
    const [fromX, fromY] = points[n];
    if (Math.abs(x - fromX) > turn) return `L${x} ${y}`;
    const turnX = fromX + (fromX < middle ? -turn : turn);
    return `C${turnX} ${fromY} ${turnX} ${y} ${x} ${y}`;
  });
  return points.length ? [`M${points[0].join(" ")}`, ...steps].join("") : "";
}

/**
 * @param {Lesson[]} lessons @param {ReturnType<typeof import("./guesses.js").makeGuesses>} guesses
 * @param {(name: string) => void} openLesson
 */
export function coursePath(lessons, guesses, openLesson) {
  const parts = [...new Set(lessons.map(({ part }) => part))];
  const isDone = ({ name }) => Boolean(guesses.of(name)?.revealed);
  const next = lessons.findIndex((lesson) => !isDone(lesson));
  const stations = lessons.map((lesson, n) =>
    el(
      "li",
      { "data-part": parts.indexOf(lesson.part) % PART_COLOURS },
      station(lesson, n, guesses.of(lesson.name), n === next && !lesson.extra, openLesson),
    )
  );
  const line = svgNode("svg", { class: "hu-path-line", "aria-hidden": "true" });
  const node = el("div", { class: "hu-path" }, line, el("ol", {}, ...stations));
  function place() {
    const columns = clampIndex(Math.floor(node.clientWidth / MIN_WIDTH), MAX_COLUMNS + 1) || 1;
    node.style.setProperty("--columns", String(columns));
    pathCells(lessons.length, columns).forEach(({ row, column }, n) => {
      stations[n].style.gridArea = `${row + 1} / ${column + 1}`;
    });
    const points = stations.map((each) => centreWithin(each.querySelector(".hu-station-tile"), node));
    const turn = (TURN * node.clientWidth) / columns;
    line.replaceChildren(
      svgNode("path", { d: pathLine(points, turn) }),
      svgNode("path", { d: pathLine(next < 0 ? points : points.slice(0, next + 1), turn), class: "hu-path-done" }),
    );
  }
  listenForResize(node, place);
  return node;
}

// The centre of a node, in pixels from the corner of another.
/** @param {Element} node @param {Element} other @returns {[number, number]} */
function centreWithin(node, other) {
  const [{ left, top, width, height }, origin] = [node.getBoundingClientRect(), other.getBoundingClientRect()];
  return [left + width / 2 - origin.left, top + height / 2 - origin.top];
}

/**
 * @param {Lesson} lesson @param {number} n its number from 0 @param {import("./guesses.js").Guess | null} guess
 * @param {boolean} isNext @param {(name: string) => void} openLesson
 */
function station(lesson, n, guess, isNext, openLesson) {
  const minutes = fill("{minutes} min", { minutes: lesson.minutes });
  const status = guess?.revealed ? guess.right ? " · ✓ right" : " · done" : "";
  const content = [
    el("span", { class: "hu-station-tile" }, stationPicture(lesson.picture)),
    el("span", { class: "hu-station-title" }, `${n + 1}. `, ...markdownNodes(lesson.title)),
    el("span", { class: "hu-note" }, minutes, status),
  ];
  return button(content, () => openLesson(lesson.name), {
    class: "hu-station",
    title: lesson.part,
    "data-done": guess?.revealed ? "" : null,
    "data-next": isNext ? "" : null,
  });
}
