// Training in the page: the way back of each operation, both ways of computing attention, runs and forks that are the
// same bit for bit, and the worker's messages.

import assert from "node:assert/strict";
import { headsOf, withoutHeads } from "../../../transformer/client/model/hooks.js";
import { Kernels } from "../../../transformer/client/model/kernels.js";
import { Tape } from "../../../transformer/client/model/tape.js";
import {
  activate,
  add,
  crossEntropy,
  dropout,
  layerNorm,
  linear,
  lookup,
  Tensor,
  withoutColumns,
} from "../../../transformer/client/model/tensor.js";
import {
  additiveAttention,
  allocateWeights,
  packedAdditiveAttention,
  packedAttention,
} from "../../../transformer/client/model/attention.js";
import { attentionOverQueries } from "../../../transformer/client/model/query-softmax.js";
import { gruStep, queriesAt } from "../../../transformer/client/model/recurrent.js";
import { Transformer } from "../../../transformer/client/model/transformer.js";
import { packPairs } from "../../../transformer/client/training/data.js";
import { Diverged, Run } from "../../../transformer/client/training/run.js";
import { random } from "./fixtures.js";

const SMALL = { d_model: 32, n_heads: 4, d_ff: 64, n_layers: 1, batch: 8, steps: 30, learning_rate: 0.01, warmup: 10 };

// Operations on inputs of these shapes; the last input has the tape's sequences, of 3 and 5 rows.
const OPERATIONS = {
  linear: { shapes: [[12, 8], [12], [8, 8]], use: ([w, b, x]) => linear(x, w, b) },
  add: { shapes: [[8, 8], [8, 8]], use: ([a, b]) => add(a, b) },
  dropout: { shapes: [[8, 8]], use: ([x]) => dropout(x, 0.3) },
  "add with dropout": { shapes: [[8, 8], [8, 8]], use: ([a, b]) => add(a, b, 0.5) },
  activate: { shapes: [[8, 8]], use: ([x]) => activate(x, (value) => Math.max(0, value)) },
  layerNorm: { shapes: [[8], [8], [8, 8]], use: ([gain, bias, x]) => layerNorm(x, gain, bias) },
  lookup: { shapes: [[5, 8], [8, 8]], use: ([table, x]) => lookup(table, [4, 0, 0, 3, 2, 1, 4, 4], 1.5, x) },
  withoutColumns: { shapes: [[8, 8]], use: ([x]) => withoutColumns(x, 2, 5) },
  attention: { shapes: [[8, 8], [8, 8], [8, 8]], use: ([q, k, v]) => packedAttention(q, k, v, 2, 0.7, false).heads },
  "causal attention": {
    shapes: [[8, 8], [8, 8], [8, 8]],
    use: ([q, k, v]) => packedAttention(q, k, v, 1, 0.4, true).heads,
  },
  "attention that sees the next token": {
    shapes: [[8, 8], [8, 8], [8, 8]],
    use: ([q, k, v]) => packedAttention(q, k, v, 2, 0.7, 2).heads,
  },
  "causal attention over the queries": {
    shapes: [[8, 8], [8, 8], [8, 8]],
    use: ([q, k, v]) => attentionOverQueries(q, k, v, 2, 0.7, true).heads,
  },
  "causal additive attention": {
    shapes: [[8, 8], [8, 8], [8, 8], [2, 4]],
    use: ([q, k, m, v]) => packedAdditiveAttention(q, k, m, v, 2, true).heads,
  },
  "a step of a GRU": {
    shapes: [[12, 4], [12], [8, 12], [8, 4]],
    use: ([w, b, x, h]) => gruStep(x, h, { w_h: w, b_h: b }, x.tape.tensor([8, 4])),
  },
  // The second query of each sequence, the longer one first.
  "additive attention": {
    shapes: [[2, 4], [8, 4], [8, 4], [1, 4]],
    use: ([q, k, m, v]) => {
      const weights = allocateWeights({ tape: q.tape, starts: k.starts }, k);
      return additiveAttention(q, k, m, v, weights, queriesAt(weights, [1, 0], 1, q.tape.kernels));
    },
  },
};

