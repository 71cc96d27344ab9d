// Packs a trace of the model in this browser for the views, as figures/packed_trace.py does for the app.

import { indices } from "../common/base.js";
import { KINDS } from "../common/head-codes.js";
import { siteOf } from "../model/hooks.js";
import { VECTORS } from "./packed-trace.js";
import { COARSE, FINE, quantize } from "./packing.js";

/** @typedef {import("./packing.js").PackedPart} PackedPart */

const ATTENTION_KINDS = /** @type {Kind[]} */ (Object.keys(KINDS));
const FINE_LIMIT = 1_500_000; // maximum number of weights that are sent with two bytes each

// The description of a trace and its parts.
/** @param {import("../model/translator.js").Trace} trace @param {{ name?: string, model?: string, id?: string, kinds?: Kind[] }} [options] */
export function packTrace(trace, { name = "", model = "", id = "", kinds = ATTENTION_KINDS } = {}) {
  const { n_heads, n_layers, d_model, score } = trace.config;
  const candidateRow = ({ token, id, probability }) => [token, id, probability];
  const weights = kinds.flatMap((kind) =>
    indices(n_layers).map((layer) => ({ name: `weights.${kind}.${layer}`, tensor: trace.weights(kind, layer) }))
  );
  const size = weights.reduce((sum, { tensor }) => sum + tensor.values.length, 0);
  const description = {
    id,
    name,
    model,
    source: trace.source,
    text: trace.text,
    kinds,
    depths: Object.fromEntries(kinds.map((kind) => [kind, n_layers])),
    n_heads,
    d_k: d_model / n_heads,
    score,
    src: trace.srcTokens,
    tgt: trace.tgtTokens,
    predicted: trace.predictedTokens,
    ids: trace.ids,
    steps: trace.steps.map(({ candidates, chosen }) => ({
      candidates: candidates.map(candidateRow),
      chosen: candidateRow(chosen),
    })),
    tree: trace.tree,
  };
  const top = size <= FINE_LIMIT ? FINE : COARSE;
  return { description, parts: weights.map((layer) => quantize(layer.name, layer.tensor, top)) };
}

// The names and shapes of the vectors of all heads, and one of them by its name, such as "query.encoder.0.3".
/** @param {import("../model/translator.js").Trace} trace */
export const vectorParts = (trace) =>
  ATTENTION_KINDS.flatMap((kind) =>
    indices(trace.config.n_layers).flatMap((layer) =>
      indices(trace.config.n_heads).flatMap((head) =>
        VECTORS.map((vector) => ({
          name: `${vector}.${kind}.${layer}.${head}`,
          type: "f4",
          shape: trace.sites[siteOf(kind, layer, vector)].shape.slice(1),
          top: 0,
        }))
      )
    )
  );

/** @param {import("../model/translator.js").Trace} trace @param {string} name @returns {PackedPart} */
export function vectorPart(trace, name) {
  const [vector, kind, layer, head] = name.split(".");
  const { shape, values } = trace.sites[siteOf(kind, Number(layer), vector)];
  const size = values.length / shape[0];
  return {
    name,
    type: "f4",
    shape: shape.slice(1),
    top: 0,
    values: values.slice(Number(head) * size, (Number(head) + 1) * size),
  };
}
