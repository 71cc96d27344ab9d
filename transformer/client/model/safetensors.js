// Reads a safetensors file: eight bytes with the length of a JSON header, the header with type, shape and
// offsets of each tensor, then the numbers. float16, bfloat16 and float32 are all read as float32.

import { Tensor } from "./tensor.js";

// `allocate(count, Type)` returns the array for a tensor; where it is given, float16 is kept too, as kernels read it.
/** @param {Uint8Array} bytes @param {((count: number, Type: any) => any) | null} [allocate] @returns {Record<string, Tensor>} */
export function readSafetensors(bytes, allocate = null) {
  const { header, bodyStart } = readHeader(bytes);
  delete header.__metadata__;
  return Object.fromEntries(
    Object.entries(header).map(([name, entry]) => {
      const { dtype, shape, data_offsets: [from, to] } = checkEntry(name, entry);
      if (bodyStart + to > bytes.length) {
        throw new Error(
          `The model file is truncated: it has ${bytes.length} bytes, and ${name} ends at ${bodyStart + to}.`,
        );
      }
      const tensor = new Tensor(shape, allocate?.(shape.reduce((a, b) => a * b, 1), Float32Array));
      const { buffer } = bytes.slice(bodyStart + from, bodyStart + to);
      READERS[dtype](buffer, tensor.values);
      if (allocate && dtype === "F16" && shape.length === 2 && shape[1] % 8 === 0) {
        tensor.half = allocate(tensor.values.length, Uint16Array);
        tensor.half.set(new Uint16Array(buffer));
      }
      return [name, tensor];
    }),
  );
}

// The header, and where the numbers begin.
/** @param {Uint8Array} bytes @returns {{ header: any, bodyStart: number }} */
export function readHeader(bytes) {
  if (bytes.length < 8) throw new Error("The model file is truncated: it has no header.");
  const bodyStart = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (!(bodyStart <= bytes.length)) throw new Error("The model file is truncated or not a safetensors file.");
  try {
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, bodyStart)));
    if (Object.getPrototypeOf(header) === Object.prototype) return { header, bodyStart };
  } catch { /* as below */ }
  throw new Error("The model file is damaged: its header cannot be read.");
}

// The entry of a tensor in the header, whose numbers must fill its shape.
function checkEntry(name, entry) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  if (!Object.hasOwn(READERS, dtype)) {
    throw new Error(`The model file stores ${name} as ${dtype}; it must be ${Object.keys(READERS).join(", ")}.`);
  }
  const areCounts = (list) => Array.isArray(list) && list.every((count) => Number.isInteger(count) && count >= 0);
  const size = areCounts(shape) ? shape.reduce((a, b) => a * b, dtype === "F32" ? 4 : 2) : -1;
  if (!areCounts(offsets) || offsets.length !== 2 || offsets[1] - offsets[0] !== size) {
    throw new Error(`The model file is damaged: the numbers of ${name} do not fill its shape.`);
  }
  return entry;
}

const READERS = {
  F32: (buffer, values) => values.set(new Float32Array(buffer)),
  F16: (buffer, values) => {
    const bits = new Uint16Array(buffer);
    for (let i = 0; i < bits.length; i++) values[i] = FLOAT16_VALUES[bits[i]];
  },
  BF16: (buffer, values) =>
    values.set(new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits << 16).buffer)),
};

// Every float16 as a number: sign, five bits of exponent, ten of fraction (IEEE 754).
const FLOAT16_VALUES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
});