for (const [name, { shapes, use }] of Object.entries(OPERATIONS)) {
  Deno.test(`the way back of ${name} equals finite differences`, () => {
    const kernels = new Kernels(1e6);
    const draw = random(7);
    const weights = shapes.map((shape) =>
      Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => 2 * draw() - 1)
    );
    const target = Float32Array.from({ length: 96 }, () => 2 * draw() - 1);
    const starts = Int32Array.of(0, 3, 8);
    // The loss is the product of the result with fixed numbers.
    const compute = (values) => {
      const tape = new Tape(kernels, { training: true, dropoutSeed: 5 });
      const inputs = shapes.map((shape, i) => {
        const tensor = tape.tensor(shape, starts);
        tensor.values.set(values[i]);
        return tensor;
      });
      const y = use(inputs);
      y.grad.set(target.subarray(0, y.values.length));
      const loss = y.values.reduce((sum, value, i) => sum + value * target[i], 0);
      for (const back of tape.operations.toReversed()) back();
      const grads = inputs.map(({ grad }) => grad.slice());
      tape.free();
      return { loss, grads };
    };
    const { grads } = compute(weights);
    weights.forEach((values, input) => {
      values.forEach((value, i) => {
        const lossAt = (change) => {
          values[i] = value + change;
          const { loss } = compute(weights);
          values[i] = value;
          return loss;
        };
        const step = 2 ** -8;
        const difference = (lossAt(step) - lossAt(-step)) / (2 * step);
        const kink = name === "activate" && Math.abs(value) < step;
        assert(
          kink || Math.abs(difference - grads[input][i]) < 3e-3,
          `${name}, input ${input}, ${i}: ${grads[input][i]}, not ${difference}`,
        );
      });
    });
  });
}

Deno.test("the way back of the loss equals finite differences", () => {
  const kernels = new Kernels(1e6);
  const draw = random(3);
  const gold = [4, 0, 6];
  const values = Float32Array.from({ length: 21 }, () => 4 * draw() - 2);
  for (const smoothing of [0, 0.1]) {
    const compute = () => {
      const tape = new Tape(kernels, { training: true });
      const logits = tape.tensor([3, 7]);
      logits.values.set(values);
      const loss = crossEntropy(logits, gold, smoothing);
      tape.free();
      return { loss, grad: logits.grad };
    };
    const expected = gold.reduce((sum, id, row) => {
      const logits = [...values.subarray(7 * row, 7 * row + 7)];
      const total = Math.log(logits.reduce((a, b) => a + Math.exp(b), 0));
      const logs = logits.map((logit) => logit - total);
      return sum - (1 - smoothing) * logs[id] - smoothing * logs.reduce((a, b) => a + b) / 7;
    }, 0) / 3;
    const { loss, grad } = compute();
    assert(Math.abs(loss - expected) < 1e-6);
    const gradients = grad.slice();
    values.forEach((value, i) => {
      const lossAt = (change) => {
        values[i] = value + change;
        const result = compute().loss;
        values[i] = value;
        return result;
      };
      assert(Math.abs((lossAt(2 ** -7) - lossAt(-(2 ** -7))) * 2 ** 6 - gradients[i]) < 1e-4);
    });
  }
});

Deno.test("a batch on a tape gives the numbers of one sentence after the other", () => {
  for (const positions of /** @type {const} */ (["sinusoidal", "learned", "none"])) {
    const run = new Run({ settings: { ...SMALL, n_layers: 2, positions, off: "c0.1,e1.2" } });
    const copies = Object.entries(run.parameters.tensors).map((
      [name, { shape, values }],
    ) => [name, new Tensor(shape, values.slice())]);
    const plain = new Transformer(run.config, Object.fromEntries(copies));
    const off = { "decoder.layers.0.cross_attn.hook_heads": 1, "encoder.layers.1.self_attn.hook_heads": 2 };
    const hooks = Object.fromEntries(
      Object.entries(off).map(([site, head]) => [site, (tensor) => {
        const [, length, size] = tensor.shape;
        tensor.values.fill(0, head * length * size, (head + 1) * length * size);
      }]),
    );
    const pairs = run.data.valid.slice(0, 6);
    const { sources, sourceStarts, targets, targetStarts } = packPairs(pairs);
    const tape = new Tape(run.kernels);
    const memory = run.model.encode(sources, run.hooks, { tape, starts: sourceStarts });
    const { states } = run.model.decode(targets, run.model.start(memory), run.hooks, { tape, starts: targetStarts });
    const logits = run.model.project(states);
    pairs.forEach(({ src, tgt }, i) => {
      const expected = plain.forward(src, [1, ...tgt.slice(0, -1)], hooks);
      expected.values.forEach((value, k) => assert(Math.abs(value - logits.values[targetStarts[i] * 30 + k]) < 1e-5));
    });
    tape.free();
  }
});

