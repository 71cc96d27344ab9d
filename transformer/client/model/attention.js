// MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2 of the paper).
//
// Written twice: step by step, with every tensor at a hook, for one sentence; and as one kernel for all sequences of a
// tape, with its way back. Both give the same numbers (tests/figures/scripts/training.test.js).

import { atSite } from "./hooks.js";
import { attentionOverQueries } from "./query-softmax.js";
import { joinRows, linear, mergeHeads, paddedCount, softmax, splitHeads, Tensor } from "./tensor.js";

/** @typedef {{ key: Tensor, value: Tensor }} KeysAndValues (heads, length, d_k) each; on a tape (rows, d_model) */

export class MultiHeadAttention {
  // W^Q, W^K and W^V are the thirds of one matrix, rows ordered by head.
  /** @param {string} name of the module @param {(name: string) => Tensor} weight @param {any} config */
  constructor(name, weight, config) {
    this.name = name;
    this.config = config;
    const projections = weight(`${name}.w_qkv`);
    const { d_model } = config;
    this.wQ = projections.part(0, d_model);
    this.wK = projections.part(d_model, d_model);
    this.wV = projections.part(2 * d_model, d_model);
    this.wO = weight(`${name}.w_o`);
    // The paper has no biases; imported models may have them.
    const biases = config.biases ? weight(`${name}.b_qkv`) : null;
    this.bQ = biases && biases.part(0, d_model);
    this.bK = biases && biases.part(d_model, d_model);
    this.bV = biases && biases.part(2 * d_model, d_model);
    this.bO = config.biases ? weight(`${name}.b_o`) : null;
    this.v = config.score === "additive" ? weight(`${name}.score.v`) : null;
  }

  // Keys and values. Computed once for the memory, and position by position for the output.
  /** @param {Tensor} memory @param {any} hooks @param {number} start position of the first row @returns {KeysAndValues} */
  keysAndValues(memory, hooks, start = 0) {
    const projections = { key: linear(memory, this.wK, this.bK), value: linear(memory, this.wV, this.bV) };
    if (memory.tape) return projections;
    const { key, value } = {
      key: splitHeads(projections.key, this.config.n_heads),
      value: splitHeads(projections.value, this.config.n_heads),
    };
    return {
      key: atSite(hooks, `${this.name}.hook_key`, key, start),
      value: atSite(hooks, `${this.name}.hook_value`, value, start),
    };
  }

  // `causal`: query i may attend to keys up to its own position; the last query is at the position of the last key. On a
  // tape it may be a number: 2 shows one key too many.
  /** @param {Tensor} x @param {KeysAndValues} memory @param {boolean | number} causal @param {any} hooks @param {number} start position of the first query */
  forward(x, { key, value }, causal, hooks, start = 0) {
    if (x.tape) {
      const query = linear(x, this.wQ, this.bQ);
      const { heads, weights } = this.packed(query, key, value, causal);
      atSite(hooks, `${this.name}.hook_weights`, weights);
      return linear(atSite(hooks, `${this.name}.hook_heads`, heads), this.wO, this.bO);
    }
    const at = (point, tensor) => atSite(hooks, `${this.name}.hook_${point}`, tensor, start);
    const query = at("query", splitHeads(linear(x, this.wQ, this.bQ), this.config.n_heads));
    const weights = at("weights", attentionWeights(at("scores", this.scores(query, key)), causal));
    const heads = at("heads", weightedSum(weights, value));
    return at("output", linear(mergeHeads(heads), this.wO, this.bO));
  }

  /** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {boolean | number} causal */
  packed(query, key, value, causal) {
    const { n_heads, softmax } = this.config;
    if (this.v) return packedAdditiveAttention(query, key, value, this.v, n_heads, causal);
    const attend = softmax === "keys" ? packedAttention : attentionOverQueries;
    return attend(query, key, value, n_heads, this.scale(), causal);
  }

  scale() {
    return this.config.score === "scaled_dot" ? (this.config.d_model / this.config.n_heads) ** -0.5 : 1;
  }

  // q·k / √d_k (eq. 1); "dot" leaves out 1/√d_k, "additive" is v·tanh(q + k) (Bahdanau et al. 2015).
  /** @param {Tensor} query @param {Tensor} key */
  scores(query, key) {
    const [heads, queries, size] = query.shape;
    const keys = key.shape[1];
    const factor = this.scale();
    const scores = new Tensor([heads, queries, keys]);
    const [{ values: q }, { values: k }] = [query, key];
    let index = 0;
    for (let row = 0; row < heads * queries; row++) {
      const [head, from] = [Math.floor(row / queries), row * size];
      for (let j = 0, to = head * keys * size; j < keys; j++, to += size, index++) {
        let sum = 0;
        if (this.v) {
          for (let d = 0; d < size; d++) sum += this.v.values[head * size + d] * Math.tanh(q[from + d] + k[to + d]);
        } else for (let d = 0; d < size; d++) sum += q[from + d] * k[to + d];
        scores.values[index] = sum * factor;
      }
    }
    return scores;
  }
}

// Softmax over the keys; a key that a query may not attend to has the score −∞ (section 3.2.3).
/** @param {Tensor} scores @param {boolean | number} causal */
function attentionWeights(scores, causal) {
  const weights = scores.clone();
  const [heads, queries, keys] = scores.shape;
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < queries; i++) {
      const row = weights.row(h * queries + i);
      if (causal) row.fill(-Infinity, keys - queries + i + 1);
      softmax(row);
    }
  }
  return weights;
}

