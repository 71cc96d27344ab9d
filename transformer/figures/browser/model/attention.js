// MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2 of the paper).

import { atSite } from "./hooks.js";
import { joinRows, linear, mergeHeads, softmax, splitHeads, Tensor } from "./tensor.js";

/** @typedef {{ key: Tensor, value: Tensor }} KeysAndValues (heads, length, d_k) each */

export class MultiHeadAttention {
  // W^Q, W^K and W^V are the thirds of one matrix, rows ordered by head.
  /** @param {string} name of the module @param {(name: string) => Tensor} weight @param {any} config */
  constructor(name, weight, config) {
    this.name = name;
    this.config = config;
    const projections = weight(`${name}.w_qkv`);
    this.wQ = third(projections, 0);
    this.wK = third(projections, 1);
    this.wV = third(projections, 2);
    this.wO = weight(`${name}.w_o`);
    // The paper has no biases; imported models may have them.
    const biases = config.biases ? weight(`${name}.b_qkv`) : null;
    this.bQ = biases && third(biases, 0);
    this.bK = biases && third(biases, 1);
    this.bV = biases && third(biases, 2);
    this.bO = config.biases ? weight(`${name}.b_o`) : null;
    this.v = config.score === "additive" ? weight(`${name}.score.v`) : null;
  }

  // Keys and values. Computed once for the memory, and position by position for the output.
  /** @param {Tensor} memory @param {any} hooks @returns {KeysAndValues} */
  keysAndValues(memory, hooks) {
    const [key, value] = [linear(memory, this.wK, this.bK), linear(memory, this.wV, this.bV)].map((x) =>
      splitHeads(x, this.config.n_heads)
    );
    return { key: atSite(hooks, `${this.name}.hook_key`, key), value: atSite(hooks, `${this.name}.hook_value`, value) };
  }

  // `causal`: query i may attend to keys up to its own position; the last query is at the position of the last key.
  /** @param {Tensor} x @param {KeysAndValues} memory @param {boolean} causal @param {any} hooks */
  forward(x, { key, value }, causal, hooks) {
    const query = atSite(
      hooks,
      `${this.name}.hook_query`,
      splitHeads(linear(x, this.wQ, this.bQ), this.config.n_heads),
    );
    const scores = atSite(hooks, `${this.name}.hook_scores`, this.scores(query, key));
    const weights = atSite(hooks, `${this.name}.hook_weights`, attentionWeights(scores, causal));
    const heads = atSite(hooks, `${this.name}.hook_heads`, weightedSum(weights, value));
    return atSite(hooks, `${this.name}.hook_output`, linear(mergeHeads(heads), this.wO, this.bO));
  }

  // q·k / √d_k (eq. 1); "dot" leaves out 1/√d_k, "additive" is v·tanh(q + k) (Bahdanau et al. 2015).
  /** @param {Tensor} query @param {Tensor} key */
  scores(query, key) {
    const [heads, queries, size] = query.shape;
    const keys = key.shape[1];
    const factor = this.config.score === "scaled_dot" ? size ** -0.5 : 1;
    const scores = new Tensor([heads, queries, keys]);
    let index = 0;
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < queries; i++) {
        const q = query.row(h * queries + i);
        for (let j = 0; j < keys; j++, index++) {
          const k = key.row(h * keys + j);
          let sum = 0;
          if (this.v) { for (let d = 0; d < size; d++) sum += this.v.values[h * size + d] * Math.tanh(q[d] + k[d]); }
          else for (let d = 0; d < size; d++) sum += q[d] * k[d];
          scores.values[index] = sum * factor;
        }
      }
    }
    return scores;
  }
}

/** @param {Tensor} tensor @param {number} i */
function third({ shape: [rows, ...rest], values }, i) {
  const size = values.length / 3;
  return new Tensor([rows / 3, ...rest], values.subarray(i * size, (i + 1) * size));
}

// Softmax over the keys; a key that a query may not attend to has the score −∞ (section 3.2.3).
/** @param {Tensor} scores @param {boolean} causal */
export function attentionWeights(scores, causal) {
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
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < queries; i++) {
      const [w, sum] = [weights.row(h * queries + i), sums.row(h * queries + i)];
      for (let j = 0; j < keys; j++) {
        const v = value.row(h * keys + j);
        for (let d = 0; d < size; d++) sum[d] += w[j] * v[d];
      }
    }
  }
  return sums;
}

// Appends the keys and values of new positions to those in the cache.
/** @param {KeysAndValues | null} before @param {KeysAndValues} added @returns {KeysAndValues} */
export const append = (before, added) =>
  before ? { key: joinRows(before.key, added.key), value: joinRows(before.value, added.value) } : added;
