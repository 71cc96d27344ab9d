// The page that trains in the browser: links, verdicts, captions and pasted pairs.

import assert from "node:assert/strict";
import { caption, changeText, firstFollower } from "../../../transformer/client/app/trainer/captions.js";
import { allSettings, readLink, writeLink } from "../../../transformer/client/app/trainer/link.js";
import {
  MODEL_RACE,
  QUESTIONS,
  racedSetting,
  raceText,
  SCORE_RACE,
} from "../../../transformer/client/app/trainer/races.js";
import { descriptionOf, makeRuns } from "../../../transformer/client/app/trainer/runs.js";
import { pairsOf, readModelFile } from "../../../transformer/client/app/trainer/saved.js";
import { headWeights } from "../../../transformer/client/app/trainer/heads.js";
import { meanWithInterval, pairTable, successor, verdict } from "../../../transformer/client/app/trainer/verdict.js";
import { setExactNames } from "../../../transformer/client/common/naming.js";
import { thinned } from "../../../transformer/client/app/trainer/curves.js";
import { filmOf, historyOf } from "../../../transformer/client/app/trainer/history.js";
import { checkpointOf } from "../../../transformer/client/training/checkpoint.js";
import { Run } from "../../../transformer/client/training/run.js";
import { symbolPieces, Vocabulary } from "../../../transformer/client/model/vocabulary.js";

setExactNames(false);
const LINK = "task=sort;seed=3;option.longest=6~0@120;off=c0.1,e1.0~1@200;learning_rate=0.001";

Deno.test("a link keeps runs, forks and options", () => {
  const runs = readLink(LINK);
  assert.equal(writeLink(runs), LINK);
  assert.deepEqual(runs.map(({ parent, step }) => [parent, step]), [[-1, 0], [0, 120], [1, 200]]);
  assert.deepEqual(runs[0].settings, { task: "sort", seed: 3, options: { longest: 6 } });
  assert.equal(allSettings(runs, 2).off, "c0.1,e1.0");
  assert.equal(allSettings(runs, 2).learning_rate, 0.001);
  assert.equal(allSettings(runs, 1).learning_rate, 0.003);
  assert.deepEqual(descriptionOf(runs, 2).changes, [
    { step: 120, settings: { off: "c0.1,e1.0" } },
    { step: 200, settings: { learning_rate: 0.001 } },
  ]);
  assert.equal(writeLink(readLink("")), "");
  assert.equal(allSettings(readLink("causal=false"), 0).causal, false);
});

Deno.test("an impossible link is refused in one sentence", () => {
  const cases = {
    "task=constructor": "no task",
    "seed=x": "seed is NaN; it must be a whole number",
    "heads=3": "There is no setting heads",
    "__proto__=1": "There is no setting __proto__",
    "fault=residual": "There is no setting fault",
    "n_heads=3": "d_model is 64; with 3 heads",
    "causal=maybe": "causal is maybe",
    "learning_rate=1e99": "from 0 to 10",
    "option.longest=99": "longest is 99",
    "option.height=1": "no option height",
    "seed": "it must have a setting with a value",
    "seed=1~off=c0.0": "it must begin with an earlier run and a step",
    "seed=1~0@5;n_heads=2": "A fork after step 0 cannot change n_heads",
    "score=cosine": "score is cosine; it must be one of scaled_dot, dot, additive",
    [`seed=1${"~0@5;seed=2".repeat(13)}`]: "at most 12",
    "off=c9.9": "There is no head c9.9; this model has layers 1 to 2 and heads 1 to 4",
    "off=c0.4": "There is no head c0.4",
    "off=e2": "There is no head e2",
    "off=zzz": 'There is no head "zzz"; heads are named like e0.0, d0.0, c0.0',
    "off=c0.1,": 'There is no head ""',
    "off=c-1.0": "There is no head",
    "off=c0.1,c0.1": "names head c0.1 twice",
    "off=c0,c0.1": "names head c0.1 twice",
    "model=gru;off=c0.0": "a GRU without attention has no heads",
    "model=gru_attention;off=c0.1": "There is no head c0.1",
    "model=gru_attention;off=e0.0": "There is no head",
    "n_heads=2~0@20;off=c0.2": "There is no head c0.2",
    "option.constructor=3": "no option constructor",
    "option.toString=3": "no option toString",
    "option.__proto__=3": "no option __proto__",
    "task=cipher;option.key=": "key is NaN",
    "steps=30;seed=2;steps=40": "The link has steps twice",
    "option.longest=3;option.longest=4": "The link has option.longest twice",
    "seed\u202e=3": "The link has the character U+202E; it must have only letters",
    "task=re\nverse": "The link has the character U+000A",
    "toString=3": "There is no setting toString",
    "task=pairs;option.longest=3": "Sentence pairs have no options",
    "steps=100~0@101;off=c0.0": "run 0 ends at step 100",
    "steps=100~0@100;off=c0.0": "give it more steps",
    "seed=1~0@50": "change at least one",
    "seed=1~0@50;seed=1": "change at least one",
    "off=c0.0,c0.1~0@50;off=c0.1,c0.0": "change at least one",
    "seed=1~0@50;off=c0.0~0@50;off=c0.0": "Fork 2 is the same as fork 1",
    "seed=1~0@50;off=c0.0~1@40;off=c0.1": "run 1 itself begins at step 50",
  };
  for (const [link, message] of Object.entries(cases)) {
    assert.throws(
      () => readLink(link),
      (error) => error.message.includes(message) && !error.message.includes("\n"),
      link,
    );
  }
});

