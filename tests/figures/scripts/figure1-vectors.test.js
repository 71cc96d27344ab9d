// The paths into a box of a figure, and points on them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pathsInto, pointAlong } from "../../../transformer/figures/browser/inside/figure1-vectors.js";

const FIGURE = {
  boxes: {
    words: [0, 90, 40, 10],
    attention: [0, 40, 40, 20],
    add: [0, 20, 40, 10],
    norm: [0, 10, 40, 10],
    memory: [60, 40, 10, 10],
  },
  arrows: [
    [[20, 90], [20, 80]],
    [[20, 80], [10, 70], [10, 60]],
    [[20, 80], [20, 60]],
    [[20, 40], [20, 30]],
    [[60, 45], [40, 45]],
  ],
  residuals: [[[20, 75], [-10, 75], [-10, 25], [0, 25]]],
};

test("arrows are followed back through forks to their source", () => {
  assert.deepEqual(pathsInto(FIGURE, "attention"), [
    [[20, 90], [20, 80], [10, 70], [10, 60]],
    [[20, 90], [20, 80], [20, 60]],
    [[60, 45], [40, 45]],
  ]);
});

test("residual connections arrive too, and so does the output of an adjacent box", () => {
  assert.deepEqual(pathsInto(FIGURE, "add"), [[[20, 40], [20, 30]], FIGURE.residuals[0]]);
  assert.deepEqual(pathsInto(FIGURE, "norm"), [[[20, 25], [20, 15]]]);
  assert.deepEqual(pathsInto(FIGURE, "words"), []);
  assert.deepEqual(pathsInto(FIGURE, "elsewhere"), []);
});

test("a point moves along a path at constant speed, from start to end", () => {
  const path = [[0, 0], [10, 0], [10, 30]];
  assert.deepEqual(pointAlong(path, 0), [0, 0]);
  assert.deepEqual(pointAlong(path, 0.125), [5, 0]);
  assert.deepEqual(pointAlong(path, 0.25), [10, 0]);
  assert.deepEqual(pointAlong(path, 0.5), [10, 10]);
  assert.deepEqual(pointAlong(path, 2), [10, 30]);
});
