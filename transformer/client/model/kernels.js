// The compiled kernels (kernels.ts) and the memory that they work on.

import { bytesOfBase64 } from "../common/base64.js";
import { KERNEL_BYTES } from "./kernel-bytes.js";

const FIRST_FREE = 4 * 1024 * 1024; // below is the kernels' own scratch space
const STAGING_BYTES = 8 * 1024 * 1024; // for the values of tensors outside this memory
const PAGE_BYTES = 65536;
const MARGIN_BYTES = 1024 * 1024; // kernels may read behind the last tensor

const CODE = bytesOfBase64(KERNEL_BYTES);

/** @type {WeakMap<ArrayBufferLike, Kernels>} */
const owners = new WeakMap();

// The kernels whose memory holds these values, if there are any.
/** @param {Float32Array} values @returns {Kernels | undefined} */
export const kernelsOf = (values) => owners.get(values.buffer);

// Whether this browser has WebAssembly with SIMD instructions.
export const isSupported = () => Boolean(globalThis.WebAssembly?.validate(CODE));

// Whether the page's Content-Security-Policy forbids WebAssembly: the browser knows these instructions, yet does not
// compile them.
/** @param {unknown} error of the constructor below */
export const isForbidden = (error) => error instanceof WebAssembly.CompileError && isSupported();

export class Kernels {
  // Throws an error without WebAssembly or its SIMD instructions.
  /** @param {number} bytes that `allocate` can return in all */
  constructor(bytes) {
    const pages = Math.ceil((FIRST_FREE + STAGING_BYTES + bytes + MARGIN_BYTES) / PAGE_BYTES);
    this.memory = new WebAssembly.Memory({ initial: pages });
    /** @type {any} */
    this.run = new WebAssembly.Instance(new WebAssembly.Module(CODE), { env: { memory: this.memory } }).exports;
    this.nextFree = FIRST_FREE + STAGING_BYTES;
    owners.set(this.memory.buffer, this);
  }

  // Not zeroed if this memory was used before: the caller may set `nextFree` back to an earlier value.
  /** @param {number} count of numbers @param {any} [Type] of array */
  allocate(count, Type = Float32Array) {
    const array = new Type(this.memory.buffer, this.nextFree, count);
    this.nextFree += Math.ceil(array.byteLength / 16) * 16;
    return array;
  }

  // Calls `use(address of x, address of y)`. Values outside the memory are copied in before, and y's out after.
  /** @param {Float32Array} x @param {Float32Array} y @param {(x: number, y: number) => void} use */
  apply(x, y, use) {
    if (x.buffer === this.memory.buffer) return use(x.byteOffset, y.byteOffset);
    const staged = new Float32Array(this.memory.buffer, FIRST_FREE, x.length + y.length);
    staged.set(x);
    use(FIRST_FREE, FIRST_FREE + 4 * x.length);
    y.set(staged.subarray(x.length));
  }

  // Whether values outside the memory fit into it for a moment.
  /** @param {number} count */
  canStage(count) {
    return 4 * count <= STAGING_BYTES;
  }
}
