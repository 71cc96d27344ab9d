// A pinned word in every head, compared with known weights.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  attentionText,
  pinnableWords,
  pinnedTokens,
  pinnedWord,
  pinOf,
  positionsIn,
  strongestAttention,
  strongestHeads,
  wordAt,
} from "../../../transformer/client/views/explorer/pins.js";
import { matrixOf } from "../../../transformer/client/common/matrix.js";
import { pinWeights as weightsOfPins } from "../../../transformer/client/trace/explorer-data.js";
import { near, NEXT, side, SRC, STATE, TGT } from "./fixtures.js";

// Every weight is unique: that of word w in head i of six.
const weightOf = (way, i, w) => ((100 * (way === "to" ? 1 : 2) + 10 * i + w) / 1000) ** 2;
const pinWeights = (way) => ({
  words: 3,
  others: Uint16Array.from({ length: 18 }, (_, index) => index % 2),
  weights: Float64Array.from({ length: 18 }, (_, index) => weightOf(way, Math.floor(index / 3), index % 3)),
});
const directions = { to: pinWeights("to"), from: pinWeights("from") };
const SIDE = { ...side(), pinWeights: { encoder: directions, decoder: directions, cross: directions } };
const CATS = pinnedWord(SIDE, "s2");

test("words can be pinned by any of their pieces, punctuation cannot", () => {
  assert.deepEqual(pinnableWords(SIDE).map(({ sentence, label }) => sentence + label), [
    "sthe",
    "scats",
    "tles",
    "tchats",
  ]);
  assert.equal(CATS.label, "cats");
  assert.equal(pinOf(CATS), "s1");
  for (const pin of ["", "s3", "t0", "s9", "t99"]) assert.equal(pinnedWord(SIDE, pin), null);
  const encoderOnly = { ...SIDE, kinds: ["encoder"] };
  assert.deepEqual(pinnableWords(encoderOnly).map(({ sentence }) => sentence), ["s", "s"]);
});

test("a source word is not in decoder self-attention, nor a target word in the encoder's", () => {
  assert.deepEqual(positionsIn(SIDE, CATS, "both"), [["encoder", ["to", "from"]], ["cross", ["to"]]]);
  assert.deepEqual(positionsIn(SIDE, CATS, "from"), [["encoder", ["from"]]]);
  assert.deepEqual(positionsIn(SIDE, pinnedWord(SIDE, "t1"), "both"), [["decoder", ["to", "from"]], ["cross", [
    "from",
  ]]]);
});

test("the stronger direction counts, and the strongest heads come first", () => {
  const all = strongestAttention(SIDE, STATE, CATS, "encoder", ["to", "from"]);
  assert.equal(all.length, 6);
  assert.deepEqual(all.map(({ way }) => way), Array(6).fill("from"));
  assert.ok(Math.abs(all[3].weight - 0.231 ** 2) < 1e-12);
  const strongest = strongestHeads(SIDE, { ...STATE, way: "to" }, CATS, 3);
  assert.deepEqual(strongest.map(({ kind, layer, head }) => [kind, layer, head]), [["encoder", 1, 2], ["cross", 1, 2], [
    "encoder",
    1,
    1,
  ]]);
});

test("a target word's row is that of the piece before it", () => {
  const [first] = strongestAttention(SIDE, STATE, pinnedWord(SIDE, "t1"), "cross", ["from"]);
  assert.ok(Math.abs(first.weight - 0.2 ** 2) < 1e-12); // word 0 of the output
  assert.equal(first.other, "the");
  const state = { ...STATE, way: "both" };
  assert.deepEqual(pinnedTokens(SIDE, { ...state, kind: "cross", pin: "t3" }), ["q1", "q2"]);
  assert.deepEqual(pinnedTokens(SIDE, { ...state, kind: "cross", pin: "s1" }), ["k1", "k2"]);
  assert.deepEqual(pinnedTokens(SIDE, { ...state, kind: "encoder", pin: "s0" }), ["k0", "q0"]);
  assert.deepEqual(pinnedTokens(SIDE, { ...state, kind: "decoder", pin: "s0" }), []);
  assert.deepEqual(pinnedTokens(SIDE, { ...state, pin: "" }), []);
});

test("the text names the attending word first", () => {
  const attention = { kind: "encoder", layer: 0, head: 0, weight: 0.5, way: "to", other: "red" };
  const hat = /** @type {const} */ ({ label: "hat", sentence: "s" });
  assert.deepEqual(attentionText(attention, hat).map(([text]) => text), ["red", "attends to", "hat"]);
  assert.deepEqual(attentionText({ ...attention, way: "from" }, hat).map(([text]) => text), [
    "hat",
    "attends to",
    "red",
  ]);
  assert.equal(attentionText({ ...attention, weight: 0 }, hat)[0][1], "");
});

test("the numbers of a pinned word are those of the rows that are drawn, for random weights", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const sentence = side(seed);
    const trace = {
      n_heads: 3,
      config: { n_layers: 2 },
      depths: sentence.depths,
      srcTokens: SRC.tokens,
      tgtTokens: TGT.tokens,
      predictedTokens: NEXT.tokens,
      weights: (kind, layer) => ({
        shape: [3, 4, 4],
        values: Float32Array.from([0, 1, 2].flatMap((head) => [...sentence.weights(kind, layer, head).values])),
      }),
    };
    const drawn = {
      ...SIDE,
      weights: sentence.weights,
      pinWeights: { cross: weightsOfPins(trace, "cross") },
      readPinWeights: { cross: weightsOfPins(trace, "cross", true) },
    };
    for (const word_row of ["output", "input"]) {
      for (const [pin, label] of [["t1", "les"], ["t2", "chats"]]) {
        const state = { ...STATE, kind: "cross", exact: 0, word_row, pin };
        const attention = strongestAttention(drawn, state, pinnedWord(drawn, pin), "cross", ["from"]);
        for (const { layer, head, weight, other } of attention) {
          const { rows, columns, nColumns, values } = matrixOf(drawn, { ...state, layer, head });
          const named = (name) => ({ text }) => text.replaceAll("▁", "") === name;
          const row = rows.findIndex(named(label));
          const column = columns.findIndex(named(other));
          assert.ok(near(values[row * nColumns + column], weight), `${word_row} ${label} ${layer}.${head}`);
          const marked = rows[row].members.map((position) => `q${position}`);
          assert.deepEqual(pinnedTokens(drawn, { ...state, layer, head }).filter((name) => name[0] === "q"), marked);
          assert.equal(wordAt(drawn, state, "q", rows[row].members[0]).label, label);
        }
      }
    }
  }
});
