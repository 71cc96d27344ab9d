// The whole model of "Attention Is All You Need" (Vaswani et al. 2017): encoder, decoder, one shared
// embedding. Read this file first; every box of the paper's Figure 1 is a class in layers.js or
// attention.js, with the same names as in the Python model (transformer/model/).
//
// It translates one sentence at a time, or computes a batch on a tape (tape.js), whose sequences lie end to end:
// `packed` is the tape and where each of them starts. There is no padding, so the only mask is the causal one.

import { atSite } from "./hooks.js";
import { AddPositions, DecoderLayer, EncoderLayer } from "./layers.js";
import { linear, lookup } from "./tensor.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {{ tape: import("./tape.js").Tape, starts: Int32Array }} Packed */

const DEFAULTS = {
  d_model: 512,
  n_layers: 6,
  n_heads: 8,
  d_ff: 2048,
  score: "scaled_dot",
  positions: "sinusoidal",
  max_len: 512,
  pad_id: 0,
  bos_id: 1,
  eos_id: 2,
  unk_id: 3,
  biases: false,
  activation: "relu",
  output_bias: false,
  scale_embedding: true,
  dropout: 0,
  causal: true, // for training only
  // What a fault changes (training/faults.js):
  softmax: "keys",
  residual: true,
  cross: "memory",
};

export class Transformer {
  /** @param {any} settings a checkpoint's config.json @param {Record<string, Tensor>} weights by name */
  constructor(settings, weights) {
    const config = { ...DEFAULTS, ...settings };
    this.config = config;
    this.kinds = ["encoder", "decoder", "cross"]; // of attention
    const weight = (name) => {
      if (!weights[name]) throw new Error(`The model file has no weights called ${name}.`);
      return weights[name];
    };
    const layers = (Layer, name) =>
      Array.from({ length: config.n_layers }, (_, i) => new Layer(`${name}.layers.${i}`, weight, config));
    this.embedding = weight("embedding.weight");
    this.outputBias = config.output_bias ? weight("output_bias") : null;
    this.encoderPositions = new AddPositions("encoder.embed", weight, config);
    this.encoderLayers = layers(EncoderLayer, "encoder");
    this.decoderPositions = new AddPositions("decoder.embed", weight, config);
    this.decoderLayers = layers(DecoderLayer, "decoder");
  }

  // The encoder's output: one vector per source position.
  /** @param {ArrayLike<number>} source ids, `</s>` last @param {any} hooks @param {Packed | null} packed @returns {Tensor} */
  encode(source, hooks = null, packed = null) {
    let x = this.encoderPositions.forward(this.embed(source, packed), hooks);
    for (const layer of this.encoderLayers) x = layer.forward(x, hooks);
    return atSite(hooks, "encoder.hook_memory", x);
  }

  // The cache before the first token. `decode` returns a new cache and leaves the old one unchanged, so that beam
  // hypotheses can share a prefix.
  /** @param {Tensor} memory */
  start(memory, hooks = null) {
    const layers = this.decoderLayers.map((layer) => ({
      self: null,
      memory: layer.crossAttention.keysAndValues(memory, hooks),
    }));
    return { length: 0, layers };
  }

  // Decoder states of the tokens `ids`, which follow those in the cache, and the new cache.
  /** @param {ArrayLike<number>} ids @param {any} cache @param {any} hooks @param {Packed | null} packed */
  decode(ids, cache, hooks = null, packed = null) {
    let x = this.decoderPositions.forward(this.embed(ids, packed), hooks, cache.length);
    const layers = this.decoderLayers.map((layer, i) => {
      const result = layer.forward(x, cache.layers[i], hooks);
      x = result.x;
      return { ...cache.layers[i], self: result.selfKeysAndValues };
    });
    const added = packed ? packed.starts[1] : ids.length; // on a tape, equally many of each sequence
    return { states: x, cache: { length: cache.length + added, layers } };
  }

  // Decoder states to logits, with the embedding matrix again (section 3.4).
  /** @param {Tensor} states */
  project(states, hooks = null) {
    return atSite(hooks, "hook_logits", linear(states, this.embedding, this.outputBias));
  }

  // Logits of the token after each target position; `target` begins with `<s>`.
  /** @param {number[]} source @param {number[]} target */
  forward(source, target, hooks = null) {
    const cache = this.start(this.encode(source, hooks), hooks);
    return this.project(this.decode(target, cache, hooks).states, hooks);
  }

  // Rows of the shared matrix × √d_model (section 3.4).
  /** @param {ArrayLike<number>} ids @param {Packed | null} packed */
  embed(ids, packed = null) {
    return lookup(this.embedding, ids, this.config.scale_embedding ? Math.sqrt(this.config.d_model) : 1, packed);
  }
}
