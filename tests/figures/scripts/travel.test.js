// The paths into a box of a drawing, and points on them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pointAlong, pathsInto } from "../../../transformer/figures/browser/figure1-travel.js";

const DRAWING = {
  boxes: { words: [0, 90, 40, 10], attention: [0, 40, 40, 20], add: [0, 20, 40, 10], norm: [0, 10, 40, 10], memory: [60, 40, 10, 10] },
  arrows: [
    [[20, 90], [20, 80]],
    [[20, 80], [10, 70], [10, 60]],
    [[20, 80], [20, 60]],
    [[20, 40], [20, 30]],
    [[60, 45], [40, 45]],
  ],
  residuals: [[[20, 75], [-10, 75], [-10, 25], [0, 25]]],
};

test("arrows are followed back over forks to the box that they come from", () => {
  assert.deepEqual(pathsInto(DRAWING, "attention"), [
    [[20, 90], [20, 80], [10, 70], [10, 60]],
    [[20, 90], [20, 80], [20, 60]],
    [[60, 45], [40, 45]],
  ]);
});

test("what goes around a box arrives as well, and what stands right below hands on", () => {
  assert.deepEqual(pathsInto(DRAWING, "add"), [[[20, 40], [20, 30]], DRAWING.residuals[0]]);
  assert.deepEqual(pathsInto(DRAWING, "norm"), [[[20, 25], [20, 15]]]);
  assert.deepEqual(pathsInto(DRAWING, "words"), []);
  assert.deepEqual(pathsInto(DRAWING, "elsewhere"), []);
});

test("a point goes along a way evenly, from its first corner to its last", () => {
  const way = [[0, 0], [10, 0], [10, 30]];
  assert.deepEqual(pointAlong(way, 0), [0, 0]);
  assert.deepEqual(pointAlong(way, 0.125), [5, 0]);
  assert.deepEqual(pointAlong(way, 0.25), [10, 0]);
  assert.deepEqual(pointAlong(way, 0.5), [10, 10]);
  assert.deepEqual(pointAlong(way, 2), [10, 30]);
});
