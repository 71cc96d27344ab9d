// The boxes of the paper's Figure 1 between attention and the whole model.

import { append, MultiHeadAttention } from "./attention.js";
import { atSite } from "./hooks.js";
import { positionsOf } from "./positions.js";
import { activate, add, dropout, layerNorm, linear } from "./tensor.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */

const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  swish: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
};

// LayerNorm(x + Dropout(Sublayer(x))), post-norm as in the paper (sections 3.1 and 5.4).
export class AddAndNorm {
  constructor(name, weight, config) {
    this.name = name;
    this.config = config;
    this.gain = weight(`${name}.norm.weight`);
    this.bias = weight(`${name}.norm.bias`);
  }

  /** @param {Tensor} x @param {Tensor} sublayer the sublayer's output for x @param {any} hooks @param {number} start position of the first row */
  forward(x, sublayer, hooks, start = 0) {
    const added = this.config.residual ? add(x, sublayer, this.config.dropout) : dropout(sublayer, this.config.dropout);
    const sum = atSite(hooks, `${this.name}.hook_sum`, added, start);
    return atSite(hooks, `${this.name}.hook_output`, layerNorm(sum, this.gain, this.bias), start);
  }
}

// FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, applied to each position separately (section 3.3, eq. 2).
export class FeedForward {
  constructor(name, weight, config) {
    this.name = name;
    this.activation = ACTIVATIONS[config.activation];
    this.w1 = weight(`${name}.w_1.weight`);
    this.b1 = weight(`${name}.w_1.bias`);
    this.w2 = weight(`${name}.w_2.weight`);
    this.b2 = weight(`${name}.w_2.bias`);
  }

  /** @param {Tensor} x @param {any} hooks @param {number} start position of the first row */
  forward(x, hooks, start = 0) {
    const hidden = activate(linear(x, this.w1, this.b1), this.activation);
    const written = linear(atSite(hooks, `${this.name}.hook_hidden`, hidden, start), this.w2, this.b2);
    return atSite(hooks, `${this.name}.hook_output`, written, start);
  }
}

// Embeddings plus positional encodings, then dropout (sections 3.5 and 5.4).
export class AddPositions {
  constructor(name, weight, config) {
    this.name = name;
    this.config = config;
    this.learned = config.positions === "learned" ? weight(`${name}.positions.weight`) : undefined;
  }

  /** @param {Tensor} embedded @param {number} start position of the first token */
  forward(embedded, hooks, start = 0) {
    const tokens = atSite(hooks, `${this.name}.hook_tokens`, embedded, start);
    const encoding = positionsOf(this.config, this.learned, embedded, start);
    const sum = add(tokens, atSite(hooks, `${this.name}.hook_positions`, encoding, start));
    return atSite(hooks, `${this.name}.hook_output`, dropout(sum, this.config.dropout), start);
  }
}

// Self-attention and feed-forward, each with its residual and norm.
export class EncoderLayer {
  constructor(name, weight, config) {
    this.selfAttention = new MultiHeadAttention(`${name}.self_attn`, weight, config);
    this.selfAttentionNorm = new AddAndNorm(`${name}.self_attn_norm`, weight, config);
    this.feedForward = new FeedForward(`${name}.ffn`, weight, config);
    this.feedForwardNorm = new AddAndNorm(`${name}.ffn_norm`, weight, config);
  }

  /** @param {Tensor} x */
  forward(x, hooks) {
    const keysAndValues = this.selfAttention.keysAndValues(x, hooks);
    x = this.selfAttentionNorm.forward(x, this.selfAttention.forward(x, keysAndValues, false, hooks), hooks);
    return this.feedForwardNorm.forward(x, this.feedForward.forward(x, hooks), hooks);
  }
}

// Masked self-attention, attention over the memory, feed-forward.
export class DecoderLayer {
  constructor(name, weight, config) {
    this.config = config;
    this.selfAttention = new MultiHeadAttention(`${name}.self_attn`, weight, config);
    this.selfAttentionNorm = new AddAndNorm(`${name}.self_attn_norm`, weight, config);
    this.crossAttention = new MultiHeadAttention(`${name}.cross_attn`, weight, config);
    this.crossAttentionNorm = new AddAndNorm(`${name}.cross_attn_norm`, weight, config);
    this.feedForward = new FeedForward(`${name}.ffn`, weight, config);
    this.feedForwardNorm = new AddAndNorm(`${name}.ffn_norm`, weight, config);
  }

  // `cache.memory` has the keys and values of the memory, `cache.self` those of the positions before x (null at the
  // beginning).
  // Returns the new states, and the keys and values that the next position may attend to.
  /** @param {Tensor} x */
  forward(x, cache, hooks) {
    const start = cache.self?.key.tape ? 0 : cache.self?.key.shape[1] ?? 0;
    const selfKeysAndValues = append(cache.self, this.selfAttention.keysAndValues(x, hooks, start));
    const looked = this.selfAttention.forward(x, selfKeysAndValues, this.config.causal, hooks, start);
    x = this.selfAttentionNorm.forward(x, looked, hooks, start);
    const attended = this.config.cross === "memory"
      ? this.crossAttention.forward(x, cache.memory, false, hooks, start)
      : this.crossAttention.forward(
        x,
        this.crossAttention.keysAndValues(x, hooks, start),
        this.config.cross === "decoder",
        hooks,
        start,
      );
    x = this.crossAttentionNorm.forward(x, attended, hooks, start);
    x = this.feedForwardNorm.forward(x, this.feedForward.forward(x, hooks, start), hooks, start);
    return { x, selfKeysAndValues };
  }
}

// The error function, to 1.2e-7 (Numerical Recipes, 6.2).
function erf(x) {
  const t = 1 / (1 + Math.abs(x) / 2);
  const terms = [
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
  ];
  const polynomial = terms.reduceRight((sum, term) => sum * t + term, 0);
  const tail = t * Math.exp(-x * x + polynomial);
  return x >= 0 ? 1 - tail : tail - 1;
}