Deno.test("a verdict gives Student's interval or says that the seeds do not support one", () => {
  // Five differences 10, 20, 30, 40, 50: mean 30, standard deviation √250, t(4, 0.975) = 2.776.
  const { mean, low, high } = meanWithInterval([10, 20, 30, 40, 50]);
  assert.equal(mean, 30);
  assert.ok(Math.abs(low - (30 - 2.776 * Math.sqrt(250 / 5))) < 1e-9);
  assert.ok(Math.abs(high + low - 60) < 1e-9);
  const outcome = (reached) => ({ reached, share: reached ? 1 : 0.4, diverged: null, linkShares: null });
  const seed = (before, after) => ({ seed: 7, before: outcome(before), after: outcome(after) });
  const change = "without cross-attention layer 1, head 2";
  const slower = verdict(
    [seed(300, 380), seed(300, 390), seed(310, 385), seed(290, 370), seed(305, 385)],
    change,
    500,
    "seeds",
    0,
  );
  assert.match(
    slower,
    /^Without cross-attention layer 1, head 2, the model needs \+81 steps to 99% \(mean of 5 seeds, 95% interval \+7\d to \+8\d\)\.$/,
  );
  assert.match(
    verdict([seed(300, 380), seed(300, 220)], change, 500, "seeds", 0),
    /^2 seeds do not support a difference/,
  );
  assert.match(
    verdict([seed(300, null), seed(300, 320)], change, 500, "seeds", 0),
    /^2 seeds do not support a difference after 500 steps: .* by −30 points .* 1 of 2 seeds reach 99% without .*, and 2 of 2 without this change\.$/,
  );
  assert.match(
    verdict([seed(300, 380), seed(300, 390)], change, 500, "orders", 120),
    /^This run was continued with 2 orders of batches\. .* All pairs have this run's weights at step 120: compare/,
  );
  const table = pairTable([seed(300, 380), {
    seed: 8,
    before: outcome(null),
    after: { ...outcome(null), diverged: 12 },
  }], "orders");
  assert.deepEqual(table.rows, [["7", "300", "380", "100%", "100%"], [
    "8",
    "not reached",
    "diverged at 12",
    "40%",
    "40%",
  ]]);
  assert.match(
    verdict([seed(null, 300), seed(null, 320)], change, 500, "seeds", 0),
    /^Without .*, the share of right outputs after 500 steps changes by \+60 points \(mean of 2 seeds, 95% interval \+60 to \+60\)\. 2 of 2 /,
  );
});

Deno.test("the head that takes over is the one whose share rises most", () => {
  const outcome = (reached, linkShares) => ({ reached, share: 1, diverged: null, linkShares });
  const seeds = [0, 0.02].map((noise) => ({
    seed: 1,
    before: outcome(300, [[0.9, 0.1], [0.2, 0.1]]),
    after: outcome(350, [[0, 0.15], [0.8 + noise, 0.1]]),
  }));
  assert.match(
    successor(seeds, "without it"),
    /^Cross-attention layer 2, head 1 takes over: .* 81% without it, and 20% otherwise\.$/,
  );
  assert.match(successor(seeds, "without it", "c1.0"), /^No cross-attention head takes over/);
  assert.match(successor(seeds, "without it", "e1,c1"), /^No cross-attention head takes over/);
  const unchanged = seeds.map((pair) => ({ ...pair, after: pair.before }));
  assert.match(successor(unchanged, "without it"), /^No cross-attention head takes over/);
  assert.equal(successor([{ seed: 1, before: outcome(1, null), after: outcome(1, null) }], ""), "");
});

