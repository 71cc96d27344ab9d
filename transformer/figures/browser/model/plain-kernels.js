// The kernels of kernels.ts that train a Transformer, as plain loops: for a browser without WebAssembly or its SIMD
// instructions, and to compare the compiled ones with in tests. Sums are taken in another order and functions are the
// browser's own, so that the last bits differ. Addresses, strides and sizes are as there.

const ROWS = 0x200400; // scratch space: the gradients of one head's scores

/** @param {ArrayBuffer} buffer @returns {any} functions by the names of the compiled kernels */
export function plainKernels(buffer) {
  const [floats, integers] = [new Float32Array(buffer), new Int32Array(buffer)];
  const view = (address, count) => floats.subarray(address >> 2, (address >> 2) + count);
  const paddedCount = (keys) => Math.ceil(keys / 8) * 8;

  // B is copied first, so that the inner loop reads neighbours.
  function multiply(a, ai, ak, b, bk, bj, c, ldc, start, lds, M, N, K) {
    const [rows, sums] = [new Float32Array(K * N), new Float32Array(N)];
    for (let k = 0; k < K; k++) for (let j = 0; j < N; j++) rows[k * N + j] = floats[(b >> 2) + k * bk + j * bj];
    for (let i = 0; i < M; i++) {
      for (let j = 0; j < N; j++) sums[j] = start ? floats[(start >> 2) + i * lds + j] : 0;
      for (let k = 0; k < K; k++) {
        const x = floats[(a >> 2) + i * ai + k * ak];
        for (let j = 0, from = k * N; j < N; j++) sums[j] += x * rows[from++];
      }
      floats.set(sums, (c >> 2) + i * ldc);
    }
  }

  // Softmax of scale · row over its first n numbers, in place; the others become 0.
  function softmax(row, n, scale) {
    let [max, sum] = [-Infinity, 0];
    for (let j = 0; j < n; j++) max = Math.max(max, row[j]);
    for (let j = 0; j < n; j++) sum += row[j] = Math.exp(scale * (row[j] - max));
    for (let j = 0; j < row.length; j++) row[j] = j < n ? row[j] / sum : 0;
  }

  // Each head of each sequence: the addresses of its queries, keys and weights after those of the tensors.
  function* eachHead(table, sequences, heads, size) {
    for (let s = 0, weights = 0; s < sequences; s++) {
      const [query, queries, key, keys] = integers.subarray((table >> 2) + 4 * s, (table >> 2) + 4 * s + 4);
      for (let h = 0; h < heads; h++, weights += 4 * queries * paddedCount(keys)) {
        const [first, column] = [4 * heads * size, 4 * h * size];
        yield { queries, keys, query: query * first + column, key: key * first + column, weights };
      }
    }
  }

  function attend(q, k, v, y, w, table, sequences, heads, size, scale, causal) {
    const width = heads * size;
    for (const { queries, keys, query, key, weights } of eachHead(table, sequences, heads, size)) {
      const ld = paddedCount(keys);
      multiply(q + query, width, 1, k + key, 1, width, w + weights, ld, 0, 0, queries, keys, size);
      for (let i = 0; i < queries; i++) {
        softmax(view(w + weights + 4 * i * ld, ld), causal ? Math.min(keys, keys - queries + i + causal) : keys, scale);
      }
      multiply(w + weights, ld, 1, v + key, width, 1, y + query, width, 0, 0, queries, size, keys);
    }
  }

  function attendBack(q, k, v, gy, w, gq, gk, gv, table, sequences, heads, size, scale) {
    const width = heads * size;
    for (const { queries, keys, query, key, weights } of eachHead(table, sequences, heads, size)) {
      const ld = paddedCount(keys);
      const add = (a, ai, ak, b, to, M, K) => multiply(a, ai, ak, b, width, 1, to, width, to, width, M, size, K);
      add(w + weights, 1, ld, gy + query, gv + key, keys, queries);
      multiply(gy + query, width, 1, v + key, 1, width, ROWS, ld, 0, 0, queries, keys, size);
      for (let i = 0; i < queries; i++) {
        const [shares, g] = [view(w + weights + 4 * i * ld, keys), view(ROWS + 4 * i * ld, keys)];
        const mean = shares.reduce((sum, share, j) => sum + share * g[j], 0);
        for (let j = 0; j < keys; j++) g[j] = scale * shares[j] * (g[j] - mean);
      }
      add(ROWS, ld, 1, k + key, gq + query, queries, keys);
      add(ROWS, 1, ld, q + query, gk + key, keys, queries);
    }
  }

  function addDropped(x, y, count, share, seed) {
    const [from, to, limit] = [view(x, count), view(y, count), Math.trunc(share * 16777216)];
    for (let i = 0; i < count; i++) {
      let hash = (i + seed) | 0;
      hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
      hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
      if ((hash ^ (hash >>> 16)) >>> 8 >= limit) to[i] += from[i] / (1 - share);
    }
  }

  function layerNorm(x, gain, bias, y, normal, inverse, rows, n) {
    for (let i = 0; i < rows; i++) {
      const [from, to, kept] = [x, y, normal].map((address) => view(address + 4 * i * n, n));
      const mean = from.reduce((sum, value) => sum + value, 0) / n;
      const factor = 1 / Math.sqrt(from.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n + 1e-5);
      floats[(inverse >> 2) + i] = factor;
      for (let j = 0; j < n; j++) {
        kept[j] = (from[j] - mean) * factor;
        to[j] = kept[j] * floats[(gain >> 2) + j] + floats[(bias >> 2) + j];
      }
    }
  }

  function layerNormBack(gy, normal, inverse, gain, gGain, gBias, gx, rows, n) {
    const [gains, gGains, gBiases] = [gain, gGain, gBias].map((address) => view(address, n));
    for (let i = 0; i < rows; i++) {
      const [g, kept, to] = [gy, normal, gx].map((address) => view(address + 4 * i * n, n));
      let [mean, along] = [0, 0];
      for (let j = 0; j < n; j++) {
        gGains[j] += g[j] * kept[j];
        gBiases[j] += g[j];
        mean += g[j] * gains[j] / n;
        along += g[j] * gains[j] * kept[j] / n;
      }
      const factor = floats[(inverse >> 2) + i];
      for (let j = 0; j < n; j++) to[j] += (g[j] * gains[j] - mean - kept[j] * along) * factor;
    }
  }

  function crossEntropy(logits, gold, gradient, rows, n, smoothing) {
    let loss = 0;
    for (let i = 0; i < rows; i++) {
      const [row, g, id] = [view(logits + 4 * i * n, n), view(gradient + 4 * i * n, n), integers[(gold >> 2) + i]];
      const max = row.reduce((a, b) => Math.max(a, b));
      const logSum = max + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
      for (let j = 0; j < n; j++) {
        const target = (j === id ? 1 - smoothing : 0) + smoothing / n;
        g[j] = (Math.exp(row[j] - logSum) - target) / rows;
        loss -= target * (row[j] - logSum) / rows;
      }
    }
    return loss;
  }

  function adam(weights, gradient, first, second, count, factor, rate, bias1, bias2, decay) {
    const [w, g, m, v] = [weights, gradient, first, second].map((address) => view(address, count));
    for (let i = 0; i < count; i++) {
      m[i] = 0.9 * m[i] + 0.1 * factor * g[i];
      v[i] = 0.98 * v[i] + 0.02 * (factor * g[i]) ** 2;
      w[i] = (1 - decay) * w[i] - rate / bias1 * m[i] / (Math.sqrt(v[i] / bias2) + 1e-9);
    }
  }

  const addScaled = (x, factor, y, count) => {
    const [from, to] = [view(x, count), view(y, count)];
    for (let i = 0; i < count; i++) to[i] += factor * from[i];
  };
  return {
    ...{ sin: Math.sin, cos: Math.cos, exp: Math.exp, log: Math.log },
    ...{ multiply, attend, attendBack, addDropped, addScaled, layerNorm, layerNormBack, crossEntropy, adam },
    addRows(x, sums, rows, n) {
      for (let i = 0; i < rows; i++) addScaled(x + 4 * i * n, 1, sums, n);
    },
    relu(x, y, count) {
      const [from, to] = [view(x, count), view(y, count)];
      for (let i = 0; i < count; i++) to[i] = Math.max(0, from[i]);
    },
    reluBack(y, gy, gx, count) {
      const [value, g, to] = [view(y, count), view(gy, count), view(gx, count)];
      for (let i = 0; i < count; i++) if (value[i] > 0) to[i] += g[i];
    },
    sumOfSquares: (x, count) => view(x, count).reduce((sum, value) => sum + value * value, 0),
  };
}
