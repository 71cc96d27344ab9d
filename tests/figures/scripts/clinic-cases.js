// Trains every case of the Bug clinic: the broken model has the symptom and the evidence, the corrected one neither, and
// the other lines offered leave the symptom. Run by tests/figures/test_clinic.py; arguments are ids of cases, or none.

import assert from "node:assert/strict";
import { ILL, offersOf, settingsOf, WELL } from "../../../transformer/client/app/clinic/case.js";
import { CASES } from "../../../transformer/client/app/clinic/cases.js";
import { headOf, isEvidence } from "../../../transformer/client/app/clinic/evidence.js";
import { MAX_LEVEL, MAX_LOSS, SYMPTOM_INPUT, SYMPTOMS } from "../../../transformer/client/app/clinic/symptoms.js";
import { Run } from "../../../transformer/client/training/run.js";

const WRITINGS = 3;

function trained(settings) {
  const run = new Run({ settings });
  let record = null;
  const losses = [];
  while (run.step < run.settings.steps) {
    record = run.takeStep();
    losses.push(record.loss);
  }
  const { correct, count } = run.evaluate(200);
  const examples = run.observe(true);
  const writings = examples.map(({ src }) =>
    Array.from({ length: WRITINGS }, () => run.translate(src.slice(0, -1).join(" ")).output.join(" "))
  );
  const { output } = run.translate(SYMPTOM_INPUT);
  const written = output.filter((token) => token !== "</s>").join(" ");
  return { share: correct / count, record, examples, writings, losses, written };
}

// The curve of a picture of a symptom is that of the run: means over equal parts of it, to one level.
function checkCurve(levels, losses) {
  const size = losses.length / levels.length;
  [...levels].forEach((level, n) => {
    const part = losses.slice(Math.floor(n * size), Math.floor((n + 1) * size));
    const mean = part.reduce((sum, loss) => sum + loss, 0) / part.length;
    const expected = Math.min(MAX_LEVEL, (mean / MAX_LOSS) * MAX_LEVEL);
    assert.ok(Math.abs(parseInt(level, MAX_LEVEL + 1) - expected) <= 1, `part ${n}: the loss is ${mean}`);
  });
}

// All marks that a student can make in heads and outputs.
function allMarks(examples) {
  const outputs = examples.map((_, output) => ({ view: "outputs", output }));
  const cells = examples.flatMap((example, number) =>
    ["encoder", "decoder", "cross"].flatMap((view) =>
      Array.from({ length: example.layers * example.heads }, (_, n) => {
        const [layer, head] = [Math.floor(n / example.heads), n % example.heads];
        const { rows, columns } = headOf(example, view, layer, head);
        return rows.flatMap((_, row) =>
          columns.map((_, column) => ({ view, example: number, layer, head, row, column }))
        );
      }).flat()
    )
  );
  return [...outputs, ...cells];
}

for (const given of CASES.filter(({ id }) => Deno.args.length === 0 || Deno.args.includes(id))) {
  Deno.test(`the case ${given.id} has its symptom, and the right line removes it`, () => {
    const [wrong, right, ...others] = offersOf(given);
    const [ill, well] = [wrong, right].map(({ settings }) => trained(settingsOf(given, settings)));
    assert.ok(ill.share <= ILL, `${given.id}: ${ill.share} of the outputs are right with the mistake`);
    assert.ok(well.share >= WELL, `${given.id}: ${well.share} of the outputs are right without the mistake`);
    const { loss, correct, written } = SYMPTOMS[given.id];
    checkCurve(loss, ill.losses);
    checkCurve(correct, well.losses);
    if (given.id !== "two_minds") assert.equal(written, ill.written); // which writes by chance
    const evidenceOf = ({ examples, writings }) =>
      allMarks(examples).filter((mark) => isEvidence(given, mark, examples, writings));
    const [{ view, cells }] = given.evidence;
    if (cells || view === "outputs") {
      assert.ok(evidenceOf(ill).length >= 3, `${given.id}: ${evidenceOf(ill).length} marks are evidence`);
      assert.equal(evidenceOf(well).length, 0, `${given.id}: the corrected model has evidence of the mistake`);
    }
    if (view === "norm") assert.ok(ill.record.gradientNorm > 20 * well.record.gradientNorm);
    const seen = [JSON.stringify(wrong.settings)]; // the same settings give the same model
    for (const { line, settings } of others) {
      if (seen.includes(JSON.stringify(settings))) continue;
      seen.push(JSON.stringify(settings));
      const { share } = trained(settingsOf(given, settings));
      assert.ok(share <= ILL, `${given.id}: ${share} of the outputs are right with ${line}`);
    }
  });
}
