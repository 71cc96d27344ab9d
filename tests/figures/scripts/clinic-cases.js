// Trains every case of the Bug clinic, with the mistake and without: the symptom, what counts as evidence, and the other
// lines offered, which leave the symptom. Run by tests/figures/test_clinic.py; arguments are ids of cases, or none.

import assert from "node:assert/strict";
import { brokenModel, ILL, plansOf, settingsOf, WELL } from "../../../transformer/client/app/clinic/case.js";
import { CASES } from "../../../transformer/client/app/clinic/cases.js";
import { headOf, judge, SIGNS } from "../../../transformer/client/app/clinic/evidence.js";
import { MAX_LEVEL, MAX_LOSS, SYMPTOM_INPUT, SYMPTOMS } from "../../../transformer/client/app/clinic/symptoms.js";
import { Run } from "../../../transformer/client/training/run.js";

const WRITINGS = 3;
const KINDS = ["encoder", "decoder", "cross"];
const range = (count) => Array.from({ length: count }, (_, i) => i);
const wordsOf = (output) => output.filter((token) => token !== "</s>").join(" ");

function trained(settings) {
  const run = new Run({ settings });
  const [records, evaluations] = [[], []];
  while (run.step < run.settings.steps) {
    records.push(run.takeStep());
    if (run.step % 100 === 0) evaluations.push(run.evaluate(200));
  }
  const { correct, count } = evaluations.at(-1);
  const examples = run.observe(true);
  const writings = examples.map(({ src }) =>
    range(WRITINGS).map(() => wordsOf(run.translate(src.slice(0, -1).join(" ")).output))
  );
  const written = wordsOf(run.translate(SYMPTOM_INPUT).output);
  return { share: correct / count, records, evaluations, examples, writings, written };
}

// The curve of a picture of a symptom is that of the run: means over equal parts of it, to one level.
function checkCurve(levels, records) {
  const size = records.length / levels.length;
  [...levels].forEach((level, n) => {
    const part = records.slice(Math.floor(n * size), Math.floor((n + 1) * size));
    const mean = part.reduce((sum, { loss }) => sum + loss, 0) / part.length;
    const expected = Math.min(MAX_LEVEL, (mean / MAX_LOSS) * MAX_LEVEL);
    assert.ok(Math.abs(parseInt(level, MAX_LEVEL + 1) - expected) <= 1, `part ${n}: the loss is ${mean}`);
  });
}

// All marks that a student can make.
function allMarks(examples) {
  const curves = ["loss", "accuracy", "rate", "norm"].map((view) => ({ view }));
  const outputs = examples.map((_, example) => ({ view: "outputs", example }));
  const parts = examples.flatMap((given, example) =>
    KINDS.flatMap((view) =>
      range(given.layers * given.heads).flatMap((n) => {
        const place = { view, example, layer: Math.floor(n / given.heads), head: n % given.heads };
        const { rows, columns } = headOf(given, view, place.layer, place.head);
        const lines = [
          ...range(rows.length).map((row) => ({ row })),
          ...range(columns.length).map((column) => ({ column })),
        ];
        const cells = range(rows.length).flatMap((row) => range(columns.length).map((column) => ({ row, column })));
        return [...lines, ...cells].map((part) => ({ ...place, ...part }));
      })
    )
  );
  return [...curves, ...outputs, ...parts];
}

// Whether a head of this layer of the correct run has the same tokens and weights in these cells, to this difference.
function isInCorrectRun({ view, example, layer, head }, ill, well, isMarked, difference) {
  const marked = headOf(ill.examples[example], view, layer, head);
  return range(well.examples[example].heads).some((number) => {
    const other = headOf(well.examples[example], view, layer, number);
    return marked.rows.every((token, i) =>
      marked.columns.every((key, j) =>
        !isMarked(i, j) ||
        (token === other.rows[i] && key === other.columns[j] &&
          Math.abs(marked.at(i, j) - other.at(i, j)) <= difference)
      )
    );
  });
}

// Where a model shows a sign of the mistake.
function signsOf({ evidence }, { examples }) {
  return evidence.filter(({ view }) => KINDS.includes(view)).flatMap(({ view, cells: sign }) =>
    examples.flatMap((example, number) =>
      range(example.layers * example.heads).flatMap((n) => {
        const head = headOf(example, view, Math.floor(n / example.heads), n % example.heads);
        const shown = head.rows.flatMap((_, row) =>
          head.columns.filter((_, column) => SIGNS[sign].isShown(head, row, column, head, view))
        );
        return shown.length ? [`${sign}, example ${number}, ${view} head ${n}`] : [];
      })
    )
  );
}

// Proof differs from the correct run, which shows no sign of the mistake; what a correct model has is there in the correct run.
function checkJudgements(given, ill, well) {
  const counts = { proof: 0, vague: 0, normal: 0 };
  for (const mark of allMarks(ill.examples)) {
    const { verdict, text } = judge(given, mark, ill, well);
    counts[verdict]++;
    assert.match(text, /^[A-Z].*\.$/);
    if (!KINDS.includes(mark.view)) continue;
    const { row, column } = mark;
    const isMarked = (i, j) => i === (row ?? i) && j === (column ?? j);
    const isThere = isInCorrectRun(mark, ill, well, isMarked, 0.1);
    const lines = (i, j) => i === row || j === column; // a cell may be proof with its row or column
    if (verdict === "proof") assert.ok(!isInCorrectRun(mark, ill, well, lines, 0.005), JSON.stringify(mark));
    else assert.equal(verdict === "normal", isThere, JSON.stringify(mark));
  }
  assert.deepEqual(signsOf(given, well), [], `${given.id}: the correct run shows the mistake`);
  return counts;
}

for (const given of CASES.filter(({ id }) => Deno.args.length === 0 || Deno.args.includes(id))) {
  Deno.test(`the case ${given.id} has its symptom and evidence, and the right line removes both`, () => {
    const models = plansOf(given).map((changes) => trained(settingsOf(given, changes)));
    const [ill, well] = [models[brokenModel(given)], models.at(-1)];
    assert.ok(ill.share <= ILL, `${given.id}: ${ill.share} of the outputs are right with the mistake`);
    for (const model of models.filter((other) => other !== ill)) {
      assert.ok(model.share >= WELL, `${given.id}: ${model.share} of the outputs are right without the mistake`);
      checkJudgements(given, model, model);
    }
    const { loss, correct, written } = SYMPTOMS[given.id];
    checkCurve(loss, ill.records);
    checkCurve(correct, well.records);
    if (given.id !== "two_minds") assert.equal(written, ill.written); // which writes by chance
    const { proof, normal } = checkJudgements(given, ill, well);
    assert.ok(normal > 0);
    const isOneCurve = ["rate", "norm"].includes(given.evidence[0].view);
    assert.ok(isOneCurve ? proof === 1 : proof >= 2, `${given.id}: ${proof} marks are evidence`);
    const seen = [JSON.stringify(given.broken)]; // the same settings give the same model
    for (const { line, settings } of given.sites.flatMap(({ others }) => others)) {
      if (seen.includes(JSON.stringify(settings))) continue;
      seen.push(JSON.stringify(settings));
      const { share } = trained(settingsOf(given, settings));
      assert.ok(share <= ILL, `${given.id}: ${share} of the outputs are right with ${line}`);
    }
  });
}
