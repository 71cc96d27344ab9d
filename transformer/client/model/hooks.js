// Hooks read or replace what the model computes, for one call: an object of functions by the names of sites,
// such as "decoder.layers.5.cross_attn.hook_weights", the same names as in Python. `fn(tensor, name, start)` returns
// nothing, or a tensor that replaces it; `start` is the position of the tensor's first row in the sequence, above 0 for
// the decoder's rows while it writes token by token.

import { headOfCode, readOff } from "../common/head-codes.js";
import { withoutColumns } from "./tensor.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {Record<string, (tensor: Tensor, name: string, start: number) => Tensor | undefined>} Hooks */

// The value at a site after its hook has run.
/** @param {Hooks | null} hooks @param {string} name @param {Tensor} tensor @param {number} start @returns {Tensor} */
export const atSite = (hooks, name, tensor, start = 0) => hooks?.[name]?.(tensor, name, start) ?? tensor;

// Combines sets of hooks; hooks of the same site run one after the other.
/** @param {(Hooks | null)[]} hookSets @returns {Hooks} */
export function combineHooks(...hookSets) {
  /** @type {Hooks} */
  const combinedHooks = {};
  for (const hooks of hookSets) {
    for (const [name, fn] of Object.entries(hooks ?? {})) {
      const earlierHook = combinedHooks[name];
      combinedHooks[name] = !earlierHook ? fn : (tensor, site, start) => {
        const changedTensor = earlierHook(tensor, site, start) ?? tensor;
        return fn(changedTensor, site, start) ?? changedTensor;
      };
    }
  }
  return combinedHooks;
}

// Hooks that record every site of one pass in `recorded`, by name.
/** @param {Record<string, Tensor>} recorded @param {string[]} names @returns {Hooks} */
export const recordInto = (recorded, names) =>
  Object.fromEntries(names.map((name) => [name, (tensor) => {
    recorded[name] = tensor;
    return undefined;
  }]));

const SITES = {
  encoder: "encoder.layers.#.self_attn",
  decoder: "decoder.layers.#.self_attn",
  cross: "decoder.layers.#.cross_attn",
};

// The name of a hook of one attention: `siteOf("cross", 5, "weights")`.
/** @param {string} kind @param {number} layer @param {string} point */
export const siteOf = (kind, layer, point) => `${SITES[kind].replace("#", String(layer))}.hook_${point}`;

/** @typedef {{ kind: string, layer: number, head: number }} HeadName */

const ATTENTION_POINTS = ["query", "key", "value", "scores", "weights", "heads", "output"];
const attentionSites = (name) => ATTENTION_POINTS.map((point) => `${name}.hook_${point}`);
const normSites = (name) => [`${name}.hook_sum`, `${name}.hook_output`];

// Every site of a model, in the order in which it computes them.
/** @param {any} config */
export function siteNames({ n_layers }) {
  const layers = (side, parts) => Array.from({ length: n_layers }, (_, i) => parts(`${side}.layers.${i}`)).flat();
  const embedding = (side) => ["tokens", "positions", "output"].map((point) => `${side}.embed.hook_${point}`);
  const selfAttention = (name) => [...attentionSites(`${name}.self_attn`), ...normSites(`${name}.self_attn_norm`)];
  const crossAttention = (name) => [...attentionSites(`${name}.cross_attn`), ...normSites(`${name}.cross_attn_norm`)];
  const feedForward = (name) => [
    ...["hidden", "output"].map((point) => `${name}.ffn.hook_${point}`),
    ...normSites(`${name}.ffn_norm`),
  ];
  return [
    ...embedding("encoder"),
    ...layers("encoder", (name) => [...selfAttention(name), ...feedForward(name)]),
    "encoder.hook_memory",
    ...embedding("decoder"),
    ...layers("decoder", (name) => [...selfAttention(name), ...crossAttention(name), ...feedForward(name)]),
    "hook_logits",
  ];
}

// Heads as in the address, "e3.2,c5": encoder layer 3, head 2, and all heads of cross-attention layer 5.
/** @param {string} off @param {any} config @returns {HeadName[]} */
export function headsOf(off, { n_layers, n_heads }) {
  return [...readOff(off, { n_layers, n_heads })].map(headOfCode).filter(({ kind }) => kind);
}

// Switches heads off: sets their outputs, the input of W^O, to 0.
/** @param {HeadName[]} heads */
export const switchedOff = (heads) => changeHeads(heads, "heads", (row) => row.fill(0));

// The same on a tape, where heads are columns: their outputs are 0, and no gradient reaches them.
/** @param {HeadName[]} heads @param {{ n_heads: number, d_model: number }} config @returns {Hooks} */
export function withoutHeads(heads, { n_heads, d_model }) {
  return combineHooks(...heads.map(({ kind, layer, head }) => ({
    [siteOf(kind, layer, "heads")]: (tensor) =>
      withoutColumns(tensor, head * d_model / n_heads, (head + 1) * d_model / n_heads),
  })));
}

// Makes heads uniform: all their scores are 0 before the mask.
/** @param {HeadName[]} heads */
export const uniform = (heads) => changeHeads(heads, "scores", (row) => row.fill(0));

// Replaces heads by their mean output over all positions of some traces.
/** @param {HeadName[]} heads @param {Record<string, Tensor>[]} traces the tensors of each trace, including the heads' outputs */
export function toMean(heads, traces) {
  return changeHeads(heads, "heads", (rows, { kind, layer, head }, size) => {
    const recorded = traces.map((sites) => sites[siteOf(kind, layer, "heads")]);
    const positions = recorded.reduce((sum, { shape }) => sum + shape[1], 0);
    const mean = new Float64Array(size);
    for (const { shape: [, length], values } of recorded) {
      values.subarray(head * length * size, (head + 1) * length * size).forEach((value, i) => {
        mean[i % size] += value / positions;
      });
    }
    for (let i = 0; i < rows.length; i++) rows[i] = mean[i % size];
  });
}

// Calls `change(values of one head, head, width of a row)` on a copy of the tensor at this point of each
// attention.
/** @param {HeadName[]} heads @param {string} point @param {(rows: Float32Array, head: HeadName, width: number) => unknown} change */
function changeHeads(heads, point, change) {
  return combineHooks(...heads.map((headName) => ({
    [siteOf(headName.kind, headName.layer, point)]: (tensor) => {
      const changed = tensor.clone();
      const [, length, width] = changed.shape;
      change(
        changed.values.subarray(headName.head * length * width, (headName.head + 1) * length * width),
        headName,
        width,
      );
      return changed;
    },
  })));
}
