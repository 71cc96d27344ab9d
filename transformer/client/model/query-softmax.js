// Attention with its softmax over the queries in place of the keys, as a mistake to look for in the Bug clinic. Plain loops,
// so that one reads what happens; `packedAttention` (attention.js) is the right one, and returns the same things.

import { paddedCount, Tensor } from "./tensor.js";

/** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {number} nHeads @param {number} scale @param {number | boolean} causal */
export function attentionOverQueries(query, key, value, nHeads, scale, causal) {
  const { tape } = query;
  const [width, size] = [query.shape[1], query.shape[1] / nHeads];
  const heads = query.result(query.shape);
  heads.values.fill(0);
  const table = new Int32Array(4 * (query.starts.length - 1));
  const parts = []; // of each sequence: the weights (heads, queries, padded keys)
  for (let s = 0; s + 1 < query.starts.length; s++) {
    const [queries, keys] = [query, key].map(({ starts }) => starts[s + 1] - starts[s]);
    const padded = paddedCount(keys);
    table.set([query.starts[s], queries, key.starts[s], keys], 4 * s);
    const weights = tape.kernels.allocate(nHeads * queries * padded).fill(0);
    const sees = (i, j) => !causal || j < keys - queries + i + Number(causal);
    const index = (h, i, j) => (h * queries + i) * padded + j;
    /** @param {(h: number, i: number, j: number, q: number, k: number) => void} use with the first numbers of query and key */
    const each = (use) => {
      for (let h = 0; h < nHeads; h++) {
        for (let i = 0; i < queries; i++) {
          const q = (query.starts[s] + i) * width + h * size;
          for (let j = 0; j < keys; j++) {
            if (sees(i, j)) use(h, i, j, q, (key.starts[s] + j) * width + h * size);
          }
        }
      }
    };
    const column = (h, j) => h * keys + j; // the weights of one sum to 1
    parts.push({ weights, index, each, column, columns: nHeads * keys });
    const sums = new Float64Array(nHeads * keys);
    each((h, i, j, q, k) => {
      const weight = tape.kernels.run.exp(scale * dot(query.values, q, key.values, k, size));
      weights[index(h, i, j)] = weight;
      sums[column(h, j)] += weight;
    });
    each((h, i, j, q, k) => {
      const weight = weights[index(h, i, j)] /= sums[column(h, j)];
      for (let d = 0; d < size; d++) heads.values[q + d] += weight * value.values[k + d];
    });
  }
  tape.record(() => {
    for (const { weights, index, each, column, columns } of parts) {
      const gradients = new Float64Array(weights.length);
      const means = new Float64Array(columns);
      each((h, i, j, q, k) => {
        const [at, weight] = [index(h, i, j), weights[index(h, i, j)]];
        gradients[at] = dot(heads.grad, q, value.values, k, size);
        means[column(h, j)] += weight * gradients[at];
        for (let d = 0; d < size; d++) value.grad[k + d] += weight * heads.grad[q + d];
      });
      each((h, i, j, q, k) => {
        const at = index(h, i, j);
        const gradient = scale * weights[at] * (gradients[at] - means[column(h, j)]);
        for (let d = 0; d < size; d++) {
          query.grad[q + d] += gradient * key.values[k + d];
          key.grad[k + d] += gradient * query.values[q + d];
        }
      });
    }
  });
  const first = parts[0].weights;
  const count = parts.reduce((sum, { weights }) => sum + weights.length, 0);
  const all = new Float32Array(first.buffer, first.byteOffset, count); // one after the other, as allocated
  return { heads, weights: Object.assign(new Tensor([count], all), { table }) };
}

function dot(a, from, b, to, size) {
  let sum = 0;
  for (let d = 0; d < size; d++) sum += a[from + d] * b[to + d];
  return sum;
}
