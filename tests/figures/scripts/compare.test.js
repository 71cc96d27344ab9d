// Aligning two tables: the pairs, and the differences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { alignEntries, compareTables, divergingLevel, piecePairs } from "../../../transformer/figures/browser/compare-tables.js";
import { differingPositions, parseForced } from "../../../transformer/figures/browser/decoding.js";
import { matrixOf } from "../../../transformer/figures/browser/matrix.js";
import { random, side, STATE } from "./fixtures.js";

const pieces = (texts) => texts.map((text, position) => ({ text, written: null, members: [position], special: false, dim: false }));

test("each place of both stands in the one list once and in its order", () => {
  const draw = random(7);
  for (let round = 0; round < 200; round++) {
    const texts = () => Array.from({ length: 1 + Math.floor(draw() * 8) }, () => "abc"[Math.floor(draw() * 3)]);
    const [first, second] = [texts(), texts()];
    // Some pairs that go up in both, as an alignment's do.
    const pairs = [];
    let [i, j] = [0, 0];
    while (i < first.length && j < second.length) {
      if (draw() < 0.6) pairs.push([i++, j++]);
      else if (draw() < 0.5) i++;
      else j++;
    }
    const made = alignEntries(pieces(first), pieces(second), pairs);
    for (const [which, list] of [first, second].entries()) {
      assert.deepEqual(made.map((pair) => pair[which]).filter((place) => place !== null), [...list.keys()]);
    }
    const both = made.filter(([a, b]) => a !== null && b !== null);
    assert.deepEqual(both, pairs.filter(([a, b]) => first[a] === second[b]));
  }
});

test("punctuation at the end of a word is ignored", () => {
  assert.deepEqual(alignEntries(pieces(["cats,"]), pieces(["cats."]), [[0, 0]]), [[0, 0]]);
  assert.deepEqual(alignEntries(pieces([","]), pieces(["."]), [[0, 0]]), [[0, null], [null, 0]]);
});

test("a cell is B − A where both have one, and a table less itself is nothing", () => {
  const [a, b] = [side(1), side(2)];
  const pairs = { src_tokens: [0, 1, 2, 3].map((i) => [i, i]), tgt_tokens: [0, 1, 2, 3].map((i) => [i, i]) };
  for (const kind of a.kinds) {
    const [first, second] = [a, b].map((one) => matrixOf(one, { ...STATE, kind }));
    const { m, inA, inB } = compareTables(first, second, piecePairs([a, b], pairs, kind, "pieces"));
    for (let i = 0; i < 16; i++) {
      if (kind === "decoder" && i % 4 > Math.floor(i / 4)) assert.ok(Number.isNaN(m.values[i]) && m.masked(Math.floor(i / 4), i % 4));
      else {
        assert.deepEqual([inA[i], inB[i]], [first.values[i], second.values[i]]);
        assert.equal(m.values[i], Math.fround(second.values[i] - first.values[i]));
      }
    }
    const same = compareTables(first, first, piecePairs([a, a], pairs, kind, "pieces"));
    assert.ok(same.m.values.every((value) => Number.isNaN(value) || value === 0));
  }
});

test("a scale of differences has its middle at zero and is the same on both sides", () => {
  for (const scale of ["sqrt", "linear", "row"]) {
    for (const difference of [0, 0.1, 0.5, 1]) {
      const [up, down] = [difference, -difference].map((one) => divergingLevel(one, scale, 1));
      assert.ok(Math.abs(up + down - 255) <= 1, `${scale} ${difference}: ${up} and ${down}`);
    }
  }
});

test("a forced piece is read from the state, and what only one translation has is found", () => {
  assert.equal(parseForced({ ...STATE }), null);
  assert.deepEqual(parseForced({ ...STATE, force: "2:1234" }), { step: 2, id: 1234 });
  const pairs = { tgt_tokens: [[0, 0], [1, 1], [2, null], [null, 2], [3, 3]] };
  const [one, other] = [{ predicted: { tokens: ["a", "b", "c", "</s>"] } }, { predicted: { tokens: ["a", "x", "c", "."] } }];
  assert.deepEqual(differingPositions(pairs, one, other).map((set) => [...set]), [[1, 3], [1, 3]]);
});
