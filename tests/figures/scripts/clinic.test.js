// The Bug clinic: its cases' data and PyTorch files. clinic-cases.js trains them.

import assert from "node:assert/strict";
import { checkCase, pytorchFile, sourceLines } from "../../../transformer/figures/browser/clinic/case.js";
import { CASES } from "../../../transformer/figures/browser/clinic/cases.js";
import { learningRate } from "../../../transformer/figures/browser/training/optimizer.js";
import { DEFAULTS } from "../../../transformer/figures/browser/training/settings.js";

Deno.test("every case is complete, and its file differs from the right one in one line", () => {
  assert.ok(CASES.length >= 8);
  assert.equal(new Set(CASES.map(({ id }) => id)).size, CASES.length);
  for (const given of CASES) {
    checkCase(given);
    const [broken, right] = [given.wrong, given.right].map((line) => pytorchFile(given, line).split("\n"));
    assert.ok(broken.length <= 200);
    assert.equal(broken.length, right.length);
    assert.deepEqual(broken.filter((line, i) => line !== right[i]), [given.wrong]);
    assert.ok(sourceLines(given, given.wrong).length <= 111);
    assert.equal(sourceLines(given, given.wrong).filter((line) => line === given.wrong).length, 1);
    assert.equal(new Set([given.wrong, given.right, ...given.others.map(({ line }) => line)]).size, 4);
  }
});

Deno.test("an incomplete case is refused by name", () => {
  const [given] = CASES;
  const refused = {
    "perfect_loss has no hints": { hints: [] },
    "perfect_loss has no mistake": { mistake: undefined },
    "A perfect loss has no id": { id: undefined },
    "has 2 hints": { hints: ["a", "b"] },
    "has evidence in nowhere": { evidence: [{ view: "nowhere", cells: "" }] },
    "has nothing as evidence": { evidence: [{ view: "decoder", cells: "nothing" }] },
    "fault is typo": { broken: { fault: "typo" } },
    "0 times in its file": { right: "no such line" },
  };
  for (const [message, change] of Object.entries(refused)) {
    assert.throws(() => checkCase({ ...given, ...change }), (error) => error.message.includes(message), message);
  }
});

Deno.test("without a warm-up the first learning rates are the highest", () => {
  const rates = (warmup) => [1, 25, 100].map((step) => learningRate(step, { ...DEFAULTS, cooldown: 0 }, warmup));
  assert.deepEqual(rates("linear"), [0.00003, 0.00075, 0.003]);
  assert.deepEqual(rates("constant"), [0.003, 0.003, 0.003]);
  assert.deepEqual(rates("none"), [0.03, 0.006, 0.003]);
});