Deno.test("captions say what the numbers show", () => {
  const evaluation = (step, share, correct) => ({
    step,
    linkShares: [[0.1, share]],
    count: 500,
    correct,
    reached: correct >= 495 ? { step } : null,
  });
  const run = {
    problem: "",
    state: "training",
    started: { settings: { causal: true, positions: "sinusoidal" } },
    records: [{ loss: 0.5 }],
  };
  const evaluations = [evaluation(25, 0.2, 10), evaluation(50, 0.62, 200), evaluation(75, 0.97, 498)];
  assert.deepEqual(firstFollower(evaluations), { step: 50, layer: 0, head: 1, share: 0.62 });
  assert.equal(firstFollower(evaluations, "c0.1"), null);
  const without = { ...run, started: { settings: { ...run.started.settings, off: "c0" } } };
  assert.match(caption({ ...without, evaluations }), /^99% of the outputs were right at step 75\.$/);
  assert.match(
    caption({ ...run, evaluations }),
    /^Step 50: cross-attention layer 1, head 2 put 62% .* \(step 75: 97%\)\. 99% .* at step 75\.$/,
  );
  assert.match(
    caption({ ...run, evaluations: evaluations.slice(0, 1) }),
    /^Step 25: 2% of the outputs are right; no head/,
  );
  const cheats = {
    ...run,
    started: { settings: { causal: false } },
    records: [{ loss: 0.004 }],
    evaluations: [evaluation(50, 0.2, 5)],
  };
  assert.match(caption(cheats), /^The loss is 0\.00, yet only 1% of the outputs are right: without the mask/);
  const lost = {
    ...run,
    state: "finished",
    started: { settings: { causal: true, positions: "none" } },
    evaluations: [evaluation(500, 0.2, 60)],
  };
  assert.match(caption(lost), /bag of tokens/);
});

const trained = (settings, loss, evaluations, state = "finished") => /** @type {any} */ ({
  problem: "",
  state,
  started: { settings: { causal: true, positions: "sinusoidal", task: "reverse", learning_rate: 0.003, ...settings } },
  records: Array.from({ length: 500 }, (_, i) => ({ step: i + 1, loss: loss(i + 1) })),
  evaluations: evaluations.map(([step, correct]) => ({ step, correct, count: 100, linkShares: null })),
});

Deno.test("a learning rate is called too high if the loss rises or stays", () => {
  const cases = [ // means of 50 steps of runs with these rates, from the page itself
    [
      10,
      [5.7, 287.5, 1843.6, 4323.2, 1876.4, 1593, 1151.6, 709.8, 262.2, 125.3, 25.2],
      /risen from 5\.70 to .* of 10 is too high/,
    ],
    [
      1,
      [5.7, 3, 11.3, 27.9, 25.9, 12.2, 4.6, 2.6, 2.5, 2.4, 2.4],
      /of 1 is too high: start again with one such as 0\.003/,
    ],
    [
      0.1,
      [5.7, 2.6, 2.42, 2.42, 2.41, 2.4, 2.4, 2.4, 2.39, 2.39, 2.39],
      /stopped at 2\.\d+\. The learning rate of 0\.1 is too high/,
    ],
    [0.03, [5.7, 2.63, 2.34, 2.39, 2.37, 2.37, 2.38, 2.37, 2.36, 2.36, 2.36], /of 0\.03 is too high/],
    [0.00001, [5.7, 5.6, 5.5, 5.4, 5.3, 5.2, 5.1, 5, 4.9, 4.8, 4.7], null],
    [0, [5.7, 5.7, 5.7, 5.7, 5.7, 5.7, 5.7, 5.7, 5.7, 5.7, 5.7], null],
  ];
  for (const [learning_rate, means, expected] of cases) {
    const loss = (step) => step === 1 ? means[0] : means[Math.ceil(step / 50)];
    const text = caption(trained({ learning_rate }, loss, [[500, 0]]));
    if (expected) assert.match(text, expected);
    else assert.doesNotMatch(text, /too high/, String(learning_rate));
  }
  assert.doesNotMatch(caption(trained({ learning_rate: 0.03 }, (step) => 5 / step, [[500, 100]])), /too high/);
});

