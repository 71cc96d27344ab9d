// Tensors and the few operations of a Transformer. A tensor has a shape and its values in one Float32Array, the
// last axis contiguous; a matrix is (rows, columns).

export class Tensor {
  /** @param {number[]} shape @param {Float32Array} [values] zeros if left out */
  constructor(shape, values) {
    this.shape = shape;
    this.values = values ?? new Float32Array(shape.reduce((a, b) => a * b, 1));
  }

  // Row `i` of a matrix, without a copy.
  /** @param {number} i */
  row(i) {
    const width = this.shape[this.shape.length - 1];
    return this.values.subarray(i * width, (i + 1) * width);
  }

  clone() {
    return new Tensor(this.shape, this.values.slice());
  }
}

// The matrix product; `kernel.js` may replace it by a faster one.
export const products = { multiply };

// x Wᵀ + b: x is (rows, n), weight (m, n), bias (m,) or null.
/** @param {Tensor} x @param {Tensor} weight @param {Tensor | null} [bias] */
export function linear(x, weight, bias = null) {
  const [rows, [m, n]] = [x.shape[0], weight.shape];
  const y = new Tensor([rows, m]);
  products.multiply(x.values, weight.values, y.values, rows, n, m);
  if (bias) { for (let i = 0; i < rows; i++) for (let j = 0; j < m; j++) y.values[i * m + j] += bias.values[j]; }
  return y;
}

// y = x wᵀ. Four rows of w at a time, so that each number of x is read once for four products.
/** @param {Float32Array} x @param {Float32Array} w @param {Float32Array} y */
function multiply(x, w, y, rows, n, m) {
  for (let j = 0; j < m; j += 4) {
    const [w0, w1, w2, w3] = [j * n, (j + 1) * n, (j + 2) * n, (j + 3) * n];
    for (let i = 0; i < rows; i++) {
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let k = 0, inputIndex = i * n; k < n; k++, inputIndex++) {
        const xValue = x[inputIndex];
        a += xValue * w[w0 + k];
        b += xValue * w[w1 + k];
        c += xValue * w[w2 + k];
        d += xValue * w[w3 + k];
      }
      const outputIndex = i * m + j;
      y[outputIndex] = a;
      if (j + 1 < m) y[outputIndex + 1] = b;
      if (j + 2 < m) y[outputIndex + 2] = c;
      if (j + 3 < m) y[outputIndex + 3] = d;
    }
  }
}

/** @param {Tensor} a @param {Tensor} b of the same shape */
export function add(a, b) {
  const sum = new Tensor(a.shape);
  for (let i = 0; i < sum.values.length; i++) sum.values[i] = a.values[i] + b.values[i];
  return sum;
}

/** @param {Tensor} x @param {number} factor */
export function scale(x, factor) {
  return new Tensor(x.shape, x.values.map((value) => value * factor));
}

// Each row with mean 0 and variance 1, then × gain + bias (Ba et al. 2016).
/** @param {Tensor} x @param {Tensor} gain @param {Tensor} bias */
export function layerNorm(x, gain, bias, epsilon = 1e-5) {
  const y = new Tensor(x.shape);
  const width = gain.values.length;
  for (let i = 0; i < x.shape[0]; i++) {
    const [from, to] = [x.row(i), y.row(i)];
    const mean = from.reduce((sum, value) => sum + value, 0) / width;
    const variance = from.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const factor = 1 / Math.sqrt(variance + epsilon);
    for (let j = 0; j < width; j++) to[j] = (from[j] - mean) * factor * gain.values[j] + bias.values[j];
  }
  return y;
}

// Softmax of one row in place; −Infinity becomes 0.
/** @param {Float32Array} row */
export function softmax(row) {
  const max = row.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i] = Math.exp(row[i] - max);
  for (let i = 0; i < row.length; i++) row[i] /= sum;
}

// The natural logarithm of the softmax.
/** @param {Float32Array} row */
export function logSoftmax(row) {
  const max = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const log = max + Math.log(row.reduce((sum, value) => sum + Math.exp(value - max), 0));
  return row.map((value) => value - log);
}

// (length, d_model) to (heads, length, d_k).
/** @param {Tensor} x @param {number} heads */
export function splitHeads(x, heads) {
  const [length, width] = x.shape;
  const size = width / heads;
  const y = new Tensor([heads, length, size]);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < length; i++) y.values.set(x.row(i).subarray(h * size, (h + 1) * size), (h * length + i) * size);
  }
  return y;
}

// Concat(head_1, …, head_h): the inverse of `splitHeads`.
/** @param {Tensor} x */
export function mergeHeads(x) {
  const [heads, length, size] = x.shape;
  const y = new Tensor([length, heads * size]);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < length; i++) y.row(i).set(x.row(h * length + i), h * size);
  }
  return y;
}

// (heads, m, d_k) and (heads, n, d_k) to (heads, m + n, d_k).
/** @param {Tensor} a @param {Tensor} b */
export function joinRows(a, b) {
  const [heads, m, size] = a.shape;
  const n = b.shape[1];
  const y = new Tensor([heads, m + n, size]);
  for (let h = 0; h < heads; h++) {
    y.values.set(a.values.subarray(h * m * size, (h + 1) * m * size), h * (m + n) * size);
    y.values.set(b.values.subarray(h * n * size, (h + 1) * n * size), (h * (m + n) + m) * size);
  }
  return y;
}
