// Tensors and the few operations of a Transformer. A tensor has a shape and its values in one Float32Array, the
// last axis contiguous; a matrix is (rows, columns).
//
// A tensor on a tape (tape.js) is computed by kernels, for a whole batch, and each operation records beside its way
// forward its way back: with gy the gradient of the result y, it adds to the gradient of each input.

import { kernelsOf } from "./kernels.js";

// The columns of a matrix of attention weights on a tape, with padding.
export const paddedCount = (keys) => Math.ceil(keys / 8) * 8;

export class Tensor {
  /** @param {number[]} shape @param {Float32Array} [values] zeros if left out */
  constructor(shape, values) {
    this.shape = shape;
    this.values = values ?? new Float32Array(shape.reduce((a, b) => a * b, 1));
    /** @type {Uint16Array | null} */
    this.half = null; // the same values as 16-bit numbers, for a weight that is stored so
    /** @type {Float32Array | null} */
    this.grad = null; // gradient of the loss
    /** @type {import("./tape.js").Tape | null} */
    this.tape = null;
    /** @type {Int32Array | null} */
    this.starts = null; // the first row of each sequence on a tape
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

  // Rows from `from` on, without a copy.
  /** @param {number} from @param {number} rows */
  part(from, rows) {
    const [, ...rest] = this.shape;
    const width = rest.reduce((a, b) => a * b, 1);
    const part = new Tensor([rows, ...rest], this.values.subarray(from * width, (from + rows) * width));
    part.half = this.half && this.half.subarray(from * width, (from + rows) * width);
    part.grad = this.grad && this.grad.subarray(from * width, (from + rows) * width);
    part.tape = this.tape;
    return part;
  }

  // The tensor for the result of an operation on this one: on the same tape, of the same sequences.
  /** @param {number[]} shape @returns {Tensor} */
  result(shape) {
    return this.tape ? this.tape.tensor(shape, this.starts) : new Tensor(shape);
  }
}

const address = (array) => array.byteOffset;

// x Wᵀ + b: x is (rows, n), weight (m, n), bias (m,) or null.
/** @param {Tensor} x @param {Tensor} weight @param {Tensor | null} [bias] */
export function linear(x, weight, bias = null) {
  const [rows, [m, n]] = [x.shape[0], weight.shape];
  const y = x.result([rows, m]);
  const kernels = kernelsOf(weight.values);
  if (!kernels || !(x.tape || kernels.canStage(rows * (n + m)))) return plainLinear(x, weight, bias, y);
  const { run } = kernels;
  const [w, b] = [address(weight.values), bias ? address(bias.values) : 0];
  kernels.apply(x.values, y.values, (from, to) => {
    if (weight.half) run.multiplyHalf(from, n, address(weight.half), to, m, b, rows, m, n);
    else run.multiply(from, n, 1, w, 1, n, to, m, b, 0, rows, m, n);
  });
  x.tape?.record(() => {
    const [gy, gx, gw] = [y.grad, x.grad, weight.grad].map(address);
    run.multiply(gy, m, 1, w, n, 1, gx, n, gx, n, rows, n, m); // gx += gy W
    run.multiply(gy, 1, m, address(x.values), n, 1, gw, n, gw, n, m, n, rows); // gW += gyᵀ x
    if (bias) run.addRows(gy, address(bias.grad), rows, m);
  });
  return y;
}

// Four rows of the weight at a time, so that each number of x is read once for four products.
function plainLinear(x, weight, bias, y) {
  const [rows, m] = y.shape;
  const n = weight.shape[1];
  const w = weight.values;
  for (let j = 0; j < m; j += 4) {
    const [w0, w1, w2, w3] = [j * n, (j + 1) * n, (j + 2) * n, (j + 3) * n];
    for (let i = 0; i < rows; i++) {
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let k = 0, inputIndex = i * n; k < n; k++, inputIndex++) {
        const xValue = x.values[inputIndex];
        a += xValue * w[w0 + k];
        b += xValue * w[w1 + k];
        c += xValue * w[w2 + k];
        d += xValue * w[w3 + k];
      }
      const sums = [a, b, c, d];
      for (let k = 0; k < 4 && j + k < m; k++) y.values[i * m + j + k] = sums[k] + (bias ? bias.values[j + k] : 0);
    }
  }
  return y;
}

