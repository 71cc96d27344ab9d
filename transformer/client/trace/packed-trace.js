// A trace as it is sent to the views, which derive everything that they draw from it: tokens, decoding steps, and the
// weights of all heads. figures/packed_trace.py and trace/pack-trace.js pack it. Vectors of heads are sent on demand.

import { indices } from "../common/base.js";
import { HeadWeights } from "./head-weights.js";

/** @typedef {import("./packing.js").PackedPart} PackedPart */
/**
 * @typedef {{
 *   source: string, text: string, srcTokens: string[], tgtTokens: string[], predictedTokens: string[], ids: number[],
 *   kinds: Kind[], depths: Record<Kind, number>, n_heads: number,
 *   steps: import("../model/translator.js").Trace["steps"], weights(kind: string, layer: number): HeadWeights,
 * }} ViewTrace a trace that was unpacked
 */

export const VECTORS = ["query", "key", "value", "scores", "heads"]; // of a head, by name
const MAX_UNPACKED = 4_000_000; // maximum number of weights that are kept as numbers

// The weight of every level from 0 to `top`.
const weightTables = new Map();
function weightsOfLevels(top) {
  if (!weightTables.has(top)) {
    weightTables.set(top, Float32Array.from({ length: top + 1 }, (_, level) => (level / top) ** 2));
  }
  return weightTables.get(top);
}

// The trace of a description; `part(name)` returns one of its arrays.
/** @param {any} description @param {(name: string) => PackedPart} part @returns {ViewTrace} */
export function unpackTrace(description, part) {
  const unpacked = new Map();
  let unpackedSize = 0;
  const candidateOf = ([token, id, probability]) => ({ token, id, probability });
  return {
    ...description,
    srcTokens: description.src,
    tgtTokens: description.tgt,
    predictedTokens: description.predicted,
    steps: description.steps.map(({ candidates, chosen }) => ({
      candidates: candidates.map(candidateOf),
      chosen: candidateOf(chosen),
    })),
    weights(kind, layer) {
      const name = `weights.${kind}.${layer}`;
      if (!unpacked.has(name)) {
        const { shape, top, values } = part(name);
        if (unpackedSize + values.length > MAX_UNPACKED) {
          unpacked.clear();
          unpackedSize = 0;
        }
        unpackedSize += values.length;
        const weights = new HeadWeights(shape, top ? undefined : values);
        const weightOf = weightsOfLevels(top);
        if (top) { for (let i = 0; i < values.length; i++) weights.values[i] = weightOf[values[i]]; }
        unpacked.set(name, weights);
      }
      return unpacked.get(name);
    },
  };
}

// The layers of a kind, as numbers.
/** @param {ViewTrace} trace @param {string} kind */
export const layersOfKind = (trace, kind) => indices(trace.depths[kind] ?? 0);