Deno.test("greedy decoding of many equals that of one", () => {
  const run = new Run({ settings: { ...SMALL, steps: 60 } });
  while (run.step < 60) run.takeStep();
  for (const pair of run.data.valid.slice(0, 10)) {
    const source = pair.src.slice(0, -1).map((id) => run.data.symbols[id]).join(" ");
    const example = run.translate(source);
    assert.deepEqual(example.src.length, pair.src.length);
    assert.deepEqual(example.tgt.length, example.output.length);
    const [rows, columns] = [example.tgt.length, example.src.length];
    const [encoder, decoder] = [4 * columns ** 2, 4 * rows ** 2]; // of one layer with four heads
    const values = example.attention.subarray(encoder + decoder + 3 * rows * columns); // the last cross-attention head
    for (let row = 0; row < rows; row++) {
      const sum = values.subarray(row * columns, (row + 1) * columns).reduce((a, b) => a + b);
      assert(Math.abs(sum - 1) < 1e-5);
    }
    assert(rows < 2 || example.attention[encoder + 1] === 0); // the mask
  }
});

Deno.test("the same description gives the same weights, replayed or forked", () => {
  const settings = { ...SMALL, dropout: 0.2, label_smoothing: 0.1 };
  const train = (run, steps) => {
    while (run.step < steps) run.takeStep();
    return run.checksum();
  };
  const first = train(new Run({ settings }), 30);
  assert.deepEqual(train(new Run({ settings }), 30), first);
  assert(train(new Run({ settings: { ...settings, seed: 2 } }), 30) !== first);

  const parent = new Run({ settings });
  train(parent, 12);
  const state = parent.state();
  const changes = [{ step: 12, settings: { off: "c0.2", seed: 9 } }];
  const fork = new Run({ ...state.description, changes }, { state });
  const forked = train(fork, 30);
  assert(forked !== first);
  assert.deepEqual(train(new Run({ settings, changes }), 30), forked);
  parent.observe(true);
  parent.evaluate(40);
  assert.deepEqual(train(parent, 30), first); // neither the fork nor looking at it changes a run
});

Deno.test("dropout leaves out its share and scales up the others, differently in each use", () => {
  const tape = new Tape(new Kernels(1e6), { training: true, dropoutSeed: 11 });
  const ones = tape.tensor([100, 100]);
  ones.values.fill(1);
  const [first, second] = [dropout(ones, 0.3), dropout(ones, 0.3)].map(({ values }) => values);
  const kept = (values) => values.filter((value) => value > 0).length / values.length;
  for (const values of [first, second]) {
    assert(Math.abs(kept(values) - 0.7) < 0.02);
    assert(values.every((value) => value === 0 || Math.abs(value - 1 / 0.7) < 1e-6));
  }
  const both = first.filter((value, i) => value > 0 && second[i] > 0).length / first.length;
  assert(Math.abs(both - 0.49) < 0.02);
});

Deno.test("a recurrent model learns, attends with one head, and is the same bit for bit", () => {
  for (const [model, kinds] of /** @type {const} */ ([["gru", []], ["gru_attention", ["cross"]]])) {
    const settings = { ...SMALL, model, steps: 60 };
    const [run, again] = [new Run({ settings }), new Run({ settings })];
    const losses = Array.from({ length: 60 }, () => run.takeStep().loss);
    assert(losses[59] < 0.8 * losses[0], `${losses[0]} to ${losses[59]}`);
    while (again.step < 60) again.takeStep();
    assert.deepEqual(again.checksum(), run.checksum());
    const example = run.translate("abc");
    assert.deepEqual([example.kinds, example.heads], [kinds, 1]);
    const [rows, columns] = [example.tgt.length, example.src.length];
    assert.deepEqual(example.attention.length, kinds.length * rows * columns);
    for (let row = 0; row < rows * kinds.length; row++) {
      const sum = example.attention.subarray(row * columns, (row + 1) * columns).reduce((a, b) => a + b);
      assert(Math.abs(sum - 1) < 1e-5);
    }
    if (kinds.length) assert(Number.isFinite(new Run({ settings: { ...settings, off: "c0" } }).takeStep().loss));
  }
});

