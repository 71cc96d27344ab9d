// Positional encodings (section 3.5 of the paper): sinusoidal, learned, or none.

import { lookup, Tensor } from "./tensor.js";

// PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.
/** @param {number} length @param {number} width @param {number} start position of the first row @param {{ exp: any, sin: any, cos: any, log: any }} functions */
export function sinusoidal(length, width, start = 0, { exp, sin, cos, log } = Math) {
  const table = new Tensor([length, width]);
  for (let i = 0; i < length; i++) {
    const row = table.row(i);
    for (let j = 0; j < width; j += 2) {
      const angle = (start + i) * exp(j * (-log(10000) / width));
      row[j] = sin(angle);
      if (j + 1 < width) row[j + 1] = cos(angle);
    }
  }
  return table;
}

// The encodings for the rows of x, whose first position is `start`, on a tape that of each sequence. `learned` is the
// trained table, where there is one.
/** @param {any} config @param {Tensor | undefined} learned @param {Tensor} x @param {number} start */
export function positionsOf(config, learned, x, start) {
  const { positions, d_model, max_len } = config;
  const length = x.starts
    ? x.starts.reduce((longest, end, i) => Math.max(longest, i ? end - x.starts[i - 1] : 0), 0)
    : x.shape[0];
  if (learned && start + length > max_len) {
    throw new RangeError(`This model learned ${max_len} positions; a sequence of ${start + length} tokens needs more.`);
  }
  if (x.tape) {
    const places = Array.from(
      x.starts.subarray(1),
      (end, i) => Array.from({ length: end - x.starts[i] }, (_, place) => start + place),
    ).flat();
    if (positions === "none") return lookup(new Tensor([1, d_model]), places.fill(0), 1, x);
    return lookup(learned ?? sinusoidal(start + length, d_model, 0, x.tape.kernels.run), places, 1, x);
  }
  if (positions === "sinusoidal") return sinusoidal(length, d_model, start);
  if (positions === "none") return new Tensor([length, d_model]);
  return learned.part(start, length);
}
