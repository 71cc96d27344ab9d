// Recurrent encoder–decoders, to see what attention is for, and then what the Transformer does without recurrence.
//
// Both read the source with two GRUs, one from each end, and write with another one. Without attention all that the decoder
// knows of the source is one vector, the encoder's last state (Cho et al. 2014, arXiv 1406.1078, section 2.2). With it, the
// decoder attends at every step to all states of the encoder (Bahdanau et al. 2015, arXiv 1409.0473, sections 3.1 and 3.2;
// there the states of both directions are concatenated, here they are added). The encoder is the same, so that the two
// models differ in attention alone.
//
// The methods are those of class Transformer, always on a tape.

import { additiveAttention, allocateWeights } from "./attention.js";
import { atSite, siteOf } from "./hooks.js";
import { add, linear, lookup, paddedCount } from "./tensor.js";

/** @typedef {import("./transformer.js").Packed} Packed */
/** @typedef {import("./tensor.js").Tensor} Tensor */

const [WEIGHTS, HEADS] = ["weights", "heads"].map((point) => siteOf("cross", 0, point));

export class RecurrentModel {
  /** @param {any} config @param {Record<string, Tensor>} weights by the names of parameters.js */
  constructor(config, weights) {
    this.config = { ...config, n_layers: 1, n_heads: 1 };
    this.kinds = config.model === "gru_attention" ? ["cross"] : [];
    this.embedding = weights["embedding.weight"];
    const gruOf = (name) =>
      Object.fromEntries(["w_x", "b_x", "w_h", "b_h"].map((part) => [part, weights[`${name}.${part}`]]));
    this.forwards = gruOf("encoder.forwards");
    this.backwards = gruOf("encoder.backwards");
    this.decoder = gruOf("decoder");
    this.contextWeight = weights["decoder.w_c"];
    this.attention = this.kinds.length
      ? { query: weights["attention.w_query"], key: weights["attention.w_key"], v: weights["attention.v"] }
      : null;
  }

  // The encoder's state at each source token, of both directions.
  /** @param {ArrayLike<number>} source @param {any} _hooks @param {Packed} packed */
  encode(source, _hooks, packed) {
    const embedded = this.embed(source, packed);
    const zeros = packed.tape.tensor([packed.starts.length - 1, this.config.d_model], null);
    zeros.values.fill(0);
    const read = (gru, backwards) =>
      recurrence(linear(embedded, gru.w_x, gru.b_x), zeros, (x, h, states) => gruStep(x, h, gru, states), backwards);
    return add(read(this.forwards, false), read(this.backwards, true));
  }

  // The decoder begins with the encoder's last state.
  /** @param {Tensor} memory */
  start(memory) {
    const state = lastStates(memory);
    return { state, last: state, memory, keys: this.attention && linear(memory, this.attention.key) };
  }

  // The decoder's state after each target token: its input is the token and the context, here all the encoder's last
  // state, or the sum of its states by the weights of attention.
  /** @param {ArrayLike<number>} ids @param {any} cache @param {any} hooks @param {Packed} packed */
  decode(ids, cache, hooks, packed) {
    const { w_x, b_x } = this.decoder;
    const weights = this.attention && allocateWeights(packed, cache.memory);
    const contextOf = (h, active, time) => {
      if (!weights) return lookup(cache.last, active, 1, packed);
      const query = linear(h, this.attention.query);
      const table = queriesAt(weights, active, time, packed.tape.kernels);
      const heads = additiveAttention(query, cache.keys, cache.memory, this.attention.v, weights, table);
      return atSite(hooks, HEADS, heads);
    };
    const step = (x, h, states, active, time) =>
      gruStep(add(x, linear(contextOf(h, active, time), this.contextWeight)), h, this.decoder, states);
    const states = recurrence(linear(this.embed(ids, packed), w_x, b_x), cache.state, step);
    if (weights) atSite(hooks, WEIGHTS, weights);
    return { states, cache: { ...cache, state: lastStates(states) } };
  }