// Rows `ids` of a table, times a factor: an embedding (section 3.4).
/** @param {Tensor} table @param {ArrayLike<number>} ids @param {number} factor @param {{ tape: import("./tape.js").Tape, starts: Int32Array } | null} [packed] */
export function lookup(table, ids, factor, packed = null) {
  const width = table.shape[1];
  const y = packed ? packed.tape.tensor([ids.length, width], packed.starts) : new Tensor([ids.length, width]);
  for (let i = 0; i < ids.length; i++) {
    for (let j = 0, from = ids[i] * width, to = i * width; j < width; j++) {
      y.values[to + j] = factor * table.values[from + j];
    }
  }
  if (table.grad) {
    packed?.tape.record(() => {
      for (let i = 0; i < ids.length; i++) {
        for (let j = 0, to = ids[i] * width, from = i * width; j < width; j++) {
          table.grad[to + j] += factor * y.grad[from + j];
        }
      }
    });
  }
  return y;
}

// a + b; while training, a + Dropout(b) (section 5.4).
/** @param {Tensor} a @param {Tensor} b of the same shape @param {number} [dropout] share of b that is left out */
export function add(a, b, dropout = 0) {
  const sum = a.result(a.shape);
  if (!a.tape) {
    for (let i = 0; i < sum.values.length; i++) sum.values[i] = a.values[i] + b.values[i];
    return sum;
  }
  const { kernels: { run }, drops } = a.tape;
  const count = sum.values.length;
  const seed = dropout && drops ? a.tape.nextDropoutSeed() : 0;
  const addTo = (from, to) => {
    if (seed) run.addDropped(address(from), address(to), count, dropout, seed);
    else run.addScaled(address(from), 1, address(to), count);
  };
  sum.values.set(a.values);
  addTo(b.values, sum.values);
  a.tape.record(() => {
    run.addScaled(address(sum.grad), 1, address(a.grad), count);
    addTo(sum.grad, b.grad);
  });
  return sum;
}

// Dropout(x) while training, otherwise x.
/** @param {Tensor} x @param {number} share */
export function dropout(x, share) {
  if (!x.tape?.drops || !share) return x;
  const zeros = x.result(x.shape);
  zeros.values.fill(0);
  return add(zeros, x, share);
}

// x with zeros in columns `from` to `to` − 1.
/** @param {Tensor} x @param {number} from @param {number} to */
export function withoutColumns(x, from, to) {
  const y = x.result(x.shape);
  const [rows, width] = x.shape;
  const clear = (values) => {
    for (let i = 0; i < rows; i++) values.fill(0, i * width + from, i * width + to);
  };
  y.values.set(x.values);
  clear(y.values);
  x.tape.record(() => {
    clear(y.grad);
    x.tape.kernels.run.addScaled(address(y.grad), 1, address(x.grad), y.values.length);
  });
  return y;
}

// `fn` of every number. On a tape only max(0, x), as in the paper.
/** @param {Tensor} x @param {(x: number) => number} fn */
export function activate(x, fn) {
  if (!x.tape) {
    const plain = x.clone();
    for (let i = 0; i < plain.values.length; i++) plain.values[i] = fn(plain.values[i]);
    return plain;
  }
  const { run } = x.tape.kernels;
  const y = x.result(x.shape);
  const count = y.values.length;
  run.relu(address(x.values), address(y.values), count);
  x.tape.record(() => run.reluBack(address(y.values), address(y.grad), address(x.grad), count));
  return y;
}

// Each row with mean 0 and variance 1, then × gain + bias (Ba et al. 2016).
/** @param {Tensor} x @param {Tensor} gain @param {Tensor} bias */
export function layerNorm(x, gain, bias, epsilon = 1e-5) {
  const y = x.result(x.shape);
  const width = gain.values.length;
  const rows = x.shape[0];
  if (x.tape) {
    const { kernels, kernels: { run } } = x.tape;
    const [normal, inverse] = [kernels.allocate(rows * width), kernels.allocate(rows)].map(address);
    run.layerNorm(
      address(x.values),
      address(gain.values),
      address(bias.values),
      address(y.values),
      normal,
      inverse,
      rows,
      width,
    );
    x.tape.record(() => {
      const [gy, gGain, gBias, gx] = [y.grad, gain.grad, bias.grad, x.grad].map(address);
      run.layerNormBack(gy, normal, inverse, address(gain.values), gGain, gBias, gx, rows, width);
    });
    return y;
  }
  for (let start = 0; start < rows * width; start += width) {
    let [sum, squares] = [0, 0];
    for (let j = 0; j < width; j++) sum += x.values[start + j];
    const mean = sum / width;
    for (let j = 0; j < width; j++) squares += (x.values[start + j] - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / width + epsilon);
    for (let j = 0; j < width; j++) {
      y.values[start + j] = (x.values[start + j] - mean) * factor * gain.values[j] + bias.values[j];
    }
  }
  return y;
}

