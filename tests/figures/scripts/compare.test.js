// Aligning two tables and subtracting them.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  alignEntries,
  compareTables,
  divergingLevel,
  headDifferences,
  piecePairs,
} from "../../../transformer/client/views/compare/compare-tables.js";
import { matrixOf } from "../../../transformer/client/common/matrix.js";
import { near, random, side, STATE } from "./fixtures.js";

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

const GAPS = [[0, 0], [1, null], [null, 1], [2, 2], [3, 3]]; // the second token of each side is in no other

test("a token that only one side has is named after it, and its cells have no difference", () => {
  const [a, b] = [side(1), side(2)].map((data) => matrixOf(data, { ...STATE, kind: "encoder" }));
  const { m, inA, inB } = compareTables(a, b, { rows: GAPS, columns: GAPS });
  assert.deepEqual(m.rows.map(({ text }) => /\(([AB])\)$/.exec(text)?.[1]), [
    undefined,
    "A",
    "B",
    undefined,
    undefined,
  ]);
  for (const [r, [i, j]] of GAPS.entries()) {
    for (const [c, [k, l]] of GAPS.entries()) {
      const expectedA = i === null || k === null ? NaN : a.values[4 * i + k];
      const expectedB = j === null || l === null ? NaN : b.values[4 * j + l];
      assert.deepEqual([inA[5 * r + c], inB[5 * r + c]], [expectedA, expectedB]);
      assert.equal(Number.isNaN(m.values[5 * r + c]), Number.isNaN(expectedA + expectedB));
    }
  }
});

test("heads are compared by their mean difference in the cells that both sides have", () => {
  const sides = [side(1), side(2)].map((data) => ({
    ...data,
    thumb: (kind, layer, head) => {
      const { values } = data.weights(kind, layer, head);
      return { height: 4, width: 4, values: Uint8Array.from(values, (w) => Math.round(255 * Math.sqrt(w))) };
    },
  }));
  const pairs = { src_tokens: [0, 1, 2, 3].map((i) => [i, i]), tgt_tokens: GAPS };
  for (const kind of ["encoder", "decoder", "cross"]) {
    const [rows, columns] = [kind !== "encoder", kind === "decoder"].map((gap) => gap ? [0, 2, 3] : [0, 1, 2, 3]);
    const { heads } = headDifferences(
      /** @type {any} */ (sides),
      /** @type {any} */ (pairs),
      /** @type {any} */ (kind),
    );
    assert.equal(heads.length, 6);
    for (const { layer, head, mean } of heads) {
      const [a, b] = sides.map((data) => data.weights(kind, layer, head).values);
      const differences = rows.flatMap((r) =>
        columns.filter((c) => kind !== "decoder" || c <= r).map((c) => Math.abs(b[4 * r + c] - a[4 * r + c]))
      );
      const expected = differences.reduce((sum, value) => sum + value) / differences.length;
      assert.ok(near(mean, expected, 0.005), `${kind} ${layer}.${head}: ${mean}, not ${expected}`);
    }
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
