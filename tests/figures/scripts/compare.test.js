// Aligning two tables and subtracting them.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  alignEntries,
  compareTables,
  divergingLevel,
  piecePairs,
} from "../../../transformer/client/views/compare/compare-tables.js";
import { matrixOf } from "../../../transformer/client/common/matrix.js";
import { random, side, STATE } from "./fixtures.js";

const pieces = (texts) =>
  texts.map((text, position) => ({ text, written: null, members: [position], special: false, dim: false }));

test("aligned entries contain every position of both lists once, in order", () => {
  const draw = random(7);
  for (let round = 0; round < 200; round++) {
    const texts = () => Array.from({ length: 1 + Math.floor(draw() * 8) }, () => "abc"[Math.floor(draw() * 3)]);
    const [first, second] = [texts(), texts()];
    // Random pairs whose positions increase in both lists, as in an alignment.
    const pairs = [];
    let [i, j] = [0, 0];
    while (i < first.length && j < second.length) {
      if (draw() < 0.6) pairs.push([i++, j++]);
      else if (draw() < 0.5) i++;
      else j++;
    }
    const aligned = alignEntries(pieces(first), pieces(second), pairs);
    for (const [sideIndex, list] of [first, second].entries()) {
      assert.deepEqual(aligned.map((pair) => pair[sideIndex]).filter((position) => position !== null), [
        ...list.keys(),
      ]);
    }
    const matched = aligned.filter(([a, b]) => a !== null && b !== null);
    assert.deepEqual(matched, pairs.filter(([a, b]) => first[a] === second[b]));
  }
});

test("punctuation at the end of a word is ignored", () => {
  assert.deepEqual(alignEntries(pieces(["cats,"]), pieces(["cats."]), [[0, 0]]), [[0, 0]]);
  assert.deepEqual(alignEntries(pieces([","]), pieces(["."]), [[0, 0]]), [[0, null], [null, 0]]);
});

test("a cell is B − A where both have one, and a table minus itself is zero", () => {
  const [a, b] = [side(1), side(2)];
  const pairs = { src_tokens: [0, 1, 2, 3].map((i) => [i, i]), tgt_tokens: [0, 1, 2, 3].map((i) => [i, i]) };
  for (const kind of a.kinds) {
    const [first, second] = [a, b].map((data) => matrixOf(data, { ...STATE, kind }));
    const { m, inA, inB } = compareTables(first, second, piecePairs([a, b], pairs, kind, "pieces"));
    for (let i = 0; i < 16; i++) {
      if (kind === "decoder" && i % 4 > Math.floor(i / 4)) {
        assert.ok(Number.isNaN(m.values[i]) && m.masked(Math.floor(i / 4), i % 4));
      } else {
        assert.deepEqual([inA[i], inB[i]], [first.values[i], second.values[i]]);
        assert.equal(m.values[i], Math.fround(second.values[i] - first.values[i]));
      }
    }
    const same = compareTables(first, first, piecePairs([a, a], pairs, kind, "pieces"));
    assert.ok(same.m.values.every((value) => Number.isNaN(value) || value === 0));
  }
});

test("a scale of differences is centred at zero and symmetric", () => {
  for (const scale of ["sqrt", "linear", "row"]) {
    for (const difference of [0, 0.1, 0.5, 1]) {
      const [positive, negative] = [difference, -difference].map((value) => divergingLevel(value, scale, 1));
      assert.ok(Math.abs(positive + negative - 255) <= 1, `${scale} ${difference}: ${positive} and ${negative}`);
    }
  }
});
