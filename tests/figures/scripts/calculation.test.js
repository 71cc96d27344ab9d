// One weight computed from vectors (eq. 1 of the paper), the layout of a beam search tree, and unpacking.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hypothesisText, layoutTree } from "../../../transformer/client/views/decoding/decoding-tree.js";
import {
  calculationOf,
  calculationSteps,
  softmaxOf,
} from "../../../transformer/client/views/querykey/querykey-calculation.js";
import { makeStore } from "../../../transformer/client/views/explorer/store.js";
import { unpack } from "../../../transformer/client/trace/packing.js";
import { near, random, side, SRC, STATE } from "./fixtures.js";

// Four queries and keys with eight dimensions, and their scores.
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

test("the weights are a softmax over the visible keys", () => {
  const scores = Float32Array.from([1, 3, 2, 500]);
  const sum = Math.exp(1) + Math.exp(3) + Math.exp(2);
  softmaxOf(scores, 3).forEach((share, j) => assert.ok(near(share, j < 3 ? Math.exp(scores[j]) / sum : 0, 1e-12)));
  assert.ok(near(softmaxOf(scores, 4)[3], 1)); // no overflow
});

test("the view opens with a word that clearly prefers another word", () => {
  const scoresOf = (rows) => ({ shape: [rows.length, rows[0].length], values: Float32Array.from(rows.flat()) });
  const headVectors = {
    ...vectors("encoder"),
    scores: scoresOf([[9, 0, 0, 0], [0, 0, 0, 0], [2.2, 0, 0, 0], [0, 0, 0, 9]]),
  };
  const traced = { ...side(), score: "scaled_dot", vectors: () => headVectors };
  assert.equal(calculationOf(traced, { ...STATE, kind: "encoder", row: -1, column: -1 }).row, 2);
  assert.equal(calculationOf(traced, { ...STATE, kind: "encoder", row: 0, column: -1 }).row, 0);
});

test("the calculation follows eq. 1, with and without a mask", () => {
  for (const kind of ["cross", "decoder"]) {
    const headVectors = vectors(kind);
    const traced = { ...side(), score: "scaled_dot", vectors: () => headVectors };
    for (let row = 0; row < 4; row++) {
      for (const column of [-1, 0, 3]) {
        const w = calculationOf(traced, { ...STATE, kind, row, column });
        const visibleCount = kind === "decoder" ? row + 1 : 4;
        const exponentials = Array.from(
          { length: 4 },
          (_, j) => (j < visibleCount ? Math.exp(headVectors.scores.values[4 * row + j]) : 0),
        );
        const sum = exponentials.reduce((a, b) => a + b);
        w.shares.forEach((share, j) => assert.ok(near(share, exponentials[j] / sum)));
        assert.equal(w.column, column < 0 ? exponentials.indexOf(Math.max(...exponentials)) : column);
        if (w.column < visibleCount) assert.ok(near(w.score, headVectors.scores.values[4 * row + w.column], 1e-5));
        for (let d = 0; d < 8; d++) {
          const out = exponentials.reduce(
            (total, exponential, j) => total + (exponential / sum) * headVectors.value.values[8 * j + d],
            0,
          );
          assert.ok(near(w.output[d], out, 1e-5));
        }
        assert.deepEqual([...new Set([...w.listed, ...w.others])].sort(), [...Array(visibleCount).keys()]);
      }
    }
  }
  assert.equal(calculationOf({ ...side(), vectors: () => null }, STATE), null);
});

// A head whose weights and output follow from its vectors; `change` is added to its output.
function tracedHead(score, change = 0) {
  const { scores, value, ...others } = vectors("cross");
  const values = scores.values.map((x) => (score === "dot" ? x * Math.sqrt(8) : x));
  const shares = [0, 1, 2, 3].map((row) => softmaxOf(values.subarray(4 * row, 4 * row + 4), 4));
  const outputs = shares.flatMap((row) =>
    Array.from({ length: 8 }, (_, d) => row.reduce((sum, share, j) => sum + share * value.values[8 * j + d], change))
  );
  const heads = { shape: [4, 8], values: Float32Array.from(outputs) };
  const headVectors = { ...others, value, scores: { ...scores, values }, heads };
  const weights = { values: Float32Array.from(shares.flatMap((row) => [...row])), top: 65535 };
  const labels = { rows: { names: SRC.tokens }, columns: { names: SRC.tokens } };
  return { ...side(), score, vectors: () => headVectors, weights: () => weights, labels: () => labels };
}

