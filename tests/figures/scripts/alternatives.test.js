// The alternatives of a translation can be stopped between any two steps of the decoder.

import assert from "node:assert/strict";
import { test } from "node:test";

import { wordAlternatives } from "../../../transformer/client/trace/alternatives.js";

const PIECES = ["<pad>", "<s>", "</s>", "<unk>", "▁cat", "▁dog", "▁bird", "s"];

test("at most one step of the decoder runs between two yields", () => {
  let steps = 0;
  const model = {
    config: { pad_id: 0, bos_id: 1, unk_id: 3 },
    decode: () => ({ states: steps += 1, cache: {} }),
    project: () => ({ values: Float32Array.from(PIECES, (piece) => (piece === "s" ? 9 : 0)) }), // every word goes on
  };
  const chosen = { id: 4, token: "▁cat", probability: 0.4 };
  const others = [5, 6].map((id) => ({ id, token: PIECES[id], probability: 0.3 }));
  const trace = {
    predictedTokens: ["▁cat", "</s>"],
    steps: [{ candidates: [chosen, ...others], chosen }, {
      candidates: [],
      chosen: { id: 2, token: "</s>", probability: 1 },
    }],
    caches: [{}, {}],
  };
  const search = wordAlternatives({ model, vocabulary: { pieces: PIECES.map((text) => ({ text })) } }, trace);
  let yields = 0;
  while (!search.next().done) {
    assert.ok(steps <= yields, `${steps} steps before yield ${yields + 1}`);
    yields += 1;
  }
  assert.equal(steps, yields);
  assert.ok(steps > 10);
});
