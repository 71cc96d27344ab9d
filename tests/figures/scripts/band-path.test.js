// The paths of bands between wrapped sentences pass between words, never behind one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bandPath, textLinesOf } from "../../../transformer/client/views/glance/band-path.js";

const WORD_HEIGHT = 20;
const box = (x, top, width = 40) => ({ x, top, bottom: top + WORD_HEIGHT, width });
const sourceBoxes = [box(30, 0), box(80, 0), box(130, 0), box(40, 30), box(100, 30, 60), box(60, 60, 90)];
const targetBoxes = [box(50, 200), box(100, 200), box(60, 230, 80), box(130, 230)];

// Points along an SVG path of M, C and L.
function pointsOf(path) {
  const points = [];
  let position = null;
  for (const [, command, numbers] of path.matchAll(/([MCL])([^MCL]*)/g)) {
    const n = numbers.trim().split(/\s+/).map(Number);
    if (command === "M") position = n;
    const [a, b, c, d] = command === "C"
      ? [position, n.slice(0, 2), n.slice(2, 4), n.slice(4)]
      : [position, position, n.slice(-2), n.slice(-2)];
    for (let t = 0; t <= 1; t += 0.02) {
      const [p, q] = [0, 1].map((i) =>
        (1 - t) ** 3 * a[i] + 3 * (1 - t) ** 2 * t * b[i] + 3 * (1 - t) * t * t * c[i] + t ** 3 * d[i]
      );
      points.push([p, q]);
    }
    position = n.slice(-2);
  }
  return points;
}

test("no band passes behind another word", () => {
  const lines = [textLinesOf(sourceBoxes), textLinesOf(targetBoxes)];
  for (const from of sourceBoxes) {
    for (const to of targetBoxes) {
      const points = pointsOf(bandPath([from.x, from.bottom], [to.x, to.top], ...lines));
      for (const other of [...sourceBoxes, ...targetBoxes].filter((box) => box !== from && box !== to)) {
        const behind = points.some(([x, y]) => (
          y > other.top + 0.5 && y < other.bottom - 0.5 && Math.abs(x - other.x) < other.width / 2
        ));
        assert.ok(!behind, `from ${from.x},${from.top} to ${to.x},${to.top} behind ${other.x},${other.top}`);
      }
      assert.ok(Math.abs(points.at(-1)[0] - to.x) < 2);
    }
  }
});