test("each score function has its steps, checked against the trace", () => {
  const state = { ...STATE, row: 2, column: 1 };
  const stepsOf = (traced) => calculationSteps(calculationOf(traced, state), traced);
  for (const [score, checks] of [["scaled_dot", ["q·k/√d_k"]], ["dot", ["q·k"]], ["additive", []]]) {
    const traced = tracedHead(score);
    const checked = stepsOf(traced).flatMap(({ check }) => check ? [check] : []);
    assert.deepEqual(checked.map(({ text }) => text.split(" computed")[0]), [...checks, "softmax", "Σ α·v"]);
    assert.ok(checked.every(({ matches }) => matches), score);
    const { query, key } = traced.vectors();
    calculationOf(traced, state).product.forEach((x, d) => {
      const [q, k] = [query.values[16 + d], key.values[8 + d]];
      assert.ok(near(x, score === "additive" ? Math.tanh(q + k) : q * k));
    });
  }
  assert.equal(stepsOf(tracedHead("scaled_dot", 0.5)).at(-1).check.matches, false);
});

const TREE = {
  parent: [null, 0, 0, 1, 1, 2],
  depth: [0, 1, 1, 2, 2, 2],
  token: ["<s>", "▁a", "▁b", "c", "</s>", "d"],
  score: [0, -1, -2, -3, -1.5, -2.5],
  status: ["kept", "kept", "kept", "discarded", "finished", "kept"],
  best: [true, true, false, false, true, false],
  probability: [1, 0.6, 0.3, 0.1, 0.5, 0.2],
  id: [0, 1, 2, 3, 4, 5],
};

test("a tree's branches do not cross, and folded branches are counted at their parent", () => {
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

const DESCRIPTION = {
  id: "a",
  kinds: ["cross"],
  depths: { cross: 2 },
  n_heads: 1,
  src: ["▁a", "</s>"],
  tgt: ["<s>", "▁b"],
  predicted: ["▁b", "</s>"],
  steps: [],
};

// Pack as figures/packing.py does: a magic word, a header, and blocks padded to eight bytes.
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

test("bytes are unpacked to their arrays, and levels to weights", () => {
  const levels = Uint16Array.from([0, 65535, 32768, 100, 7, 9, 11, 13]);
  const parts = [
    { name: "0.weights.cross.0", type: "u2", shape: [2, 2, 2], top: 65535, values: levels },
    { name: "0.weights.cross.1", type: "u1", shape: [1, 1, 3], top: 255, values: Uint8Array.from([1, 2, 3]) },
    { name: "x", type: "f4", shape: [2], top: 0, values: Float32Array.from([0.5, -2]) },
  ];
  const bytes = packed({ sides: [{ ...DESCRIPTION, id: "é" }] }, parts);
  const unpacked = unpack(bytes);
  assert.equal(unpacked.header.sides[0].id, "é");
  for (const { name, values } of parts) assert.deepEqual(unpacked.parts.get(name).values, values);
  const store = makeStore(() => {});
  assert.equal(store.load(bytes).isSameTrace, false);
  assert.equal(store.load(bytes).isSameTrace, true);
  const { values } = store.sides[0].weights("cross", 0, 0);
  values.forEach((weight, i) => assert.ok(near(weight, (levels[i] / 65535) ** 2)));
});

test("a later part is loaded once, when it is first needed, and then drawn", async () => {
  const redraws = [];
  const store = makeStore(() => redraws.push("redraw"));
  store.load(packed({ sides: [DESCRIPTION] }, []));
  let loadCount = 0;
  for (const name of ["query", "key", "value", "scores", "heads"]) {
    store.laterParts.set(`0.${name}.cross.0.0`, () => {
      loadCount++;
      return Promise.resolve({ shape: [1, 1], top: 0, values: Float32Array.from([0.5]) });
    });
  }
  assert.equal(store.sides[0].vectors("cross", 0, 0), null);
  assert.equal(store.sides[0].vectors("cross", 0, 0), null);
  await new Promise((done) => setTimeout(done));
  assert.deepEqual([loadCount, redraws.length], [5, 5]);
  assert.equal(store.sides[0].vectors("cross", 0, 0).query.values[0], 0.5);
});
