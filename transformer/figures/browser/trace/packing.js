// Packs arrays as bytes for the views: a JSON header, then the blocks that it describes. The format of
// figures/packing.py; `unpack` of store.js reads it.

export const [FINE, COARSE] = [65535, 255]; // maximum level of a weight, with two bytes and with one

/** @typedef {{ name: string, type: "u1" | "u2" | "f4", shape: number[], top: number, values: any }} PackedPart */

// Quantizes weights: w becomes round(√w · top); the square root keeps small weights distinct from zero.
/** @param {string} name @param {{ shape: number[], values: Float32Array }} weights @returns {PackedPart} */
export function quantize(name, { shape, values }, top = FINE) {
  const levels = top > COARSE ? new Uint16Array(values.length) : new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) levels[i] = Math.round(Math.sqrt(Math.min(values[i], 1)) * top);
  return { name, type: top > COARSE ? "u2" : "u1", shape, top, values: levels };
}

/** @param {any} header @param {PackedPart[]} parts @returns {Uint8Array<ArrayBuffer>} */
export function pack(header, parts) {
  const padded = (length) => Math.ceil(length / 8) * 8;
  let size = 0;
  const metas = parts.map(({ name, type, shape, top, values }) => {
    const meta = { name, type, shape, top, start: size };
    size += padded(values.byteLength);
    return meta;
  });
  const text = new TextEncoder().encode(JSON.stringify({ ...header, parts: metas }));
  const bodyStart = 8 + padded(text.length);
  const bytes = new Uint8Array(bodyStart + size);
  bytes.fill(32, 8, bodyStart);
  bytes.set([0x48, 0x55, 0x41, 0x32]); // "HUA2"
  new DataView(bytes.buffer).setUint32(4, bodyStart - 8, true);
  bytes.set(text, 8);
  parts.forEach(({ values }, i) =>
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), bodyStart + metas[i].start)
  );
  return bytes;
}

// Max-pools to at most `limit` cells a side, which keeps single strong weights visible.
/** @param {{ shape: number[], values: Float32Array }} weights (heads, rows, columns) */
export function pool({ shape: [heads, rows, columns], values }, limit) {
  const [height, width] = [Math.min(rows, limit), Math.min(columns, limit)];
  const pooled = new Float32Array(heads * height * width);
  const cell = (
    i,
    count,
    cells,
  ) => (count > limit ? Math.min(Math.floor(((i + 1) * cells - 1) / count), cells - 1) : i);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const index = (h * height + cell(i, rows, height)) * width + cell(j, columns, width);
        pooled[index] = Math.max(pooled[index], values[(h * rows + i) * columns + j]);
      }
    }
  }
  return { shape: [heads, height, width], values: pooled };
}
