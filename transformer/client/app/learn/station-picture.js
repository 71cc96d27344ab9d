// The small picture of a lesson or a place: a table of cells, as of a head.

import { svgNode } from "../../common/base.js";

const SIDE = 0.9; // of a cell, whose neighbours are at a distance of 1

/** @param {string} levels rows separated by spaces, of digits from 0 to 9 for weights from 0 to 1 */
export function stationPicture(levels) {
  const rows = levels.split(" ");
  const cells = rows.flatMap((row, y) =>
    [...row].map((level, x) =>
      svgNode("rect", { x, y, width: SIDE, height: SIDE, rx: 0.14, "fill-opacity": 0.06 + (0.94 * Number(level)) / 9 })
    )
  );
  const viewBox = `0 0 ${rows[0].length - 1 + SIDE} ${rows.length - 1 + SIDE}`;
  return svgNode("svg", { viewBox, "aria-hidden": "true", class: "hu-station-picture" }, ...cells);
}