  /** @param {Tensor} states */
  project(states) {
    return linear(states, this.embedding);
  }

  /** @param {ArrayLike<number>} ids @param {Packed} packed */
  embed(ids, packed) {
    return lookup(this.embedding, ids, Math.sqrt(this.config.d_model), packed);
  }
}

// The states of all sequences: state t of each is `step(input t, state t − 1)`, from its end on if `backwards`. The longest sequence comes first, so that at
// each time those that have not ended are the first rows, as in PyTorch's PackedSequence.
/** @param {Tensor} inputs @param {Tensor} first state before each sequence @param {(x: Tensor, h: Tensor, states: Tensor, active: number[], time: number) => Tensor} step */
function recurrence(inputs, first, step, backwards = false) {
  const { tape, starts } = inputs;
  const lengths = Array.from(starts.subarray(1), (end, i) => end - starts[i]);
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b] - lengths[a]);
  const activeAt = Array.from({ length: lengths[order[0]] }, (_, t) => order.filter((i) => lengths[i] > t));
  const rows = activeAt.flatMap((active, t) => active.map((i) => backwards ? starts[i + 1] - 1 - t : starts[i] + t));
  const x = lookup(inputs, rows, 1, inputs);
  const states = tape.tensor([rows.length, first.shape[1]], null);
  let [h, from] = [lookup(first, order, 1, inputs), 0];
  activeAt.forEach((active, t) => {
    const count = active.length;
    h = step(x.part(from, count), h.part(0, count), states.part(from, count), active, t);
    from += count;
  });
  const places = [];
  rows.forEach((row, place) => places[row] = place);
  return lookup(states, places, 1, inputs);
}

/** @param {Tensor} states */
function lastStates(states) {
  const { tape, starts } = states;
  const sequences = Int32Array.from(starts, (_, i) => i);
  return lookup(states, starts.subarray(1).map((end) => end - 1), 1, { tape, starts: sequences });
}

// h' = (1 − z) n + z h with the gates r = σ(W_r x + U_r h) and z = σ(W_z x + U_z h), and n = tanh(W x + r U h) (Cho et al.
// 2014, section 2.3, eq. 5 to 8; here r scales U h and not h, as in torch.nn.GRU). `x` is W x already.
/** @param {Tensor} x @param {Tensor} h @param {any} weights @param {Tensor} y where the new state goes */
export function gruStep(x, h, { w_h, b_h }, y) {
  const u = linear(h, w_h, b_h);
  const { kernels, kernels: { run } } = x.tape;
  const [rows, size] = h.shape;
  const gates = kernels.allocate(3 * rows * size);
  const [xs, us, hs, gs, ys] = [x.values, u.values, h.values, gates, y.values].map(({ byteOffset }) => byteOffset);
  run.gru(xs, us, hs, gs, ys, rows, size);
  x.tape.record(() => {
    const [gy, gx, gu, gh] = [y, x, u, h].map(({ grad }) => grad.byteOffset);
    run.gruBack(us, hs, gs, gy, gx, gu, gh, rows, size);
  });
  return y;
}

// The queries of these sequences at this time, as `additiveAttention` takes them: W s_{i−1} and U h_j of Bahdanau et al.
// (2015, eq. 5 and 6) are its query and key, h_j its value.
/** @param {any} weights of allocateWeights @param {number[]} active @param {number} time @param {import("./kernels.js").Kernels} kernels */
export function queriesAt(weights, active, time, kernels) {
  const table = kernels.allocate(4 * active.length, Int32Array);
  active.forEach((sequence, i) => {
    const [first, keys] = weights.table.subarray(4 * sequence + 2, 4 * sequence + 4);
    const size = paddedCount(keys);
    table.set([first, keys, weights.firsts[sequence] + time * size, size], 4 * i);
  });
  return table;
}
