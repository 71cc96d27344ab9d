// What a grid shows of a sentence: a thumbnail of each head.

import { paintThumb } from "../../common/thumbnail.js";

// Of a sentence that a view has as a whole.
/** @param {Side} side @param {Kind[]} kinds @returns {import("./all-heads.js").GridData} */
export const sideGrid = (side, kinds) => ({
  kinds,
  depth: (kind) => side.depths[kind],
  n_heads: side.n_heads,
  paint: (canvas, { kind, layer, head }, theme) =>
    paintThumb(canvas, side.thumb(kind, layer, head), kind === "decoder", theme.ramp),
  pictures: `${side.id} ${side.number}`,
  shape: (kind) => {
    const { rows, columns } = side.labels(kind);
    return columns.tokens.length / rows.tokens.length;
  },
});

let thumbnailCount = 0; // identifies the pictures of each data

// Of thumbnails alone (trace/switchboard.js).
/** @param {{ header: any, parts: Map<string, any> }} data @returns {import("./all-heads.js").GridData} */
export function thumbnailGrid({ header: { kinds, n_layers, n_heads }, parts }) {
  const paint = (canvas, { kind, layer, head }, theme) => {
    const { values, shape: [, , height, width] } = parts.get(`thumbs.${kind}`);
    const start = (layer * n_heads + head) * height * width;
    const thumb = { values: values.subarray(start, start + height * width), height, width };
    paintThumb(canvas, thumb, kind === "decoder", theme.ramp);
  };
  thumbnailCount++;
  return { kinds, depth: () => n_layers, n_heads, paint, pictures: String(thumbnailCount) };
}