Deno.test("a head that is switched off gets no gradient", () => {
  const run = new Run({ settings: { ...SMALL, off: "c0.1" } });
  const { tape } = run.forward(run.nextBatch());
  tape.backward();
  const { grad } = run.parameters.tensors["decoder.layers.0.cross_attn.w_qkv"];
  const isZero = (head) => grad.subarray(head * 8 * 32, (head + 1) * 8 * 32).every((value) => value === 0);
  assert.deepEqual([isZero(0), isZero(1), isZero(2)], [false, true, false]);
  assert.deepEqual(Object.keys(withoutHeads(headsOf("c0.1,c0.2,e0", run.config), run.config)).length, 2);
});

Deno.test("without the mask the loss falls and the output stays wrong; without positions nothing is learned", () => {
  const train = (changes) => {
    const run = new Run({ settings: { n_layers: 1, learning_rate: 0.005, warmup: 50, steps: 300, ...changes } });
    let loss = 0;
    while (run.step < 300) loss = run.takeStep().loss;
    const { correct, count } = run.evaluate(100);
    return { loss, accuracy: correct / count };
  };
  const cheats = train({ causal: false });
  assert(cheats.loss < 0.2 && cheats.accuracy < 0.1, JSON.stringify(cheats));
  const blind = train({ positions: "none" });
  assert(blind.loss > 0.7 && blind.accuracy < 0.2, JSON.stringify(blind));
});

Deno.test("a learning rate that is too high stops the run and keeps finite weights", () => {
  const run = new Run({
    settings: { ...SMALL, learning_rate: 10, clip_norm: 0, warmup: 1, weight_decay: 100, cooldown: 0, steps: 200 },
  });
  let checksum = "";
  try {
    while (run.step < 200) {
      checksum = run.checksum();
      run.takeStep();
    }
  } catch (error) {
    assert(error instanceof Diverged, String(error));
    assert(error.message.includes(`step ${run.step + 1}`));
    assert.deepEqual(run.checksum(), checksum);
    assert(run.parameters.values.every(Number.isFinite));
    return;
  }
  throw new Error("it did not diverge");
});

Deno.test("impossible changes and pairs are refused with one sentence", () => {
  assert.throws(
    () => new Run({ settings: SMALL, changes: [{ step: 3, settings: { d_model: 64 } }] }),
    { message: /d_model cannot change/ },
  );
  const pairs = (...train) => new Run({ settings: { ...SMALL, task: "pairs" } }, { data: { train } });
  assert.throws(() => pairs(), { message: /There are no sentence pairs/ });
  assert.throws(() => pairs(["one", "un"]), { message: /There is 1 sentence pair/ });
  assert.throws(() => pairs(["one", "un"], ["two", " "]), { message: /Pair 2 has only one side/ });
  assert.throws(() => pairs(["one", "un"], ["a ".repeat(80), "b"]), { message: /Pair 2 has 80 words/ });
  assert.throws(() => pairs(...Array(20_001).fill(["a", "b"])), { message: /There are 20001 sentence pairs/ });
  const run = pairs(["one 🎉", "un 🎉"], ["<script> two", "deux"], ["three", "trois"]);
  assert.deepEqual(run.data.symbols.slice(4), ["<script>", "deux", "one", "three", "trois", "two", "un", "🎉"]);
  assert(Number.isFinite(run.takeStep().loss));
  assert.throws(() => run.translate(" "), { message: /Type an input first\./ });
  assert.throws(() => run.translate("four"), { message: /The model has no symbol “four”/ });
});

// A worker, and the reports that it has sent.
function startWorker() {
  const worker = new Worker(new URL("../../../transformer/client/training/worker.js", import.meta.url).href, {
    type: "module",
  });
  const reports = [];
  let look = () => undefined;
  worker.onmessage = ({ data }) => {
    reports.push(data);
    look();
  };
  const find = async (type, accept = (_) => true) => {
    for (;;) {
      const report = reports.find((each) => each.type === type && accept(each));
      if (report) return report;
      await new Promise((done) => {
        look = () => done(undefined);
      });
    }
  };
  return { worker, reports, find };
}

