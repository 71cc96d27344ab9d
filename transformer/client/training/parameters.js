// The weights of a model in training: names and shapes as in Python's checkpoints, and their initial values.

import { Tensor } from "../model/tensor.js";
import { Random } from "./random.js";

export const LEARNED_POSITIONS = 128;

// Name, shape and kind of each weight, in the order of Python's model.
/** @param {any} config @returns {[string, number[], string][]} */
export function parameterShapes(
  { model = "transformer", vocab_size, d_model, d_ff, n_layers, n_heads, positions, score },
) {
  const embedding = ["embedding.weight", [vocab_size, d_model], "normal"];
  if (model !== "transformer") return /** @type {any} */ ([embedding, ...recurrentShapes(model, d_model)]);
  const attention = (name) => [
    [`${name}.w_qkv`, [3 * d_model, d_model], "projection"],
    [`${name}.w_o`, [d_model, d_model], "branch"],
    ...(score === "additive" ? [[`${name}.score.v`, [n_heads, d_model / n_heads], "score"]] : []),
  ];
  const norm = (name) => [[`${name}.norm.weight`, [d_model], "one"], [`${name}.norm.bias`, [d_model], "zero"]];
  const feedForward = (name) => [
    [`${name}.w_1.weight`, [d_ff, d_model], "xavier"],
    [`${name}.w_1.bias`, [d_ff], "zero"],
    [`${name}.w_2.weight`, [d_model, d_ff], "branch"],
    [`${name}.w_2.bias`, [d_model], "zero"],
  ];
  const layer = (side, i) => {
    const name = `${side}.layers.${i}`;
    const cross = side === "decoder" ? [...attention(`${name}.cross_attn`), ...norm(`${name}.cross_attn_norm`)] : [];
    return [
      ...attention(`${name}.self_attn`),
      ...norm(`${name}.self_attn_norm`),
      ...cross,
      ...feedForward(`${name}.ffn`),
      ...norm(`${name}.ffn_norm`),
    ];
  };
  const stack = (side) => [
    ...(positions === "learned" ? [[`${side}.embed.positions.weight`, [LEARNED_POSITIONS, d_model], "normal"]] : []),
    ...Array.from({ length: n_layers }, (_, i) => layer(side, i)).flat(),
  ];
  return /** @type {any} */ ([
    embedding,
    ...stack("encoder"),
    ...stack("decoder"),
  ]);
}

// Those of the models of recurrent.js, initialised as in torch.nn.GRU.
function recurrentShapes(model, d_model) {
  const matrix = (name, rows = 1) => [name, [rows * d_model, d_model], "recurrent"];
  const gru = (name) => [
    matrix(`${name}.w_x`, 3),
    [`${name}.b_x`, [3 * d_model], "recurrent"],
    matrix(`${name}.w_h`, 3),
    [`${name}.b_h`, [3 * d_model], "recurrent"],
  ];
  const attention = [matrix("attention.w_query"), matrix("attention.w_key"), ["attention.v", [d_model], "recurrent"]];
  return [
    ...gru("encoder.forwards"),
    ...gru("encoder.backwards"),
    ...gru("decoder"),
    matrix("decoder.w_c", 3),
    ...(model === "gru_attention" ? attention : []),
  ];
}

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** @param {any} config */
export const countParameters = (config) => parameterShapes(config).reduce((sum, [, shape]) => sum + sizeOf(shape), 0);

// All weights in one block, so that Adam is one call: `values` and `grads`, and the same as tensors by name.
/** @param {any} config @param {import("../model/kernels.js").Kernels} kernels */
export function allocateParameters(config, kernels) {
  const count = countParameters(config);
  const [values, grads, first, second] = Array.from({ length: 4 }, () => kernels.allocate(count).fill(0));
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  let start = 0;
  for (const [name, shape] of parameterShapes(config)) {
    const end = start + sizeOf(shape);
    tensors[name] = Object.assign(new Tensor(shape, values.subarray(start, end)), { grad: grads.subarray(start, end) });
    start = end;
  }
  return { count, values, grads, first, second, tensors };
}

// The initial values of Python's model: Xavier-uniform matrices (Glorot and Bengio 2010), smaller where they end a
// sublayer (`branch_gain` in config.py); embeddings normal with variance 1/d_model.
/** @param {any} config @param {Record<string, Tensor>} tensors @param {number} seed @param {{ log: any, cos: any }} functions */
export function initialize(config, tensors, seed, { log, cos }) {
  const random = new Random(seed);
  const normal = () => Math.sqrt(-2 * log(1 - random.next())) * cos(2 * Math.PI * random.next()); // Box and Muller 1958
  const gains = { xavier: 1, projection: Math.sqrt(0.5), branch: 1 / Math.sqrt(2 * config.n_layers) };
  for (const [name, shape, kind] of parameterShapes(config)) {
    const { values } = tensors[name];
    const [rows, columns] = kind === "projection" ? [shape[0] / 3, shape[1]] : shape; // W^Q, W^K and W^V separately
    const widths = { recurrent: config.d_model, score: columns };
    const bound = widths[kind] ? widths[kind] ** -0.5 : gains[kind] * Math.sqrt(6 / (rows + columns));
    const draw = { zero: () => 0, one: () => 1, normal: () => normal() / Math.sqrt(config.d_model) }[kind] ??
      (() => bound * (2 * random.next() - 1));
    for (let i = 0; i < values.length; i++) values[i] = draw();
  }
}
