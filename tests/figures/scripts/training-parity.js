// Run by tests/figures/test_page_training.py with deno: trains in JavaScript on what Python has written into a folder, and
// prints the results as JSON. Example: `training-parity.js gradients FOLDER`.

import { Kernels } from "../../../transformer/client/model/kernels.js";
import { sinusoidal } from "../../../transformer/client/model/positions.js";
import { checkpointOf } from "../../../transformer/client/training/checkpoint.js";
import { decodeGreedily } from "../../../transformer/client/training/observation.js";
import { learningRate, updateParameters } from "../../../transformer/client/training/optimizer.js";
import { Random } from "../../../transformer/client/training/random.js";
import { Run } from "../../../transformer/client/training/run.js";
import { drawExamples, TASKS } from "../../../transformer/client/training/tasks.js";

const [command, folder] = Deno.args;
const readJson = (file) => JSON.parse(Deno.readTextFileSync(`${folder}/${file}`));
const readFloats = (file) => new Float32Array(Deno.readFileSync(`${folder}/${file}`).buffer);

// A run on these pairs, with Python's weights.
function runOf({ settings, symbols, train, valid }) {
  const run = new Run({ settings }, { data: { symbols, train, valid } });
  run.parameters.values.set(readFloats("weights.bin"));
  return run;
}

const commands = {
  // The loss of one batch, and its gradients in the order of the weights.
  gradients() {
    const run = runOf(readJson("case.json"));
    const { loss, tape } = run.forward(run.data.train);
    tape.backward();
    return { loss, gradients: [...run.parameters.grads] };
  },

  // Steps from Python's weights: the pairs of each batch by their number, and what each step reports.
  steps() {
    const run = runOf(readJson("case.json"));
    const numbers = new Map(run.data.train.map((pair, i) => [pair, i]));
    const batches = [];
    const nextBatch = run.nextBatch.bind(run);
    run.nextBatch = () => {
      const batch = nextBatch();
      batches.push(batch.map((pair) => numbers.get(pair)));
      return batch;
    };
    const steps = Array.from({ length: run.settings.steps }, () => run.takeStep());
    return { batches, steps };
  },

  schedule: () => readJson("case.json").map((settings) => settings.at.map((step) => learningRate(step, settings))),

  // Adam on given gradients.
  adam() {
    const { count, steps, rate, clip_norm, weight_decay } = readJson("case.json");
    const kernels = new Kernels(16 * count);
    const [values, grads, first, second] = Array.from({ length: 4 }, () => kernels.allocate(count).fill(0));
    const [start, gradients] = [readFloats("weights.bin"), readFloats("gradients.bin")];
    values.set(start);
    for (let step = 1; step <= steps; step++) {
      grads.set(gradients.subarray((step - 1) * count, step * count));
      updateParameters({ count, values, grads, first, second }, kernels, step, rate, { clip_norm, weight_decay });
    }
    return [...values];
  },

  positions: () => [...sinusoidal(60, 64, 0, new Kernels(0).run).values],

  // All examples of each task with the given options.
  tasks: () =>
    readJson("case.json").map(([name, options]) => {
      const strata = TASKS[name].strata(options);
      const count = strata.reduce((sum, { size }) => sum + size, 0);
      const { symbols } = TASKS[name];
      return { symbols, examples: drawExamples(strata, count, new Random(1)) };
    }),

  titles_and_options: () =>
    Object.fromEntries(Object.entries(TASKS).map(([name, { title, options }]) => [name, { title, options }])),

  // A few steps on given sentence pairs, and where the heads look then.
  pairs() {
    const { settings, data } = readJson("case.json");
    const run = new Run({ settings }, { data });
    while (run.step < run.settings.steps) run.takeStep();
    const { linkShares } = run.evaluate(10);
    return { symbols: run.data.symbols, linked: run.data.linked, linkShares };
  },

  // The checksum of the weights after all steps.
  checksum() {
    const run = new Run(readJson("case.json"));
    while (run.step < run.settings.steps) run.takeStep();
    return run.checksum();
  },

  // The checkpoint after some steps, and what the model writes for the held-out pairs.
  checkpoint() {
    const run = new Run({ settings: readJson("case.json") });
    while (run.step < run.settings.steps) run.takeStep();
    const { config, symbols, safetensors } = checkpointOf(run);
    const pairs = run.data.valid.slice(0, 20);
    const text = (ids) => ids.filter((id) => id > 3).map((id) => run.data.symbols[id]).join(" ");
    const outputs = decodeGreedily(run, pairs.map(({ src }) => src), run.limit);
    const translations = pairs.map(({ src }, i) => [text(src), text(outputs[i])]);
    return { config, symbols, safetensors: safetensors.toBase64(), translations };
  },
};

console.log(JSON.stringify(commands[command]()));
