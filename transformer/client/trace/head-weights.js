// Weights of several heads, (heads, rows, columns), in one array; the last axis is contiguous.

export class HeadWeights {
  /** @param {number[]} shape @param {Float32Array} [values] zeros if left out */
  constructor(shape, values) {
    this.shape = shape;
    this.values = values ?? new Float32Array(shape.reduce((a, b) => a * b, 1));
  }

  // A row, without a copy; the rows of all heads are counted together.
  /** @param {number} i */
  row(i) {
    const width = this.shape[this.shape.length - 1];
    return this.values.subarray(i * width, (i + 1) * width);
  }
}
