import assert from "node:assert/strict";
import { test } from "node:test";

import { pointsOf, progressText } from "../../../transformer/client/views/grids/wall.js";

test("a curve goes from left to right, and down as the loss falls", () => {
  const points = pointsOf([[10, 4], [20, 2], [30, 1]]);
  assert.deepEqual(points.map(([x]) => x), [0, 50, 100]);
  assert.deepEqual(points.map(([, y]) => y), [2, 21, 30.5]);
  assert.deepEqual(pointsOf([[3, 0]]), [[0, 40]]); // a single point with a loss of zero
});

test("a run's progress lists only known values", () => {
  const card = { status: "running", step: 1200, accuracy: 0.5, curve: [[1, 2.5], [1200, 0.126]] };
  assert.equal(progressText(card), "step 1,200 · loss 0.13 · 50% correct");
  assert.equal(progressText({ status: "queued, place 3", step: 0, accuracy: null, curve: [] }), "queued, place 3");
});
