// What views/grids/switchboard.js draws of a trace.

import { indices } from "../common/base.js";
import { pool, quantize } from "./packing.js";

const SWITCH_CELLS = 24; // maximum height and width of a head's thumbnail

/** @param {import("./packed-trace.js").ViewTrace} trace @param {string} off the heads that are off, as in the address */
export function switchboard(trace, off) {
  const n_layers = Math.max(...Object.values(trace.depths));
  const parts = trace.kinds.map((kind) => {
    const pooled = indices(trace.depths[kind]).map((layer) => pool(trace.weights(kind, layer), SWITCH_CELLS));
    const values = new Float32Array(pooled.reduce((sum, part) => sum + part.values.length, 0));
    pooled.forEach((part, i) => values.set(part.values, i * part.values.length));
    return quantize(`thumbs.${kind}`, { shape: [n_layers, ...pooled[0].shape], values }, 255);
  });
  const header = { kinds: trace.kinds, n_layers, n_heads: trace.n_heads, off };
  return { header, parts: new Map(parts.map((part) => [part.name, part])) };
}
