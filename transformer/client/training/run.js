// A training run: a model, its data and the optimizer. `step` is the loop that every trainer has: a batch, the loss, its
// gradients, an update of the weights.

import { headsOf, withoutHeads } from "../model/hooks.js";
import { isForbidden, Kernels } from "../model/kernels.js";
import { Tape } from "../model/tape.js";
import { crossEntropy } from "../model/tensor.js";
import { RecurrentModel } from "../model/recurrent.js";
import { Transformer } from "../model/transformer.js";
import { checksumOf } from "./checkpoint.js";
import { encoder, makeData, packPairs } from "./data.js";
import { faultOf } from "./faults.js";
import { measureAccuracy, measureLinkShares, observeExamples } from "./observation.js";
import { learningRate, updateParameters } from "./optimizer.js";
import { allocateParameters, countParameters, initialize, LEARNED_POSITIONS } from "./parameters.js";
import { normalised, symbolsOf } from "./pair-text.js";
import { Random } from "./random.js";
import { CHANGEABLE, completeSettings } from "./settings.js";
import { TASKS } from "./tasks.js";

const EOS = 2;
const MIN_CHUNK = 32; // pairs that are decoded at once

export class Diverged extends Error {}

export class Run {
  /** @param {import("./protocol.d.ts").RunDescription} description @param {{ data?: import("./protocol.d.ts").PairData, state?: import("./protocol.d.ts").RunState }} [start] */
  constructor(description, { data, state } = {}) {
    this.description = { settings: { ...description.settings }, changes: [...(description.changes ?? [])] };
    this.given = data;
    this.step = 0;
    this.settings = completeSettings({
      ...TASKS[this.description.settings.task]?.training,
      ...this.description.settings,
    });
    for (const { step, settings } of this.description.changes) {
      this.checkChange(settings);
      if (state && step < state.step) this.settings = completeSettings(settings, this.settings);
    }
    this.loadData();
    const { model, n_layers, n_heads, d_model, d_ff, positions, score } = this.settings;
    const isTransformer = model === "transformer";
    this.config = {
      ...(!isTransformer && { model }),
      vocab_size: this.data.symbols.length,
      d_model,
      n_layers,
      n_heads,
      d_ff,
      positions,
      score,
      max_len: LEARNED_POSITIONS,
    };
    if (positions === "learned" && this.longest > LEARNED_POSITIONS) {
      throw new RangeError(
        `The longest sentence has ${this.longest} tokens; learned positions reach ${LEARNED_POSITIONS}.`,
      );
    }
    this.kernels = makeKernels(16 * countParameters(this.config) + this.stepBytes());
    this.parameters = allocateParameters(this.config, this.kernels);
    this.fault = faultOf(this.settings.fault);
    this.model = new (isTransformer ? Transformer : RecurrentModel)(this.config, this.parameters.tensors);
    initialize(this.config, this.parameters.tensors, this.settings.seed, this.kernels.run);
    if (state) {
      const { count } = this.parameters;
      if (state.weights.length !== count) {
        throw new RangeError(`The saved model has ${state.weights.length} weights; this run has ${count}.`);
      }
      this.step = state.step;
      this.parameters.values.set(state.weights);
      this.parameters.first.set(state.firstMoment);
      this.parameters.second.set(state.secondMoment);
    }
    this.nextEvaluation = 1; // seeds dropout where a fault leaves it on
    this.drawn = state?.drawn ?? 0; // pairs since the batches were last seeded
    this.applySettings();
    /** @type {import("./data.js").IdPair[]} */
    this.examples = [];
    for (const share of [1, 0.75, 0.5]) {
      this.examples.push(this.exampleOfLength(Math.round(share * this.longestSource)));
    }
  }