Deno.test("a model that memorises, and one that finds the rule later", () => {
  const settings = { task: "modular", options: { modulus: 23 }, learning_rate: 0.004 };
  const loss = (step) => step < 100 ? 3.1 : 0.3;
  assert.match(
    caption(trained(settings, loss, [[200, 2]], "training")),
    /0\.30 \(3\.14 by guessing\), yet 2% .* memorised/,
  );
  assert.match(
    caption(trained(settings, loss, [[100, 2], [300, 50], [475, 95]])),
    /^Step 100: .* 2% .* Step 475: 95% are right\. .* grokking/,
  );
  const early = [[100, 95], [475, 96]];
  assert.doesNotMatch(caption(trained(settings, loss, early)), /grokking/);
  assert.doesNotMatch(caption(trained({}, loss, [[100, 2], [475, 95]])), /grokking/);
});

Deno.test("models are compared by the length of the input, and concluded from only if the numbers show it", () => {
  const planned = readLink(MODEL_RACE);
  assert.equal(writeLink(planned), MODEL_RACE);
  const models = [0, 1, 2].map((i) => descriptionOf(planned, i));
  assert.deepEqual(models.map(({ settings }) => settings.model), ["transformer", "gru_attention", "gru"]);
  assert.deepEqual(models.map(({ settings, changes }) => [settings.steps, changes.length]), Array(3).fill([800, 0]));
  const run = (model, ...shares) => ({
    step: 0,
    started: { settings: { model } },
    evaluations: [{
      byLength: shares.flatMap((share, i) => [
        { length: 2 * i + 1, count: 10, correct: 10 * share },
        { length: 2 * i + 2, count: 30, correct: 30 * share },
      ]),
    }],
  });
  const attends = run("gru_attention", 1, 1, 1, 0.9, 0.9);
  const race = (...runs) => raceText(/** @type {any} */ (runs), racedSetting(/** @type {any} */ (runs)));
  const text = race(attends, run("gru", 0.9, 0.5, 0, 0, 0));
  assert.match(
    text,
    /^Right outputs for inputs of 1 to 2 and of 9 to 10 symbols: GRU with attention 100% and 90%; GRU without attention 90% and 0%\. One vector/,
  );
  assert.doesNotMatch(race(attends, run("gru", 0.9, 0.9, 0.9, 0.8, 0.6)), /One vector/);
  assert.equal(race(), "");
  assert.equal(race(attends), "");
});

Deno.test("a race of score functions begins each run anew, and its seeds too", () => {
  const planned = readLink(SCORE_RACE);
  assert.equal(writeLink(planned), SCORE_RACE);
  const scores = ["dot", "scaled_dot", "additive"];
  const descriptions = planned.map((_, i) => descriptionOf(planned, i));
  assert.deepEqual(
    descriptions.map(({ settings, changes }) => [settings.score, changes.length]),
    scores.map((x) => [x, 0]),
  );

  const started = [];
  const makeWorker = () => /** @type {any} */ ({ postMessage: (message) => started.push(message), terminate() {} });
  const runs = makeRuns(makeWorker, () => undefined, 9);
  runs.begin(planned, null);
  runs.compareSeeds(runs.all[2], true, 2);
  const seeds = started.slice(3).map((
    { description: { settings, changes } },
  ) => [settings.score, settings.seed, changes]);
  assert.deepEqual(seeds, [["dot", 1002, []], ["additive", 1002, []], ["dot", 2002, []], ["additive", 2002, []]]);
  runs.all.slice(0, 3).forEach((run, i) => {
    run.started = { settings: { score: scores[i] } };
    run.evaluations = [{ step: 400, correct: 40 + 30 * i, count: 100 }];
  });
  assert.equal(racedSetting(runs.all), "score");
  assert.match(
    raceText(runs.all, "score"),
    /^Right outputs by score function: q·k 40% \(step 400\); q·k \/ √d_k 70% \(step 400\); v·tanh\(q \+ k\) 100%/,
  );
  runs.close();
});

