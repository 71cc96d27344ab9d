// One weight worked out from vectors (eq. 1 of the paper), a beam's tree laid out, bytes unpacked.

import assert from "node:assert/strict";
import { test } from "node:test";

import { layoutTree, hypothesisText } from "../../../transformer/figures/browser/decoding-tree.js";
import { softmaxOf, workingOf } from "../../../transformer/figures/browser/querykey-working.js";
import { makeStore, unpack } from "../../../transformer/figures/browser/store.js";
import { near, random, side, STATE } from "./fixtures.js";

// Four queries and keys of eight numbers; scores, and what leaves the head, written out plainly.
function vectors(kind) {
  const draw = random(11);
  const part = (make, shape) => ({ shape, values: Float32Array.from({ length: shape[0] * shape[1] }, make) });
  const [query, key, value] = [0, 1, 2].map(() => part(() => draw() * 4 - 2, [4, 8]));
  const scores = part((_, i) => {
    const [r, c] = [Math.floor(i / 4), i % 4];
    if (kind === "decoder" && c > r) return -Infinity;
    let dot = 0;
    for (let d = 0; d < 8; d++) dot += query.values[8 * r + d] * key.values[8 * c + d];
    return dot / Math.sqrt(8);
  }, [4, 4]);
  return { query, key, value, scores, heads: part(() => 0, [4, 8]) };
}

test("the weights are a softmax over what may be seen", () => {
  const scores = Float32Array.from([1, 3, 2, 500]);
  const sum = Math.exp(1) + Math.exp(3) + Math.exp(2);
  softmaxOf(scores, 3).forEach((share, j) => assert.ok(near(share, j < 3 ? Math.exp(scores[j]) / sum : 0, 1e-12)));
  assert.ok(near(softmaxOf(scores, 4)[3], 1)); // no overflow
});

test("a query's calculation is that of the paper, whatever the mask", () => {
  for (const kind of ["cross", "decoder"]) {
    const given = vectors(kind);
    const one = { ...side(), score: "scaled_dot", vectors: () => given };
    for (let row = 0; row < 4; row++) {
      for (const column of [-1, 0, 3]) {
        const w = workingOf(one, { ...STATE, kind, row, column });
        const seen = kind === "decoder" ? row + 1 : 4;
        const powers = Array.from({ length: 4 }, (_, j) => (j < seen ? Math.exp(given.scores.values[4 * row + j]) : 0));
        const sum = powers.reduce((a, b) => a + b);
        w.shares.forEach((share, j) => assert.ok(near(share, powers[j] / sum)));
        assert.equal(w.column, column < 0 ? powers.indexOf(Math.max(...powers)) : column);
        if (w.column < seen) assert.ok(near(w.score, given.scores.values[4 * row + w.column], 1e-5));
        for (let d = 0; d < 8; d++) {
          const out = powers.reduce((total, power, j) => total + (power / sum) * given.value.values[8 * j + d], 0);
          assert.ok(near(w.output[d], out, 1e-5));
        }
        assert.deepEqual([...new Set([...w.listed, ...w.others])].sort(), [...Array(seen).keys()]);
      }
    }
  }
  assert.equal(workingOf({ ...side(), vectors: () => null }, STATE), null);
});

const TREE = {
  parent: [null, 0, 0, 1, 1, 2], depth: [0, 1, 1, 2, 2, 2], token: ["<s>", "▁a", "▁b", "c", "</s>", "d"],
  score: [0, -1, -2, -3, -1.5, -2.5], status: ["kept", "kept", "kept", "discarded", "finished", "kept"],
  best: [true, true, false, false, true, false], probability: [1, 0.6, 0.3, 0.1, 0.5, 0.2], id: [0, 1, 2, 3, 4, 5],
};

test("a tree's branches do not cross, and what is folded is counted at its parent", () => {
  const open = layoutTree(TREE, false, false);
  assert.deepEqual(open.columns, [[0], [1, 2], [4, 3, 5]]);
  for (const column of open.columns.slice(1)) {
    const rows = column.map((i) => open.rowOf.get(TREE.parent[i]));
    assert.deepEqual(rows, [...rows].sort((a, b) => a - b));
  }
  const folded = layoutTree(TREE, true, false);
  assert.deepEqual([folded.columns[2], [...folded.hidden]], [[4, 5], [[1, 1]]]);
  assert.equal(hypothesisText(TREE, 4), "a");
  assert.equal(hypothesisText(TREE, 5), "bd");
});

// As figures/packing.py describes it: a magic word, a header, blocks filled up to eight bytes.
function packed(header, parts) {
  let start = 0;
  const metas = parts.map(({ name, type, shape, top, values }) => {
    const meta = { name, type, shape, top, start };
    start += Math.ceil(values.byteLength / 8) * 8;
    return meta;
  });
  const text = new TextEncoder().encode(JSON.stringify({ ...header, parts: metas }));
  const length = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(3 + 8 + length + start).subarray(3); // not aligned, as Streamlit's are not
  bytes.fill(32, 8, 8 + length);
  bytes.set(new TextEncoder().encode("HUA2"));
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(4, length, true);
  bytes.set(text, 8);
  parts.forEach(({ values }, i) => bytes.set(new Uint8Array(values.buffer), 8 + length + metas[i].start));
  return bytes;
}

test("bytes are unpacked to the arrays that they hold, and levels to weights", () => {
  const levels = Uint16Array.from([0, 65535, 32768, 100, 7, 9, 11, 13]);
  const parts = [
    { name: "0.weights.cross.1", type: "u2", shape: [2, 2, 2], top: 65535, values: levels },
    { name: "0.thumbs.cross", type: "u1", shape: [1, 1, 1, 3], top: 255, values: Uint8Array.from([1, 2, 3]) },
    { name: "x", type: "f4", shape: [2], top: 0, values: Float32Array.from([0.5, -2]) },
  ];
  const bytes = packed({ sides: [{ id: "é" }], pairs: null }, parts);
  const found = unpack(bytes);
  assert.equal(found.header.sides[0].id, "é");
  for (const { name, values } of parts) assert.deepEqual(found.parts.get(name).values, values);
  const store = makeStore(() => {});
  assert.equal(store.load(bytes).isSameTrace, false);
  assert.equal(store.load(bytes).isSameTrace, true);
  const { values } = store.sides[0].weights("cross", 1, 0);
  values.forEach((weight, i) => assert.ok(near(weight, (levels[i] / 65535) ** 2)));
  assert.equal(store.sides[0].weights("cross", 0, 0), null);
});

test("what a file holds is unpacked once, when it is first missed, and then drawn", async () => {
  const drawn = [];
  const store = makeStore(() => drawn.push("again"));
  store.load(packed({ sides: [{ id: "a" }], pairs: null }, []));
  let brought = 0;
  store.later.set("0.weights.cross.0", () => {
    brought++;
    return Promise.resolve({ shape: [1, 1, 1], top: 255, values: Uint8Array.from([255]) });
  });
  assert.equal(store.sides[0].weights("cross", 0, 0), null);
  assert.equal(store.sides[0].weights("cross", 0, 0), null);
  await new Promise((done) => setTimeout(done));
  assert.deepEqual([brought, drawn], [1, ["again"]]);
  assert.equal(store.sides[0].weights("cross", 0, 0).values[0], 1);
});
