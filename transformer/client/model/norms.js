// The length of what each key adds to a query: the weight times ‖f(x)‖, where f(x) is the value vector after the head's
// part of W^O (Kobayashi et al. 2020, section 3); the same numbers as analysis/attribution/norms.py.

import { siteOf } from "./hooks.js";
import { linear, Tensor } from "./tensor.js";

// ‖α f(x)‖ of every cell of a head, (queries, keys).
/** @param {import("./transformer.js").Transformer} model @param {import("./translator.js").Trace} trace of this model, without hooks @param {import("./hooks.js").HeadName} head @returns {Tensor} */
export function contributionNorms(model, trace, { kind, layer, head }) {
  const value = trace.sites[siteOf(kind, layer, "value")];
  const [, keys, size] = value.shape;
  const columns = new Tensor([keys, model.config.d_model]); // what W^O reads if only this head writes
  for (let key = 0; key < keys; key++) {
    const first = (head * keys + key) * size;
    columns.row(key).set(value.values.subarray(first, first + size), head * size);
  }
  const vectors = linear(columns, attentionOf(model, kind, layer).wO);
  const lengths = Array.from({ length: keys }, (_, key) => Math.hypot(...vectors.row(key)));
  const weights = trace.weights(kind, layer);
  const queries = weights.shape[1];
  const norms = new Tensor([queries, keys], weights.values.slice(head * queries * keys, (head + 1) * queries * keys));
  for (let i = 0; i < norms.values.length; i++) norms.values[i] *= lengths[i % keys];
  return norms;
}

/** @param {import("./transformer.js").Transformer} model @param {string} kind @param {number} layer */
function attentionOf(model, kind, layer) {
  if (kind === "encoder") return model.encoderLayers[layer].selfAttention;
  return model.decoderLayers[layer][kind === "decoder" ? "selfAttention" : "crossAttention"];
}