// The output of each head: (heads, queries, keys) and (heads, keys, d_k) to (heads, queries, d_k).
/** @param {Tensor} weights @param {Tensor} value */
function weightedSum(weights, value) {
  const [heads, queries, keys] = weights.shape;
  const size = value.shape[2];
  const sums = new Tensor([heads, queries, size]);
  for (let row = 0; row < heads * queries; row++) {
    for (let j = 0, from = Math.floor(row / queries) * keys * size; j < keys; j++, from += size) {
      const share = weights.values[row * keys + j];
      for (let d = 0; d < size; d++) sums.values[row * size + d] += share * value.values[from + d];
    }
  }
  return sums;
}

// Weights of all sequences on a tape: of each sequence and head a matrix (queries, padded keys), one after the other; those
// of sequence i begin at firsts[i]. `table` has four integers per sequence: first query row, queries, first key row, keys.
/** @param {{ tape: import("./tape.js").Tape, starts: Int32Array }} queries @param {Tensor} key @param {number} nHeads */
export function allocateWeights({ tape: { kernels }, starts }, key, nHeads = 1) {
  const sequences = starts.length - 1;
  const table = kernels.allocate(4 * sequences, Int32Array);
  const firsts = [];
  let count = 0;
  for (let i = 0; i < sequences; i++) {
    const [queries, keys] = [starts[i + 1] - starts[i], key.starts[i + 1] - key.starts[i]];
    table.set([starts[i], queries, key.starts[i], keys], 4 * i);
    firsts.push(count);
    count += nHeads * queries * paddedCount(keys);
  }
  return Object.assign(new Tensor([count], kernels.allocate(count)), { table, firsts });
}

// The heads' outputs (rows, d_model) of all sequences on a tape, and their weights.
/** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {number} nHeads @param {number} scale @param {boolean | number} causal */
export function packedAttention(query, key, value, nHeads, scale, causal) {
  const { tape, tape: { kernels: { run } } } = query;
  const sequences = query.starts.length - 1;
  const size = query.shape[1] / nHeads;
  const weights = allocateWeights(query, key, nHeads);
  const heads = query.result(query.shape);
  const [q, k, v, w, t] = [query.values, key.values, value.values, weights.values, weights.table].map((array) =>
    array.byteOffset
  );
  run.attend(q, k, v, heads.values.byteOffset, w, t, sequences, nHeads, size, scale, causal);
  tape.record(() => {
    const [gy, gq, gk, gv] = [heads, query, key, value].map(({ grad }) => grad.byteOffset);
    run.attendBack(q, k, v, gy, w, gq, gk, gv, t, sequences, nHeads, size, scale);
  });
  return { heads, weights };
}

// The same with additive scores, v·tanh(q + k), of which `v` has a row for each head.
/** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {Tensor} v @param {number} nHeads @param {boolean | number} causal */
export function packedAdditiveAttention(query, key, value, v, nHeads, causal) {
  const weights = allocateWeights(query, key, nHeads);
  const rows = query.shape[0];
  const table = query.tape.kernels.allocate(4 * nHeads * rows, Int32Array);
  weights.firsts.forEach((start, sequence) => {
    const [first, queries, firstKey, keys] = weights.table.subarray(4 * sequence, 4 * sequence + 4);
    for (let h = 0; h < nHeads; h++) {
      for (let i = 0; i < queries; i++) {
        const seen = causal ? Math.min(keys, keys - queries + i + Number(causal)) : keys;
        const place = start + (h * queries + i) * paddedCount(keys);
        table.set([firstKey, seen, place, paddedCount(keys)], 4 * (h * rows + first + i));
      }
    }
  });
  return { heads: additiveAttention(query, key, value, v, weights, table, nHeads), weights };
}

// The sum of the values by the weights softmax(v·tanh(q + k)) of each query (Bahdanau et al. 2015, section A.1.2), with
// `table` of four integers per head and query as in kernels.ts.
/** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {Tensor} v @param {Tensor} weights @param {Int32Array} table */
export function additiveAttention(query, key, value, v, weights, table, nHeads = 1) {
  const { tape, tape: { kernels: { run } } } = query;
  const [rows, width] = query.shape;
  const size = width / nHeads;
  const sums = query.result(query.shape);
  // Calls a kernel for each head, with the addresses of its columns of these arrays and of its part of the table.
  const eachHead = (kernel, arrays, others) => {
    for (let h = 0; h < nHeads; h++) {
      const [addresses, otherAddresses] = [arrays, others].map((part) =>
        part.map(({ byteOffset }) => byteOffset + 4 * h * size)
      );
      const place = table.byteOffset + 16 * h * rows;
      kernel(...addresses, weights.values.byteOffset, ...otherAddresses, place, rows, size, width);
    }
  };
  const inputs = [query, key, value, v];
  const values = inputs.map((input) => input.values);
  eachHead(run.attendAdditive, [...values, sums.values], []);
  tape.record(() => eachHead(run.attendAdditiveBack, [...values, sums.grad], inputs.map(({ grad }) => grad)));
  return sums;
}

// Appends the keys and values of new positions to those in the cache.
/** @param {KeysAndValues | null} before @param {KeysAndValues} added @returns {KeysAndValues} */
export const append = (before, added) =>
  before ? { key: joinRows(before.key, added.key), value: joinRows(before.value, added.value) } : added;
