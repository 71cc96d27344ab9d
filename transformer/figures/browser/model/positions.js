// Positional encodings (section 3.5 of the paper): sinusoidal, learned, or none.

import { Tensor } from "./tensor.js";

// PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.
/** @param {number} length @param {number} width @param {number} start position of the first row */
export function sinusoidal(length, width, start = 0) {
  const table = new Tensor([length, width]);
  for (let i = 0; i < length; i++) {
    const row = table.row(i);
    for (let j = 0; j < width; j += 2) {
      const angle = (start + i) * Math.exp(j * (-Math.log(10000) / width));
      row[j] = Math.sin(angle);
      if (j + 1 < width) row[j + 1] = Math.cos(angle);
    }
  }
  return table;
}

// The encodings of `length` positions from `start` on. `learned` is the trained table, where there is one.
/** @param {any} config @param {Tensor | undefined} learned @param {number} length @param {number} start */
export function positionsOf(config, learned, length, start) {
  if (config.positions === "sinusoidal") return sinusoidal(length, config.d_model, start);
  if (config.positions === "none") return new Tensor([length, config.d_model]);
  if (start + length > config.max_len) {
    throw new RangeError(
      `This model learned ${config.max_len} positions; a sequence of ${start + length} tokens needs more.`,
    );
  }
  return new Tensor(
    [length, config.d_model],
    learned.values.subarray(start * config.d_model, (start + length) * config.d_model),
  );
}
