// The Bug clinic: its cases' data and PyTorch files. clinic-cases.js trains them.

import assert from "node:assert/strict";
import { offersOf, pytorchFile, sourceLines } from "../../../transformer/client/app/clinic/case.js";
import { CASES } from "../../../transformer/client/app/clinic/cases.js";
import { PREDICATES, VIEWS } from "../../../transformer/client/app/clinic/evidence.js";
import { learningRate } from "../../../transformer/client/training/optimizer.js";
import { completeSettings, DEFAULTS } from "../../../transformer/client/training/settings.js";

Deno.test("every case is complete, and its file differs from the right one in one line", () => {
  assert.ok(CASES.length >= 8);
  assert.equal(new Set(CASES.map(({ id }) => id)).size, CASES.length);
  for (const given of CASES) {
    for (const [field, value] of Object.entries(given)) assert.ok(value && value.length !== 0, `${given.id}: ${field}`);
    assert.equal(given.hints.length, 3);
    for (const { view, cells } of given.evidence) assert.ok(view in VIEWS && cells in PREDICATES, given.id);
    for (const { settings } of offersOf(given)) completeSettings({ ...given.settings, ...settings });
    const [broken, right] = [given.wrong, given.right].map((line) => pytorchFile(given, line).split("\n"));
    assert.ok(broken.length <= 200);
    assert.equal(broken.length, right.length);
    assert.deepEqual(broken.filter((line, i) => line !== right[i]), [given.wrong]);
    assert.ok(sourceLines(given, given.wrong).length <= 111);
    assert.equal(sourceLines(given, given.wrong).filter((line) => line === given.wrong).length, 1);
    assert.equal(new Set([given.wrong, given.right, ...given.others.map(({ line }) => line)]).size, 4);
  }
});

Deno.test("a case whose line is not in the file is refused by name", () => {
  const message = /perfect_loss is 0 times in its file/;
  assert.throws(() => pytorchFile({ ...CASES[0], right: "no such line" }, CASES[0].wrong), message);
});

Deno.test("without a warm-up the first learning rates are the highest", () => {
  const rates = (warmup) => [1, 25, 100].map((step) => learningRate(step, { ...DEFAULTS, cooldown: 0 }, warmup));
  assert.deepEqual(rates("linear"), [0.00003, 0.00075, 0.003]);
  assert.deepEqual(rates("constant"), [0.003, 0.003, 0.003]);
  assert.deepEqual(rates("none"), [0.03, 0.006, 0.003]);
});
