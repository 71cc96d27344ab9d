// Codes of heads, and which heads a click on a grid switches.

import assert from "node:assert/strict";
import { test } from "node:test";

import { codeOfHead, codesOf, headOfCode, toggled } from "../../../transformer/client/common/head-codes.js";
import { placeName } from "../../../transformer/client/views/grids/all-heads.js";

test("a code names the head that it is made of", () => {
  for (const head of [{ kind: "encoder", layer: 3, head: 2 }, { kind: "cross", layer: 0, head: 10 }]) {
    assert.deepEqual(headOfCode(codeOfHead(head)), head);
  }
});

test("an edge of the grid stands for all heads of its layer, its column or its kind", () => {
  const codes = (layer, head) => codesOf({ kind: "decoder", layer, head }, 2, 3);
  assert.deepEqual(codes(1, 2), ["d1.2"]);
  assert.deepEqual(codes(1, null), ["d1.0", "d1.1", "d1.2"]);
  assert.deepEqual(codes(null, 0), ["d0.0", "d1.0"]);
  assert.equal(new Set(codes(null, null)).size, 6);
});

test("a click switches all of its heads off, or on if all of them are off", () => {
  const off = new Set(["c0.0", "e1.1"]);
  assert.deepEqual(toggled(off, ["c0.0", "c0.1"]), new Set(["c0.0", "e1.1", "c0.1"]));
  assert.deepEqual(toggled(off, ["c0.0"]), new Set(["e1.1"]));
  assert.deepEqual(off, new Set(["c0.0", "e1.1"]), "the set that was given does not change");
});

test("each place of the grid has a name", () => {
  const name = (layer, head, withKind) => placeName({ kind: "cross", layer, head }, withKind);
  assert.equal(name(1, 2), "layer 2, head 3");
  assert.equal(name(1, null), "layer 2");
  assert.equal(name(null, 2, true), "Cross-attention, head 3 of every layer");
  assert.equal(name(null, null), "Cross-attention");
});