Deno.test("a worker trains, pauses, forks and answers", async () => {
  const { worker, reports, find } = startWorker();
  worker.postMessage({ type: "pause" });
  assert.deepEqual((await find("problem")).problem, "There is no run yet; the first command must be start.");

  worker.postMessage({ type: "start", description: { settings: SMALL }, paused: true });
  const started = await find("started");
  assert.deepEqual([started.step, started.settings.d_model, started.validCount, started.linked], [0, 32, 500, true]);
  worker.postMessage({ type: "step" });
  const { step, checksum } = await find("paused");
  const local = new Run({ settings: SMALL });
  local.takeStep();
  assert.deepEqual([step, checksum], [1, local.checksum()]);
  const [first, second] = reports.filter(({ type }) => type === "progress");
  assert.deepEqual([first.steps.length, second.steps.length, second.examples.length], [0, 1, 3]);

  worker.postMessage({ type: "state", id: 1 });
  const { result: state } = await find("answer", ({ id }) => id === 1);
  worker.postMessage({ type: "translate", id: 2, text: "abc" });
  assert.deepEqual((await find("answer", ({ id }) => id === 2)).result.src, ["a", "b", "c", "</s>"]);
  worker.postMessage({ type: "translate", id: 3, text: "a7" });
  assert((await find("answer", ({ id }) => id === 3)).problem.includes("no symbol"));
  worker.postMessage({ type: "resume" });
  const finished = await find("finished");
  while (local.step < 30) local.takeStep();
  assert.deepEqual([finished.step, finished.checksum, finished.evaluation.count], [30, local.checksum(), 500]);
  assert.deepEqual(
    reports.flatMap(({ type, steps }) => (type === "progress" ? steps.map((each) => each.step) : [])),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );

  const fork = startWorker();
  const changes = [{ step: 1, settings: { off: "c0" } }];
  fork.worker.postMessage({ type: "start", description: { ...state.description, changes }, state });
  const forked = await fork.find("finished");
  const replay = new Run({ settings: SMALL, changes });
  while (replay.step < 30) replay.takeStep();
  assert.deepEqual(forked.checksum, replay.checksum());

  // A fork of a finished run with more steps trains on, from its state or replayed.
  worker.postMessage({ type: "state", id: 4 });
  const { result: end } = await find("answer", ({ id }) => id === 4);
  const longer = { ...end.description, changes: [{ step: 30, settings: { off: "c0", steps: 45 } }] };
  for (const start of [{ description: longer, state: { ...end, description: longer } }, { description: longer }]) {
    const again = startWorker();
    again.worker.postMessage({ type: "start", ...start });
    const { step: last, checksum: sum } = await again.find("finished");
    const all = new Run({ settings: SMALL, changes: longer.changes });
    while (!all.isFinished) all.takeStep();
    assert.deepEqual([last, sum], [45, all.checksum()]);
    again.worker.terminate();
  }

  worker.postMessage({
    type: "start",
    description: {
      settings: { ...SMALL, learning_rate: 10, clip_norm: 0, warmup: 1, weight_decay: 100, cooldown: 0, steps: 200 },
    },
  });
  assert((await find("diverged")).problem.includes("lower the learning rate"));
  worker.terminate();
  fork.worker.terminate();
});

Deno.test("a run stops once, at the first evaluation in which a head has found the right tokens", async () => {
  const settings = {
    task: "copy",
    n_layers: 1,
    n_heads: 2,
    d_model: 32,
    d_ff: 32,
    steps: 120,
    options: { longest: 3 },
  };
  const [{ worker, reports, find }, share] = [startWorker(), 0.4];
  worker.postMessage({ type: "start", description: { settings }, stopsAtShare: share });
  const { step, checksum } = await find("paused", ({ isFound }) => isFound);
  const evaluations = reports.filter(({ type }) => type === "evaluation").map(({ evaluation }) => evaluation);
  const best = evaluations.map(({ linkShares }) => Math.max(...linkShares.flat()));
  assert(best.at(-1) >= share && best.slice(0, -1).every((each) => each < share), String(best));
  assert.deepEqual([evaluations.at(-1).step, evaluations.at(-1).checksum], [step, checksum]);
  assert.equal(evaluations.at(-1).linkCount, 32);
  assert.deepEqual(
    reports.filter(({ type }) => type === "progress").at(-1).step,
    step,
    "what is drawn is of this step",
  );
  worker.postMessage({ type: "resume" });
  assert.equal((await find("finished")).step, 120);
  assert.equal(reports.filter(({ type }) => type === "paused").length, 1);
  worker.terminate();
});