Deno.test("each question begins runs that differ in one setting, and says what they have reached", () => {
  for (const { link, compared } of QUESTIONS) {
    const planned = readLink(link);
    assert.equal(writeLink(planned), link);
    assert.deepEqual([planned[compared].parent, planned[compared].step], [0, 0]);
    assert.deepEqual(Object.keys(planned[compared].settings).length, 1);
  }
  const run = (settings, ...evaluations) => ({
    step: 0,
    started: { settings: { d_model: 64, positions: "sinusoidal", ...settings }, parameters: 117_888 },
    evaluations: evaluations.map(([step, correct]) => ({ step, correct, count: 100 })),
  });
  const race = (...runs) => raceText(/** @type {any} */ (runs), racedSetting(/** @type {any} */ (runs)));
  assert.equal(
    race(run({ n_heads: 4 }, [25, 10], [50, 99]), run({ n_heads: 1 }, [50, 60])),
    "Right outputs by heads: 4 heads of 16 dimensions 99% (step 50; 99% at step 50); one head of 64 dimensions 60% " +
      "(step 50). Both models have 117,888 weights.",
  );
  assert.equal(
    race(run({ n_heads: 4 }, [50, 99]), run({ n_heads: 4, positions: "none" }, [50, 3])),
    "Right outputs by positional encoding: sinusoidal 99% (step 50; 99% at step 50); none 3% (step 50).",
  );
});

Deno.test("the history of a fork begins with that of its run, and its film has the weights of every head", () => {
  const example = (weight) => ({
    src: ["a", "</s>"],
    tgt: ["<s>", "a"],
    gold: ["a", "</s>"],
    attention: Float32Array.of(weight, 1 - weight, 0, 1),
  });
  const run = (id, parent, step, ...steps) => /** @type {any} */ ({
    id,
    parent,
    step,
    records: steps.slice(1).map((each) => ({ step: each, loss: id })),
    evaluations: [],
    frames: steps.map((each) => ({ step: each, examples: [example(each / 100)] })),
  });
  const all = [run(0, -1, 0, 0, 10, 20, 30), run(1, 0, 20, 20, 30, 40), run(2, 0, 0, 0, 10)];
  const of = (id) => historyOf(all, all[id], ({ frames }) => frames);
  assert.deepEqual(of(1).records.map(({ step, loss }) => [step, loss]), [[10, 0], [20, 0], [30, 1], [40, 1]]);
  assert.deepEqual(of(2).frames.map(({ step }) => step), [0, 10]);
  const { steps, tokens, weights } = filmOf(of(1).frames);
  assert.deepEqual(steps, [0, 10, 20, 30, 40]);
  assert.deepEqual(tokens, [{ src: ["a", "</s>"], tgt: ["<s>", "a"], predicted: ["a", "</s>"] }]);
  const errors = [...weights.slice(4, 8)].map((value, i) => Math.abs(value / 65_535 - [0.1, 0.9, 0, 1][i]));
  assert(Math.max(...errors) < 1 / 65_535, String(errors));
  assert.deepEqual(filmOf([]), { steps: [], tokens: [], weights: new Uint16Array(0) });
});

Deno.test("a change is named in words", () => {
  const cases = [
    [{ n_heads: 1 }, "with one big head"],
    [{ positions: "none" }, "with no positions"],
    [{ model: "gru" }, "with a GRU without attention"],
    [{ off: "c0.1,e1" }, "without cross-attention layer 1, head 2 and encoder self-attention layer 2"],
    [{ off: "" }, "with all heads"],
    [{ learning_rate: 0.001 }, "with learning rate 0.001"],
    [{ causal: false }, "with no decoder mask"],
  ];
  for (const [settings, text] of cases) assert.equal(changeText(settings), text);
});

Deno.test("pasted pairs are words, or refused in one sentence", () => {
  const lines = Array.from({ length: 20 }, (_, i) => `I'm here ${i}.\tJe suis là ${i} !`);
  assert.deepEqual(pairsOf(lines.join("\r\n")).train[0], ["I' m here 0 .", "Je suis là 0 !"]);
  assert.deepEqual(pairsOf(lines.join("\r")).train.length, 20);
  assert.equal(pairsOf(lines.map((_, i) => `${i}\tnumber ${i}`).join("\n")).train.length, 20);
  for (
    const [text, message] of [["", "no sentence pairs"], ["a\tb", "There are 1"], ["a b", "Line 1"], [
      "a\tb\n<script>\t",
      "Line 2",
    ], [lines.map((line, i) => `${i + 7}\t${line.split("\t")[0]}`).join("\n"), "the first column may count the lines"]]
  ) {
    assert.throws(() => pairsOf(text), (error) => error.message.includes(message), text);
  }
});

