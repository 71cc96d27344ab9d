// The explorer's data: labels and thumbnails of all heads, and the weights of the layers that have arrived.
// Unpacks what figures/packing.py and figures/explorer_sides.py pack.

import { hasExactNames, pieceNames } from "./naming.js";

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array };
const VECTORS = ["query", "key", "value", "scores", "heads"];

export function unpack(bytes) {
  const bodyStart = 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, bodyStart)));
  const parts = new Map(header.parts.map((meta) => {
    const start = bodyStart + meta.start;
    return [meta.name, arrayOf(meta, bytes.slice(start, start + bytesOf(meta)))];
  }));
  return { header, parts };
}

const cellsOf = (meta) => meta.shape.reduce((product, side) => product * side, 1);
const bytesOf = (meta) => cellsOf(meta) * ARRAYS[meta.type].BYTES_PER_ELEMENT;
export const arrayOf = (meta, bytes) => ({ ...meta, values: new ARRAYS[meta.type](bytes.buffer) });

// `laterParts` has, by name, functions that return a promise of an array, which is loaded on demand. `onArrive` is
// called when an array has been loaded.
export function makeStore(onArrive) {
  let sides = [];
  let pairs = null;
  const parts = new Map();
  const laterParts = new Map();

  function load(bytes) {
    const { header, parts: newParts } = unpack(bytes);
    const isSameTrace = sides.length === header.sides.length &&
      sides.every((side, i) => side.digest === header.sides[i].id);
    if (!isSameTrace) {
      parts.clear();
      laterParts.clear();
    }
    for (const [name, part] of newParts) parts.set(name, part);
    if (!isSameTrace) sides = header.sides.map((sideHeader, number) => makeSide(sideHeader, number, part));
    pairs = header.pairs;
    return { header, isSameTrace };
  }

  // An array by name, or null while it is missing.
  function part(name) {
    if (parts.has(name)) return parts.get(name);
    if (laterParts.has(name)) {
      const fetchPart = laterParts.get(name);
      laterParts.delete(name);
      fetchPart().then((array) => {
        parts.set(name, array);
        onArrive();
      });
    }
    return null;
  }

  return {
    load,
    laterParts,
    get sides() {
      return sides;
    },
    get pairs() {
      return pairs;
    },
  };
}

// Labels with the current names of their pieces.
export const withNames = (labels) => ({
  ...labels,
  get names() {
    return pieceNames(labels);
  },
});

/** @param {any} sideHeader @param {number} number @param {(name: string) => Part | null} part @returns {Side} */
function makeSide(sideHeader, number, part) {
  const [src, tgt, predicted] = [sideHeader.src, sideHeader.tgt, sideHeader.predicted].map(withNames);
  const cachedWeights = new Map(); // weights of the heads shown so far, as numbers

  // Labels of queries and keys; `writes` are the tokens that decoder queries write.
  function labels(kind) {
    return {
      rows: kind === "encoder" ? src : tgt,
      columns: kind === "decoder" ? tgt : src,
      writes: kind === "encoder" ? null : predicted,
    };
  }

  // { values: Float32Array(rows · columns), top } of one head, or null while its layer is missing.
  function weights(kind, layer, head) {
    const name = `${number}.weights.${kind}.${layer}`;
    const key = `${name}.${head}`;
    if (cachedWeights.has(key)) return cachedWeights.get(key);
    const packed = part(name);
    if (!packed) return null;
    const [, rows, columns] = packed.shape;
    const size = rows * columns;
    const levels = packed.values.subarray(head * size, (head + 1) * size);
    const headWeights = { values: Float32Array.from(levels, (q) => (q / packed.top) ** 2), top: packed.top };
    if (cachedWeights.size > 64) cachedWeights.clear();
    cachedWeights.set(key, headWeights);
    return headWeights;
  }

  // A thumbnail: { values: levels of 0 to 255, height, width }.
  function thumb(kind, layer, head) {
    const packed = part(`${number}.thumbs.${kind}`);
    const [, heads, height, width] = packed.shape;
    const size = height * width;
    const start = (layer * heads + head) * size;
    return { values: packed.values.subarray(start, start + size), height, width };
  }

  // The strongest attention to every word ("to") or from it ("from") in every head of a kind, and the word at
  // the other end: as levels, for the heads of all layers in order.
  function pinWeights(kind, way) {
    const [strongest, otherWords] = ["", ".words"].map((suffix) => part(`${number}.pins.${kind}.${way}${suffix}`));
    return { weights: strongest.values, top: strongest.top, others: otherWords.values, words: strongest.shape[2] };
  }

  // { query, key, value, scores, heads } of one head, each { values, shape }; null if missing.
  function vectors(kind, layer, head) {
    const arrays = VECTORS.map((vectorName) => part(`${number}.${vectorName}.${kind}.${layer}.${head}`));
    return arrays.every(Boolean) ? Object.fromEntries(VECTORS.map((vectorName, i) => [vectorName, arrays[i]])) : null;
  }

  return {
    ...sideHeader,
    digest: sideHeader.id,
    src,
    tgt,
    predicted,
    number,
    labels,
    weights,
    thumb,
    pinWeights,
    vectors,
    get id() {
      return `${sideHeader.id}${hasExactNames() ? " exact" : ""}`;
    }, // another id for the same content with other names
  };
}
