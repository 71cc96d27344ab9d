// The sentences about the effect of a change have the numbers that the table and the grid beside them draw.

import assert from "node:assert/strict";

import {
  greatestChange,
  greatestSentence,
  gridData,
  probabilityTexts,
} from "../../../transformer/client/app/try/off-effect.js";
import { fill } from "../../../transformer/client/common/sentences.js";
import { headName } from "../../../transformer/client/common/naming.js";
import { movedAttention, probabilityChanges } from "../../../transformer/client/trace/effect.js";
import { HeadWeights } from "../../../transformer/client/trace/head-weights.js";
import { random } from "./fixtures.js";

const KINDS = ["encoder", "decoder", "cross"];
const [HEADS, LAYERS, ROWS, KEYS] = [2, 3, 4, 5];

// A trace with random weights and probabilities; `like` is the trace whose tokens it has under a changed model.
function randomTrace(next, like = null) {
  const weights = new Map(KINDS.flatMap((kind) =>
    Array.from({ length: LAYERS }, (_, layer) => {
      const values = new Float32Array(HEADS * ROWS * KEYS);
      for (let row = 0; row < HEADS * ROWS; row++) {
        const raw = Array.from({ length: KEYS }, () => next() ** 3);
        const sum = raw.reduce((a, b) => a + b);
        raw.forEach((value, key) => values[row * KEYS + key] = value / sum);
      }
      return [`${kind}.${layer}`, new HeadWeights([HEADS, ROWS, KEYS], values)];
    })
  ));
  const steps = Array.from({ length: ROWS }, (_, i) => {
    const before = like?.steps[i].chosen.probability;
    const probability = before === undefined ? next() ** 4 : Math.min(1, before * (0.98 + 0.1 * next() ** 4));
    return { chosen: { id: i, token: `▁w${"abcd"[i]}`, probability }, candidates: [{ id: i }] };
  });
  return {
    kinds: KINDS,
    depths: { encoder: LAYERS, decoder: LAYERS, cross: LAYERS },
    weights: (kind, layer) => weights.get(`${kind}.${layer}`),
    steps,
  };
}

const numbersIn = (text) => text.match(/[<>]? ?\d+(?:\.\d+)?%/g)?.map((number) => number.trim()) ?? [];

Deno.test("the sentence about a token has the numbers of its row, which changes most", () => {
  const next = random(3);
  let named = 0;
  for (let i = 0; i < 300; i++) {
    const original = randomTrace(next);
    const rows = probabilityChanges(original, randomTrace(next, original));
    const sentence = fill(...greatestChange(rows));
    if (sentence.startsWith("Every")) {
      assert.ok(rows.every(({ before, after }) => Math.abs(before - after) < 0.005));
      continue;
    }
    named += 1;
    const size = ({ before, after }) => Math.abs(before - after);
    const greatest = rows.findIndex((row) => size(row) === Math.max(...rows.map(size)));
    const { token, before, after } = probabilityTexts(rows)[greatest];
    assert.ok(sentence.includes(`“${token}”`), sentence);
    assert.deepEqual(numbersIn(sentence), [before, after]);
    for (const [text, value] of [[before, rows[greatest].before], [after, rows[greatest].after]]) {
      if (!/[<>]/.test(text)) assert.ok(Math.abs(parseFloat(text) - 100 * value) <= 0.051, `${text} ${value}`);
    }
    assert.equal(sentence.includes("falls"), rows[greatest].after < rows[greatest].before);
  }
  assert.ok(named > 50);
});

Deno.test("the sentence about a head has the number that the grid writes on it", () => {
  const next = random(4);
  for (let i = 0; i < 50; i++) {
    const original = randomTrace(next);
    const moved = movedAttention(original, randomTrace(next));
    const greatest = moved.reduce((best, head) => head.share > best.share ? head : best);
    const sentence = greatestSentence(moved);
    assert.ok(sentence.includes(headName(greatest)), sentence);
    const { marks, descriptions } = gridData(moved, new URLSearchParams()).kinds[greatest.kind];
    const drawn = marks[greatest.layer][greatest.head];
    assert.deepEqual(numbersIn(sentence), [`${drawn}%`]);
    assert.ok(descriptions[greatest.layer][greatest.head].endsWith(`${drawn}%`));
    assert.ok(Math.abs(Number(drawn) - 100 * greatest.share) <= 0.5);
  }
});
