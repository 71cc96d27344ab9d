// The Bug clinic: its cases' data, PyTorch files and points. clinic-cases.js trains them.

import assert from "node:assert/strict";
import { offersOf, pytorchFile, sourceLines } from "../../../transformer/client/app/clinic/case.js";
import { CASES } from "../../../transformer/client/app/clinic/cases.js";
import { SIGNS, VIEWS } from "../../../transformer/client/app/clinic/evidence.js";
import { makeResult, pointsOf, readResult } from "../../../transformer/client/app/clinic/result.js";
import { learningRate } from "../../../transformer/client/training/optimizer.js";
import { completeSettings, DEFAULTS } from "../../../transformer/client/training/settings.js";

// Words that would tell a mistake, beside those of its own name.
const TELLING = {
  three_models: ["order", "place", "bag"],
  stuck_wide_head: ["d_k", "wide", "head", "scale", "large", "saturated", "softmax"],
  deaf_layers: ["layer", "through", "skip", "add", "deep"],
  thrown_out: ["rate", "start", "first", "adam", "schedule"],
};
const COMMON = ["model", "letters", "writes", "right", "does", "they", "when"];

Deno.test("every case is complete, and each of its lines is there once in the file with the mistake", () => {
  assert.ok(CASES.length >= 8);
  assert.equal(new Set(CASES.map(({ id }) => id)).size, CASES.length);
  for (const given of CASES) {
    const { sites, statements } = given;
    for (const field of ["title", "symptom", "mistake", "explanation"]) {
      assert.ok(given[field], `${given.id}: ${field}`);
    }
    assert.equal(given.hints.length, 3);
    for (const { view, cells } of given.evidence) {
      assert.ok(view in VIEWS && (cells === "" || cells in SIGNS), given.id);
    }
    assert.equal(sites.length > 0, !statements);
    if (statements) assert.equal(statements.filter(({ isRight }) => isRight).length, 1);
    for (const site of sites) {
      const offers = offersOf(site);
      for (const { settings } of offers) completeSettings({ ...given.settings, ...settings });
      assert.equal(new Set([site.wrong, ...offers.map(({ line }) => line)]).size, offers.length + 1);
      assert.ok(sourceLines(given).length <= 40);
      assert.equal(sourceLines(given).filter((line) => line === site.wrong).length, 1, `${given.id}: ${site.wrong}`);
      assert.ok(pytorchFile(given, site, site.right[0]).split("\n").length <= 200);
    }
  }
});

Deno.test("a symptom does not tell the mistake", () => {
  for (const { id, title, symptom, mistake } of CASES) {
    const own = mistake.toLowerCase().split(/[^\p{L}_√]+/u).filter((word) => word.length > 3 && !COMMON.includes(word));
    const text = `${title} ${symptom}`.toLowerCase();
    for (const word of [...own, ...(TELLING[id] ?? [])]) {
      assert.ok(!new RegExp(`(?<![a-z])${word}`).test(text), `${id}: “${word}” is in “${text}”`);
    }
  }
});

Deno.test("a case whose line is not in the file is refused by name", () => {
  const [given] = CASES.filter(({ sites }) => sites.length);
  const message = /The line no such line of the case perfect_loss is 0 times in its file/;
  assert.throws(() => pytorchFile(given, { ...given.sites[0], wrong: "no such line" }, "other"), message);
});

Deno.test("wrong attempts and hints cost a point each, and a changed result is refused", () => {
  const attempts = { vagueMarks: 3, wrongMarks: 1, wrongLines: 2, wrongCorrections: 1, hints: 1 };
  assert.equal(pointsOf(attempts), 5);
  assert.equal(pointsOf({ ...attempts, wrongLines: 20 }), 1);
  const solved = { id: "perfect_loss", expected: "decoder", evidence: "row 2", ...attempts, seconds: 90, points: 5 };
  const result = makeResult("Ada", [solved]);
  assert.deepEqual(readResult(JSON.stringify(result)), result);
  const refused = /was changed after it was saved/;
  assert.throws(() => readResult(JSON.stringify({ ...result, name: "Bob" })), refused);
  for (const changed of [{ points: 10 }, { hints: -1 }, { evidence: null }]) {
    assert.throws(() => readResult(JSON.stringify(makeResult("Ada", [{ ...solved, ...changed }]))), refused);
  }
  assert.throws(() => readResult(JSON.stringify(makeResult("Ada", [null]))), refused);
});

Deno.test("without a warm-up the first learning rates are the highest", () => {
  const rates = (warmup) => [1, 25, 100].map((step) => learningRate(step, { ...DEFAULTS, cooldown: 0 }, warmup));
  assert.deepEqual(rates("linear"), [0.00003, 0.00075, 0.003]);
  assert.deepEqual(rates("constant"), [0.003, 0.003, 0.003]);
  assert.deepEqual(rates("none"), [0.03, 0.006, 0.003]);
});