Deno.test("the caption says how many held-out pairs have words that no training pair has", () => {
  const train =
    /** @type {[string, string][]} */ (Array.from({ length: 26 }, (_, i) => [`I see ${i}`, `ich sehe ${i}`]));
  const { data } = new Run({ settings: { task: "pairs", n_layers: 1, d_model: 32 } }, { data: { train } });
  assert.deepEqual(data.unseen, { words: 3, pairs: 3 });
  const started = { settings: { causal: true }, validCount: data.valid.length, unseen: data.unseen };
  const evaluations = [{ step: 25, linkShares: null, count: 3, correct: 0 }];
  const run = { problem: "", state: "training", records: [], started, evaluations };
  assert.match(
    caption(/** @type {any} */ (run)),
    /^Step 25: 0% .* Of 3 held-out pairs, 3 cannot be right: they have 3 words that no training pair has\.$/,
  );
  const same = { ...run, started: { ...started, unseen: { words: 0, pairs: 0 }, repeats: 4 } };
  assert.doesNotMatch(caption(/** @type {any} */ (same)), /cannot be right/);
  assert.match(caption(/** @type {any} */ (same)), /repeat the source of another: 4;/);
});

Deno.test("a model file has its configuration and symbols in the header", () => {
  const data = {
    train: /** @type {[string, string][]} */ (Array.from({ length: 20 }, (_, n) => [n % 2 ? "é" : "€", "€ é"])),
  };
  const run = new Run({ settings: { task: "pairs", n_layers: 1, d_model: 32 } }, { data });
  const { config, safetensors } = checkpointOf(run);
  const length = Number(new DataView(safetensors.buffer).getBigUint64(0, true));
  assert.equal(length % 8, 0);
  const metadata = JSON.parse(new TextDecoder().decode(safetensors.subarray(8, 8 + length))).__metadata__;
  assert.deepEqual([JSON.parse(metadata.config), JSON.parse(metadata.symbols)], [config, ["é", "€"]]);
  assert.equal(safetensors.length - 8 - length, 4 * run.parameters.count);
});

Deno.test("a saved model is opened with its weights, or refused in one sentence", () => {
  const link = "task=copy;n_layers=1;d_model=32;steps=6~0@2;off=c0.1";
  const planned = readLink(link);
  const run = new Run(descriptionOf(planned, 1));
  while (run.step < 4) run.takeStep();
  const bytesOf = (savedRun) => checkpointOf(run, savedRun).safetensors;
  const opened = readModelFile(bytesOf({ link, step: 4, pairs: null }));
  assert.deepEqual(opened.planned, planned);
  const again = new Run(descriptionOf(opened.planned, 1), /** @type {any} */ ({ state: opened.state }));
  assert.equal(again.checksum(), run.checksum());
  assert.equal(again.settings.off, "c0.1");
  again.takeStep();
  assert.equal(again.step, 5);

  const good = bytesOf({ link, step: 4, pairs: null });
  const changed = (from, to) => {
    const bytes = good.slice();
    const text = new TextDecoder("latin1").decode(bytes.subarray(0, 4000)).indexOf(from);
    bytes.set(new TextEncoder().encode(to), text);
    return bytes;
  };
  const notFinite = good.slice();
  notFinite.set([0, 0, 192, 127], notFinite.length - 4);
  const cases = [
    [new Uint8Array(3), "truncated"],
    [new TextEncoder().encode("<script>alert(1)</script>"), "not a safetensors file"],
    [good.subarray(0, good.length - 9), "truncated"],
    [changed('{"', "[["), "header cannot be read"],
    [changed("F32", "I64"), "as I64"],
    [changed('"shape":[30,32]', '"shape":[30,31]'), "do not fill its shape"],
    [changed("w_1.weight", "w_9.weight"), "has no weights encoder.layers.0.ffn.w_1.weight"],
    [notFinite, "not finite"],
    [bytesOf(null), "does not say how its model was trained"],
    [bytesOf(/** @type {any} */ ({ link, step: -1, pairs: null })), "does not say how"],
    [bytesOf(/** @type {any} */ ({ link, step: 1, pairs: { train: [1] } })), "does not say how"],
    [bytesOf({ link: "task=rhyme", step: 4, pairs: null }), "There is no task"],
    [bytesOf({ link: "d_model=64", step: 4, pairs: null }), "which its run needs"],
  ];
  for (const [bytes, message] of cases) {
    assert.throws(
      () => readModelFile(/** @type {any} */ (bytes)),
      (error) => error.message.includes(message) && !error.message.includes("\n"),
      String(message),
    );
  }
  const other = /** @type {any} */ ({ state: { ...opened.state, weights: new Float32Array(5) } });
  assert.throws(() => new Run(descriptionOf(planned, 1), other), /has 5 weights; this run has/);
});