  loadData() {
    /** @type {import("./data.js").RunData} */
    this.data = makeData(this.settings, this.given);
    const { train, valid } = this.data;
    const lengths = (side) => [...train, ...valid].reduce((longest, pair) => Math.max(longest, pair[side].length), 0);
    this.longestSource = lengths("src") - 1;
    this.limit = lengths("tgt") + 1; // of outputs
    this.longest = Math.max(this.longestSource + 1, this.limit);
    /** @type {number[]} */
    this.order = []; // of the training pairs in the current epoch
    this.orderName = "";
  }

  // Memory for the tensors of one step, with their gradients.
  stepBytes() {
    const { model, n_layers, n_heads, d_model, d_ff, batch } = this.settings;
    const rows = 2 * Math.max(MIN_CHUNK, batch) * (this.longest + 1);
    const perRow = model !== "transformer"
      ? 40 * d_model + this.longest + 8 + this.data.symbols.length
      : n_layers * (20 * d_model + 2 * d_ff + n_heads * (this.longest + 12)) + this.data.symbols.length +
        5 * d_model;
    return 8 * rows * perRow;
  }

  exampleOfLength(length) {
    const distance = ({ src }) => Math.abs(src.length - 1 - length);
    const others = this.data.valid.filter((pair) => !this.examples.includes(pair));
    const pairs = others.length ? others : this.data.valid;
    return pairs.reduce((best, pair) => (distance(pair) < distance(best) ? pair : best));
  }

  checkChange(settings) {
    const fixed = Object.keys(settings).find((name) => !CHANGEABLE.includes(name));
    if (fixed) throw new RangeError(`${fixed} cannot change while a model trains; ${CHANGEABLE.join(", ")} can.`);
    completeSettings(settings, this.settings);
  }

  applyChange(settings) {
    this.settings = completeSettings(settings, this.settings);
    if ("options" in settings) this.loadData();
    if ("seed" in settings) this.drawn = 0;
    if (this.stepBytes() > this.kernels.memory.buffer.byteLength - this.kernels.nextFree) {
      throw new RangeError("The changed batches need more memory than this run has; start a new run for them.");
    }
    this.applySettings();
  }

  applySettings() {
    const { causal, dropout, off } = this.settings;
    Object.assign(this.model.config, { causal, dropout, ...this.fault.model });
    this.hooks = off ? withoutHeads(headsOf(off, this.model.config), this.model.config) : null;
  }

  // The settings with which the next step begins: those of a fork at this step are changed by it.
  get nextSettings() {
    let settings = this.settings;
    for (const change of this.description.changes) {
      if (change.step === this.step) settings = completeSettings(change.settings, settings);
    }
    return settings;
  }

  get isFinished() {
    return this.step >= this.nextSettings.steps;
  }

