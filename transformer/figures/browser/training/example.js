// One head's weights in an Example, for drawing.

const KINDS = ["encoder", "decoder", "cross"];

/** @param {import("./protocol.d.ts").Example} example @param {import("./protocol.d.ts").AttentionKind} kind @param {number} layer @param {number} head */
export function weightsOf({ src, tgt, layers, heads, attention }, kind, layer, head) {
  const sizes = {
    encoder: [src.length, src.length],
    decoder: [tgt.length, tgt.length],
    cross: [tgt.length, src.length],
  };
  const before = KINDS.slice(0, KINDS.indexOf(kind)).reduce(
    (sum, name) => sum + layers * heads * sizes[name][0] * sizes[name][1],
    0,
  );
  const [rows, columns] = sizes[kind];
  const start = before + (layer * heads + head) * rows * columns;
  return { rows, columns, values: attention.subarray(start, start + rows * columns) };
}