Deno.test("the site reads the symbols of a model that was trained here", () => {
  const vocabulary = new Vocabulary(symbolPieces(["a", "b", "12"]));
  assert.deepEqual(vocabulary.encode(" a 12  b "), [4, 6, 5, 2]);
  assert.deepEqual(vocabulary.encode("a é"), [4, 3, 2]);
  assert.equal(vocabulary.decode([6, 4, 2, 5]), "12 a");
});

Deno.test("weights of a head are at its place in the example", () => {
  const example = {
    src: ["a", "b", "</s>"],
    tgt: ["<s>", "b"],
    layers: 1,
    heads: 2,
    kinds: ["encoder", "decoder", "cross"],
    attention: Float32Array.from({ length: 18 + 8 + 12 }, (_, i) => i),
  };
  assert.deepEqual([...headWeights(example, "decoder", 0, 1).values], [22, 23, 24, 25]);
  assert.deepEqual(headWeights(example, "cross", 0, 0), {
    rows: 2,
    columns: 3,
    values: Float32Array.from([26, 27, 28, 29, 30, 31]),
  });
  const onlyCross = { ...example, heads: 1, kinds: ["cross"], attention: Float32Array.of(0, 1, 2, 3, 4, 5) };
  assert.deepEqual([...headWeights(onlyCross, "cross", 0, 0).values], [0, 1, 2, 3, 4, 5]);
});

Deno.test("long curves become means of their neighbourhood", () => {
  const points = Array.from({ length: 1000 }, (_, i) => [i + 1, i % 2]);
  const thin = thinned(points, 250);
  assert.equal(thin.length, 250);
  assert.deepEqual(thin.at(-1), [1000, 0.5]);
});

Deno.test("a fork begins with the state of its origin, and at most as many runs train as there are cores", async () => {
  const workers = [];
  class FakeWorker {
    constructor() {
      this.sent = [];
      workers.push(this);
    }
    postMessage(message) {
      this.sent.push(message);
      if (message.type === "state") {
        const result = { description: this.sent[0].description, step: 40, weights: new Float32Array(1) };
        setTimeout(() => this.onmessage({ data: { type: "answer", id: message.id, result } }));
      }
    }
    terminate() {}
  }
  const runs = makeRuns(() => /** @type {any} */ (new FakeWorker()), () => undefined, 1);
  runs.begin(readLink("seed=2"), null);
  await runs.fork(runs.all[0], { off: "c0.0" });
  assert.equal(workers.length, 1);
  assert.equal(runs.all[1].state, "waiting");
  workers[0].onmessage({ data: { type: "finished", step: 500, seconds: 1, checksum: "1", evaluation: { step: 500 } } });
  assert.deepEqual(workers[1].sent[0].description.changes, [{ step: 40, settings: { off: "c0.0" } }]);
  assert.equal(workers[1].sent[0].state.step, 40);
  assert.equal(writeLink(runs.planned()), "seed=2~0@40;off=c0.0");

  // The seeds of a verdict are not part of the link, and do not change the numbers in it.
  runs.compareSeeds(runs.all[1], false, 1);
  const fork = await runs.fork(runs.all[1], { learning_rate: 0.001 });
  assert.equal(fork.id, 4);
  const link = "seed=2~0@40;off=c0.0~1@40;learning_rate=0.001";
  assert.equal(writeLink(runs.planned()), link);
  assert.equal(writeLink(runs.planned({ parent: 4, step: 0, settings: { seed: 3 } })), `${link}~2@0;seed=3`);
  runs.close();
});