  // Takes one optimizer step. Throws Diverged, with the weights of before, if the loss or the gradient is not finite.
  takeStep() {
    for (const change of this.description.changes) if (change.step === this.step) this.applyChange(change.settings);
    const { settings, kernels, parameters } = this;
    const step = this.step + 1;
    const { loss, tape } = this.forward(this.nextBatch());
    tape.backward();
    const { clearsGradients, warmup } = this.fault;
    const rate = learningRate(step, settings, warmup);
    const gradientNorm = updateParameters(parameters, kernels, step, rate, settings, clearsGradients);
    if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm)) {
      parameters.grads.fill(0);
      throw new Diverged(
        `The loss is ${loss} at step ${step}: lower the learning rate or make the warm-up longer. The weights are those of step ${this.step}.`,
      );
    }
    this.step = step;
    return { step, loss, rate, gradientNorm };
  }

  // The loss of a batch, with the tape for its way back.
  /** @param {import("./data.js").IdPair[]} pairs */
  forward(pairs) {
    const { model, kernels, hooks, settings } = this;
    const tape = new Tape(kernels, {
      training: true,
      dropoutSeed: Math.imul(settings.seed + 1, 0x9e3779b1) ^ Math.imul(this.step + 1, 0x85ebca6b),
    });
    const { sources, sourceStarts, targets, targetStarts, gold } = packPairs(pairs, this.fault.target);
    const memory = model.encode(sources, hooks, { tape, starts: sourceStarts });
    const { states } = model.decode(targets, model.start(memory, hooks), hooks, { tape, starts: targetStarts });
    return { loss: crossEntropy(model.project(states), gold, settings.label_smoothing), tape };
  }

  // The next pairs of an endless stream: all training pairs in random order, then in another one.
  nextBatch() {
    return Array.from({ length: this.settings.batch }, () => {
      const epoch = Math.floor(this.drawn / this.data.train.length);
      const name = `${this.settings.seed} ${epoch}`;
      if (this.orderName !== name) {
        this.order = new Random(Math.imul(this.settings.seed, 0x27d4eb2f) ^ Math.imul(epoch + 1, 0x165667b1)).shuffle(
          this.data.train.map((_, i) => i),
        );
        this.orderName = name;
      }
      return this.data.train[this.order[this.drawn++ % this.data.train.length]];
    });
  }

  // Accuracy on the first `count` held-out pairs.
  /** @param {number} count */
  evaluate(count) {
    const pairs = this.data.valid.slice(0, count);
    const linkedPairs = this.data.linked ? pairs.slice(0, this.chunk()) : [];
    const linkShares = linkedPairs.length ? measureLinkShares(this, linkedPairs) : null;
    const measured = { ...measureAccuracy(this, pairs, this.chunk()), linkShares, linkCount: linkedPairs.length };
    return { step: this.step, checksum: this.checksum(), ...measured };
  }

  chunk() {
    return Math.max(MIN_CHUNK, this.settings.batch);
  }

  // The examples as they are now; their outputs too if `decodes`.
  /** @param {boolean} decodes */
  observe(decodes) {
    return observeExamples(this, this.examples, decodes);
  }

  // The output for an own input, and where the heads look while it is written.
  /** @param {string} text symbols separated by spaces; without spaces, characters */
  translate(text) {
    const ids = this.idsOf(text);
    return observeExamples(this, [{ src: [...ids, EOS], tgt: [], links: null }], true, true)[0];
  }

  idsOf(text) {
    const words = normalised(text).trim().split(/\s+/u).filter(Boolean);
    const isKnown = (symbol) => this.data.symbols.includes(symbol);
    const parts = words.flatMap((word) =>
      isKnown(word) ? [word] : [...word].every(isKnown) ? [...word] : symbolsOf(word)
    );
    if (!parts.length) throw new RangeError("Type an input first.");
    const unknown = parts.find((part) => !isKnown(part));
    if (unknown) {
      throw new RangeError(
        `The model has no symbol “${unknown}”; it has ${this.data.symbols.slice(4, 44).join(" ")}${
          this.data.symbols.length > 44 ? " …" : ""
        }.`,
      );
    }
    if (parts.length + 1 > this.longest) {
      throw new RangeError(`The input has ${parts.length} symbols; it can have at most ${this.longest - 1} here.`);
    }
    return parts.map(encoder(this.data.symbols));
  }

  // Of the bytes of all weights.
  checksum() {
    const { values } = this.parameters;
    return checksumOf(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  /** @returns {import("./protocol.d.ts").RunState} */
  state() {
    const { values, first, second } = this.parameters;
    return {
      description: structuredClone(this.description),
      step: this.step,
      drawn: this.drawn,
      weights: values.slice(),
      firstMoment: first.slice(),
      secondMoment: second.slice(),
    };
  }
}

/** @param {number} bytes */
function makeKernels(bytes) {
  try {
    return new Kernels(bytes);
  } catch (error) {
    if (isForbidden(error)) {
      throw new Error(
        "The Content-Security-Policy of this page forbids WebAssembly, which training needs: its server must allow 'wasm-unsafe-eval' in script-src.",
      );
    }
    const megabytes = Math.ceil(bytes / 1e6);
    throw new Error(
      `This browser cannot train the model: it needs WebAssembly with SIMD and ${megabytes} MB of memory.`,
    );
  }
}