// The label-smoothed cross-entropy of logits on a tape, in nats per row (section 5.4). The gradient of the loss begins
// here: that of the logits is softmax − target.
/** @param {Tensor} logits @param {ArrayLike<number>} gold ids @param {number} smoothing ε @returns {number} */
export function crossEntropy(logits, gold, smoothing = 0) {
  const { kernels } = logits.tape;
  const ids = kernels.allocate(gold.length, Int32Array);
  ids.set(gold);
  const [rows, width] = logits.shape;
  return kernels.run.crossEntropy(address(logits.values), address(ids), address(logits.grad), rows, width, smoothing);
}

// Softmax of one row in place; −Infinity becomes 0.
/** @param {Float32Array} row */
export function softmax(row) {
  const max = greatest(row);
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i] = Math.exp(row[i] - max);
  for (let i = 0; i < row.length; i++) row[i] /= sum;
}

// The natural logarithm of the softmax.
/** @param {Float32Array} row */
export function logSoftmax(row) {
  const max = greatest(row);
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += Math.exp(row[i] - max);
  const log = max + Math.log(sum);
  const logs = new Float32Array(row.length);
  for (let i = 0; i < row.length; i++) logs[i] = row[i] - log;
  return logs;
}

/** @param {Float32Array} row */
function greatest(row) {
  let max = -Infinity;
  for (let i = 0; i < row.length; i++) if (row[i] > max) max = row[i];
  return max;
}

// (length, d_model) to (heads, length, d_k).
/** @param {Tensor} x @param {number} heads */
export function splitHeads(x, heads) {
  const [length, width] = x.shape;
  return new Tensor([heads, length, width / heads], swapped(x.values, length, heads));
}

// Concat(head_1, …, head_h): the inverse of `splitHeads`.
/** @param {Tensor} x */
export function mergeHeads(x) {
  const [heads, length, size] = x.shape;
  return new Tensor([length, heads * size], swapped(x.values, heads, length));
}

// The first two axes, m and n long, swapped.
/** @param {Float32Array} values @param {number} m @param {number} n */
function swapped(values, m, n) {
  const result = new Float32Array(values.length);
  const size = values.length / (m * n);
  for (let i = 0, from = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      for (let d = 0, to = (j * m + i) * size; d < size; d++) result[to++] = values[from++];
    }
  }
  return result;
}

// (heads, m, d_k) and (heads, n, d_k) to (heads, m + n, d_k); on a tape, the rows of each sequence of b after those of a.
/** @param {Tensor} a @param {Tensor} b */
export function joinRows(a, b) {
  if (a.tape) return joinSequences(a, b);
  const [heads, m, size] = a.shape;
  const n = b.shape[1];
  const y = new Tensor([heads, m + n, size]);
  for (let h = 0; h < heads; h++) {
    y.values.set(a.values.subarray(h * m * size, (h + 1) * m * size), h * (m + n) * size);
    y.values.set(b.values.subarray(h * n * size, (h + 1) * n * size), (h * (m + n) + m) * size);
  }
  return y;
}

// Without a way back: it is used for decoding only.
function joinSequences(a, b) {
  const width = a.shape[1];
  const starts = a.starts.map((start, i) => start + b.starts[i]);
  const y = a.tape.tensor([a.shape[0] + b.shape[0], width], starts);
  for (let i = 0; i + 1 < starts.length; i++) {
    y.values.set(a.values.subarray(a.starts[i] * width, a.starts[i + 1] * width), starts[i] * width);
    y.values.set(
      b.values.subarray(b.starts[i] * width, b.starts[i + 1] * width),
      (starts[i] + a.starts[i + 1] - a.starts[i]) * width,
    );
  }
  return y;
}
