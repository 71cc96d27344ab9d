// Matrix multiplication with WebAssembly's SIMD instructions, four numbers at a time. It is optional, but several times
// as fast as `multiply` in tensor.js (`python -m benchmarks.site` prints both).
//
// No compiler is needed: the only function is small enough to be written as a list of instructions.

import { products } from "./tensor.js";

const SCRATCH_BYTES = 8 * 1024 * 1024; // bytes at the start of the memory for inputs and results
const PAGE_BYTES = 65536;

// Allocates memory for `bytes` of weights that the fast product can read, and installs that product. Returns
// `allocate(count)`, which returns a Float32Array, or null without SIMD.
/** @param {number} bytes */
export function fastProducts(bytes) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil((SCRATCH_BYTES + bytes + 16) / PAGE_BYTES) });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { env: { memory } });
    const plainMultiply = products.multiply;
    let nextFree = SCRATCH_BYTES;
    const allocate = (count) => {
      const array = new Float32Array(memory.buffer, nextFree, count);
      nextFree += Math.ceil(count / 4) * 16;
      return array;
    };
    products.multiply = (x, w, y, rows, n, m) => {
      const [inputAddress, outputAddress] = [0, rows * n * 4];
      if (w.buffer !== memory.buffer || n % 4 || m % 4 || outputAddress + rows * m * 4 > SCRATCH_BYTES) {
        return plainMultiply(x, w, y, rows, n, m);
      }
      new Float32Array(memory.buffer, inputAddress, rows * n).set(x);
      /** @type {any} */ (exports).multiply(inputAddress, w.byteOffset, outputAddress, rows, n, m);
      y.set(new Float32Array(memory.buffer, outputAddress, rows * m));
    };
    return allocate;
  } catch {
    return null;
  }
}

// The module: multiply(x, w, y, rows, n, m), with addresses in bytes: y = x wᵀ, as in tensor.js.
function moduleBytes() {
  const [X, W, Y, ROWS, N, M, I, J, K, XI, YI, W1, W2, W3] = Array.from({ length: 14 }, (_, i) => i); // 32-bit integers
  const SUMS = [14, 15, 16, 17]; // of four numbers each
  const XK = 18;
  const get = (local) => [0x20, local];
  const set = (local, ...value) => [...value.flat(), 0x21, local];
  const number = (value) => [0x41, ...signed(value)];
  const add = (a, b) => [...a, ...b, 0x6a];
  const times4 = (a) => [...a, ...number(2), 0x74];
  const loop = (...body) => [0x03, 0x40, ...body.flat(), 0x0b];
  const repeatWhile = (a, b) => [...get(a), ...get(b), 0x49, 0x0d, 0]; // a < b
  const load = (address) => [...address, 0xfd, 0x00, 2, 0];
  const multiplyAdd = (sum, w) =>
    set(sum, get(sum), get(XK), load(add(get(w), get(K))), [0xfd, 0xe6, 1], [0xfd, 0xe4, 1]);
  const total = (sum) => [0, 1, 2, 3].flatMap((lane) => [...get(sum), 0xfd, 0x1f, lane, ...(lane ? [0x92] : [])]);
  const body = [
    set(N, times4(get(N))), // in bytes from here on
    loop( // rows of w, four at a time
      set(W1, add(get(W), get(N))),
      set(W2, add(get(W1), get(N))),
      set(W3, add(get(W2), get(N))),
      set(XI, get(X)),
      set(YI, get(Y)),
      set(I, number(0)),
      loop( // rows of x
        SUMS.flatMap((sum) => set(sum, [0xfd, 0x0c, ...Array(16).fill(0)])),
        set(K, number(0)),
        loop( // four numbers of each
          set(XK, load(add(get(XI), get(K)))),
          multiplyAdd(SUMS[0], W),
          multiplyAdd(SUMS[1], W1),
          multiplyAdd(SUMS[2], W2),
          multiplyAdd(SUMS[3], W3),
          set(K, add(get(K), number(16))),
          repeatWhile(K, N),
        ),
        SUMS.flatMap((sum, lane) => [...get(YI), ...total(sum), 0x38, 2, 4 * lane]),
        set(XI, add(get(XI), get(N))),
        set(YI, add(get(YI), times4(get(M)))),
        set(I, add(get(I), number(1))),
        repeatWhile(I, ROWS),
      ),
      set(W, add(get(W3), get(N))),
      set(Y, add(get(Y), number(16))),
      set(J, add(get(J), number(4))),
      repeatWhile(J, M),
    ),
  ].flat();
  const code = [2, 8, 0x7f, 5, 0x7b, ...body, 0x0b]; // eight more integers, five vectors
  const name = (text) => [text.length, ...new TextEncoder().encode(text)];
  const section = (id, ...content) => [id, ...unsigned(content.flat().length), ...content.flat()];
  return new Uint8Array([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(1, [1, 0x60, 6, ...Array(6).fill(0x7f), 0]), // one type: six integers to nothing
    ...section(2, [1], name("env"), name("memory"), [2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1], name("multiply"), [0, 0]),
    ...section(10, [1], unsigned(code.length), code),
  ]);
}

// Integers in groups of seven bits, the lowest first (LEB128).
function unsigned(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)];
}

function signed(value) {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >> 7)];
}
