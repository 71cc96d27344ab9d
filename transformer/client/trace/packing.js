// Packs arrays as bytes for the views and unpacks them: a JSON header, then the blocks that it describes. The format is
// that of figures/packing.py.

export const FINE = 65535; // maximum level of a weight, with two bytes
export const COARSE = 255; // with one byte

/** @typedef {{ name: string, type: "u1" | "u2" | "f4", shape: number[], top: number, values: any }} PackedPart */

// Quantizes weights: w becomes round(√w · top); the square root keeps small weights distinct from zero.
/** @param {string} name @param {{ shape: number[], values: Float32Array }} weights @returns {PackedPart} */
export function quantize(name, { shape, values }, top = FINE) {
  const levels = top > COARSE ? new Uint16Array(values.length) : new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) levels[i] = Math.round(Math.sqrt(Math.min(values[i], 1)) * top);
  return { name, type: top > COARSE ? "u2" : "u1", shape, top, values: levels };
}

// The parts with the number of their side as a prefix, so that names are unique.
/** @template {{ name: string }} P @param {P[]} parts @param {number} side @returns {P[]} */
export const prefixed = (parts, side) => parts.map((part) => ({ ...part, name: `${side}.${part.name}` }));

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
  const cells = (count, size) =>
    Int32Array.from({ length: count }, (_, i) => (count > limit ? Math.floor(((i + 1) * size - 1) / count) : i));
  const [y, x] = [cells(rows, height), cells(columns, width)];
  for (let h = 0, index = 0; h < heads; h++) {
    for (let i = 0; i < rows; i++) {
      const start = (h * height + y[i]) * width;
      for (let j = 0; j < columns; j++, index++) {
        if (values[index] > pooled[start + x[j]]) pooled[start + x[j]] = values[index];
      }
    }
  }
  return { shape: [heads, height, width], values: pooled };
}

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array };

const bodyStartOf = (bytes) => 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);

// The header alone.
/** @param {Uint8Array} bytes */
export const headerOf = (bytes) => JSON.parse(new TextDecoder().decode(bytes.subarray(8, bodyStartOf(bytes))));

export function unpack(bytes) {
  const [header, bodyStart] = [headerOf(bytes), bodyStartOf(bytes)];
  const parts = new Map(header.parts.map((meta) => {
    const start = bodyStart + meta.start;
    return [meta.name, arrayOf(meta, bytes.slice(start, start + bytesOf(meta)))];
  }));
  return { header, parts };
}

const cellsOf = (meta) => meta.shape.reduce((product, side) => product * side, 1);
const bytesOf = (meta) => cellsOf(meta) * ARRAYS[meta.type].BYTES_PER_ELEMENT;
export const arrayOf = (meta, bytes) => ({ ...meta, values: new ARRAYS[meta.type](bytes.buffer) });
