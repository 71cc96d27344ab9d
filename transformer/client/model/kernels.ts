// The loops over numbers of translation and training, in AssemblyScript (TypeScript for WebAssembly), four numbers at a
// time (v128). kernels.js calls them; kernel-bytes.js has the compiled module, which
// `deno run -A tests/figures/scripts/build-kernels.js --write` makes from this file.
//
// Every result is the same bit for bit on every machine: only plain SIMD (relaxed SIMD may round differently), sums in a
// fixed order, and exp, log, sin and cos in software, since those of browsers differ.
//
// Addresses count bytes, strides and sizes count floats. Kernels whose name ends in "Back" are the way back of the one
// before: g… is the gradient of the loss with respect to …, and all of them add to the gradients that they compute.

const PANEL: usize = 0x400; // eight columns of B, packed: at most 32,768 rows
const TAIL: usize = 0x100400; // the last columns of C, if they are fewer than eight
const ROWS: usize = 0x200400; // the gradients of one head's scores, or one row of logits
// JavaScript allocates from 4 MB on.

// @ts-ignore: decorator
@inline function at(address: usize, index: i32): usize { return address + (<usize>index << 2); }

// @ts-ignore: decorator
@inline function multiplyAdd(a: v128, b: v128, sum: v128): v128 { return f32x4.add(sum, f32x4.mul(a, b)); }

// @ts-ignore: decorator
@inline function total(x: v128): f32 {
  return (f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1)) + (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

/** e^x for four x <= 0, to about 1e-7; below -87 it is that of -87, nearly 0. */
// @ts-ignore: decorator
@inline function exp4(x: v128): v128 {
  x = f32x4.max(x, f32x4.splat(-87));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504)));
  const r = f32x4.sub(f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375))), f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  let series = multiplyAdd(r, f32x4.splat(1.0 / 720), f32x4.splat(1.0 / 120));
  series = multiplyAdd(series, r, f32x4.splat(1.0 / 24));
  series = multiplyAdd(series, r, f32x4.splat(1.0 / 6));
  series = multiplyAdd(series, r, f32x4.splat(0.5));
  series = multiplyAdd(series, r, f32x4.splat(1));
  series = multiplyAdd(series, r, f32x4.splat(1));
  return f32x4.mul(series, i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23));
}

// ---- Functions of one number, to about 1e-15

/** sin x, or with a quarter turn more cos x: x = n π/2 + r, and the series of sin r or cos r with the sign of quarter n. */
function sine(x: f64, quarter: i64): f64 {
  const n = nearest(x * 0.6366197723675814), r = (x - n * 1.5707963267341256) - n * 6.077100506506192e-11;
  const turn = (<i64>n + quarter) & 3;
  let term: f64 = turn & 1 ? 1 : r, sum = term;
  for (let k = turn & 1 ? 1.0 : 2.0; k < 20; k += 2) { term *= -r * r / (k * (k + 1)); sum += term; }
  return turn & 2 ? -sum : sum;
}
export function sin(x: f64): f64 { return sine(x, 0); }
export function cos(x: f64): f64 { return sine(x, 1); }

/** e^x: x = n ln 2 + r, and e^x is 2^n times the series of e^r. */
export function exp(x: f64): f64 {
  const n = nearest(x * 1.4426950408889634), r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
  let term: f64 = 1, sum: f64 = 1;
  for (let k = 1.0; k < 16; k++) { term *= r / k; sum += term; }
  return sum * reinterpret<f64>((<i64>n + 1023) << 52);
}

/** log x: x = 2^n m with m near 1, and log m = 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1) / (m + 1). */
export function log(x: f64): f64 {
  const bits = reinterpret<i64>(x), n = ((bits - 0x3FE6A09E667F3BCD) >> 52); // m is from √½ to √2
  const m = reinterpret<f64>(bits - (n << 52)), s = (m - 1) / (m + 1);
  let power = s, sum = s;
  for (let k = 3.0; k < 24; k += 2) { power *= s * s; sum += power / k; }
  return <f64>n * 0.6931471805599453 + 2 * sum;
}

// ---- Matrix products

/**
 * C = A B + start: C is (M, N), A (M, K), B (K, N). A(i, k) is at a + i·ai + k·ak, and B(k, j) at b + k·bk + j·bj, so that
 * a transposed matrix is only another pair of strides. `start` is 0 for nothing, or the address of what is added: a
 * bias for every row (lds = 0), or C itself, for a gradient that others have begun.
 */
export function multiply(
  a: usize, ai: i32, ak: i32, b: usize, bk: i32, bj: i32, c: usize, ldc: i32, start: usize, lds: i32, M: i32, N: i32, K: i32,
): void {
  if (M < 4 && bk == 1 && ak == 1 && K % 4 == 0) return dotProducts(a, ai, b, bj, c, ldc, start, lds, M, N, K);
  for (let j = 0; j < N; j += 8) {
    const columns = min(8, N - j), from = at(b, j * bj), addend = start ? at(start, j) : 0;
    let panel = from, step: usize = <usize>bk << 2;
    if (M >= 8 || bj != 1) {
      pack(from, bk, bj, K);
      panel = PANEL;
      step = 32;
    }
    if (columns == 8) multiplyPanel(a, ai, ak, panel, step, at(c, j), ldc, addend, lds, M, K);
    else {
      if (addend) copyColumns(addend, lds, TAIL, 8, M, columns);
      multiplyPanel(a, ai, ak, panel, step, TAIL, 8, addend ? TAIL : 0, 8, M, K);
      copyColumns(TAIL, 8, at(c, j), ldc, M, columns);
    }
  }
}

/** Eight columns of C, four rows at a time: each number of A meets eight of B, and each of B four of A. */
function multiplyPanel(a: usize, ai: i32, ak: i32, panel: usize, step: usize, c: usize, ldc: i32, start: usize, lds: i32, M: i32, K: i32): void {
  const rowA: usize = <usize>ai << 2, nextA: usize = <usize>ak << 2, rowC: usize = <usize>ldc << 2, rowS: usize = <usize>lds << 2;
  let i = 0;
  for (; i + 4 <= M; i += 4) {
    let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    if (start) {
      s00 = v128.load(start); s01 = v128.load(start, 16);
      s10 = v128.load(start + rowS); s11 = v128.load(start + rowS, 16);
      s20 = v128.load(start + 2 * rowS); s21 = v128.load(start + 2 * rowS, 16);
      s30 = v128.load(start + 3 * rowS); s31 = v128.load(start + 3 * rowS, 16);
      start += 4 * rowS;
    }
    let a0 = a, a1 = a + rowA, a2 = a + 2 * rowA, a3 = a + 3 * rowA;
    for (let k = 0, p = panel; k < K; k++, p += step) {
      const b0 = v128.load(p), b1 = v128.load(p, 16);
      let x = v128.load32_splat(a0); s00 = multiplyAdd(x, b0, s00); s01 = multiplyAdd(x, b1, s01);
      x = v128.load32_splat(a1); s10 = multiplyAdd(x, b0, s10); s11 = multiplyAdd(x, b1, s11);
      x = v128.load32_splat(a2); s20 = multiplyAdd(x, b0, s20); s21 = multiplyAdd(x, b1, s21);
      x = v128.load32_splat(a3); s30 = multiplyAdd(x, b0, s30); s31 = multiplyAdd(x, b1, s31);
      a0 += nextA; a1 += nextA; a2 += nextA; a3 += nextA;
    }
    v128.store(c, s00); v128.store(c, s01, 16);
    v128.store(c + rowC, s10); v128.store(c + rowC, s11, 16);
    v128.store(c + 2 * rowC, s20); v128.store(c + 2 * rowC, s21, 16);
    v128.store(c + 3 * rowC, s30); v128.store(c + 3 * rowC, s31, 16);
    a += 4 * rowA; c += 4 * rowC;
  }
  for (; i < M; i++) {
    let s0 = f32x4.splat(0), s1 = s0, a0 = a;
    if (start) { s0 = v128.load(start); s1 = v128.load(start, 16); start += rowS; }
    for (let k = 0, p = panel; k < K; k++, p += step, a0 += nextA) {
      const x = v128.load32_splat(a0);
      s0 = multiplyAdd(x, v128.load(p), s0); s1 = multiplyAdd(x, v128.load(p, 16), s1);
    }
    v128.store(c, s0); v128.store(c, s1, 16);
    a += rowA; c += rowC;
  }
}

/** Copies eight columns of B next to each other; one of the strides is 1. Where there are fewer columns it copies what
 * follows in the memory, and nothing reads the products of that. */
function pack(from: usize, bk: i32, bj: i32, K: i32): void {
  const row: usize = <usize>bk << 2, column: usize = <usize>bj << 2;
  let k = 0, p = PANEL;
  if (bj == 1) {
    for (; k < K; k++, p += 32, from += row) { v128.store(p, v128.load(from)); v128.store(p, v128.load(from, 16), 16); }
    return;
  }
  for (; k + 4 <= K; k += 4, p += 128, from += 16) {
    for (let four: usize = 0; four < 2; four++) {
      const first = from + 4 * four * column, second = first + column, third = second + column;
      transpose(v128.load(first), v128.load(second), v128.load(third), v128.load(third + column), p + 16 * four);
    }
  }
  for (; k < K; k++, p += 32, from += 4) {
    for (let j: usize = 0; j < 8; j++) store<f32>(p + (j << 2), load<f32>(from + j * column));
  }
}

/** Four numbers of each of four columns to four rows of the panel. */
// @ts-ignore: decorator
@inline function transpose(c0: v128, c1: v128, c2: v128, c3: v128, p: usize): void {
  const low01 = v128.shuffle<f32>(c0, c1, 0, 4, 1, 5), high01 = v128.shuffle<f32>(c0, c1, 2, 6, 3, 7);
  const low23 = v128.shuffle<f32>(c2, c3, 0, 4, 1, 5), high23 = v128.shuffle<f32>(c2, c3, 2, 6, 3, 7);
  v128.store(p, v128.shuffle<f32>(low01, low23, 0, 1, 4, 5));
  v128.store(p, v128.shuffle<f32>(low01, low23, 2, 3, 6, 7), 32);
  v128.store(p, v128.shuffle<f32>(high01, high23, 0, 1, 4, 5), 64);
  v128.store(p, v128.shuffle<f32>(high01, high23, 2, 3, 6, 7), 96);
}

function copyColumns(from: usize, ldf: i32, to: usize, ldt: i32, rows: i32, columns: i32): void {
  for (let i = 0; i < rows; i++) memory.copy(at(to, i * ldt), at(from, i * ldf), <usize>columns << 2);
}

/** The product for one to three rows of A, as when a single token is decoded: each row of Bᵀ is read once, unpacked. */
function dotProducts(a: usize, ai: i32, b: usize, bj: i32, c: usize, ldc: i32, start: usize, lds: i32, M: i32, N: i32, K: i32): void {
  const end: usize = <usize>K << 2, row: usize = <usize>bj << 2;
  for (let i = 0; i < M; i++, a = at(a, ai), c = at(c, ldc)) {
    for (let j = 0; j < N; j += 4) {
      const b0 = b + <usize>j * row, b1 = b0 + row, b2 = b1 + row, b3 = b2 + row;
      let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
      for (let k: usize = 0; k < end; k += 16) {
        const x = v128.load(a + k);
        s0 = multiplyAdd(x, v128.load(b0 + k), s0); s1 = multiplyAdd(x, v128.load(b1 + k), s1);
        s2 = multiplyAdd(x, v128.load(b2 + k), s2); s3 = multiplyAdd(x, v128.load(b3 + k), s3);
      }
      storeTotals(s0, s1, s2, s3, at(c, j), start ? at(start, i * lds + j) : 0, N - j);
    }
  }
}

/**
 * C = A Bᵀ + bias for a matrix B of 16-bit numbers, which are read twice as fast: the rows of B one after the other, as they
 * lie in the memory, where the processor fetches them ahead. K is a multiple of 8.
 */
export function multiplyHalf(a: usize, ai: i32, b: usize, c: usize, ldc: i32, bias: usize, M: i32, N: i32, K: i32): void {
  if (M >= 4 && N >= 2) return multiplyHalfRows(a, ai, b, c, ldc, bias, M, N, K);
  for (let i = 0; i < M; i++, a = at(a, ai), c = at(c, ldc)) multiplyHalfRow(a, b, c, bias, N, K);
}

/** The product for one row of A, as when a single token is decoded. */
function multiplyHalfRow(a: usize, b: usize, c: usize, bias: usize, N: i32, K: i32): void {
  const row: usize = <usize>K << 1, up = f32x4.splat(reinterpret<f32>(0x6f800000)), down = f32x4.splat(65536);
  for (let o: usize = 0; o < 2 * row; o += 32) {
    const x0 = v128.load(a + o), x1 = v128.load(a + o, 16);
    v128.store(PANEL + o, f32x4.mul(v128.shuffle<f32>(x0, x1, 0, 2, 4, 6), up));
    v128.store(PANEL + o, f32x4.mul(v128.shuffle<f32>(x0, x1, 1, 3, 5, 7), up), 16);
  }
  for (let j = 0; j < N; j += 4, b += 4 * row) {
    const s0 = f32x4.mul(dotHalf(b, row), down), s1 = f32x4.mul(dotHalf(b + row, row), down);
    const s2 = f32x4.mul(dotHalf(b + 2 * row, row), down), s3 = f32x4.mul(dotHalf(b + 3 * row, row), down);
    storeTotals(s0, s1, s2, s3, at(c, j), bias ? at(bias, j) : 0, N - j);
  }
}

/** The product of a row of B and the row of A in the panel, of every eight numbers first the even ones, as four sums. */
// @ts-ignore: decorator
@inline function dotHalf(b: usize, bytes: usize): v128 {
  let s0 = f32x4.splat(0), s1 = s0;
  for (let k: usize = 0; k < bytes; k += 16) {
    const eight = v128.load(b + k);
    s0 = multiplyAdd(v128.load(PANEL + (k << 1)), evenHalves(eight), s0);
    s1 = multiplyAdd(v128.load(PANEL + (k << 1), 16), oddHalves(eight), s1);
  }
  return f32x4.add(s0, s1);
}

/** The product for at least four rows of A, and two of B: two rows of B at a time, each for four rows of A. */
function multiplyHalfRows(a: usize, ai: i32, b: usize, c: usize, ldc: i32, bias: usize, M: i32, N: i32, K: i32): void {
  const row: usize = <usize>ai << 2, end: usize = <usize>K << 2, second = PANEL + end;
  for (let column = 0; column < N; column += 2) {
    const j = min(column, N - 2); // the last rows may be computed twice
    unpackHalf(b + (<usize>(j * K) << 1), 2 * K);
    for (let block = 0; block < M; block += 4) {
      const i = min(block, M - 4), a0 = at(a, i * ai), a1 = a0 + row, a2 = a1 + row, a3 = a2 + row;
      let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
      for (let k: usize = 0; k < end; k += 16) {
        const b0 = v128.load(PANEL + k), b1 = v128.load(second + k);
        let x = v128.load(a0 + k); s00 = multiplyAdd(x, b0, s00); s01 = multiplyAdd(x, b1, s01);
        x = v128.load(a1 + k); s10 = multiplyAdd(x, b0, s10); s11 = multiplyAdd(x, b1, s11);
        x = v128.load(a2 + k); s20 = multiplyAdd(x, b0, s20); s21 = multiplyAdd(x, b1, s21);
        x = v128.load(a3 + k); s30 = multiplyAdd(x, b0, s30); s31 = multiplyAdd(x, b1, s31);
      }
      const b0: f32 = bias ? load<f32>(at(bias, j)) : 0, b1: f32 = bias ? load<f32>(at(bias, j + 1)) : 0;
      const c0 = at(c, i * ldc + j), c1 = at(c0, ldc), c2 = at(c1, ldc), c3 = at(c2, ldc);
      store<f32>(c0, total(s00) + b0); store<f32>(c0, total(s01) + b1, 4);
      store<f32>(c1, total(s10) + b0); store<f32>(c1, total(s11) + b1, 4);
      store<f32>(c2, total(s20) + b0); store<f32>(c2, total(s21) + b1, 4);
      store<f32>(c3, total(s30) + b0); store<f32>(c3, total(s31) + b1, 4);
    }
  }
}

/** `count` 16-bit numbers to the panel, as float32. */
function unpackHalf(from: usize, count: i32): void {
  const up = f32x4.splat(reinterpret<f32>(0x77800000)), end: usize = <usize>count << 2;
  for (let o: usize = 0; o < end; o += 32, from += 16) {
    const eight = v128.load(from), even = f32x4.mul(evenHalves(eight), up), odd = f32x4.mul(oddHalves(eight), up);
    v128.store(PANEL + o, v128.shuffle<f32>(even, odd, 0, 4, 1, 5));
    v128.store(PANEL + o, v128.shuffle<f32>(even, odd, 2, 6, 3, 7), 16);
  }
}

/**
 * Four of eight float16 as float32, times 2^-112, the difference of the biases: the exponent's bits move to their place. For
 * one row of A the other factor is 2^96 times too great, and the sum is multiplied by 2^16, all without rounding.
 */
// @ts-ignore: decorator
@inline function oddHalves(eight: v128): v128 { return v128.and(i32x4.shr_s(eight, 3), i32x4.splat(0x8fffe000)); }

// @ts-ignore: decorator
@inline function evenHalves(eight: v128): v128 { return oddHalves(i32x4.shl(eight, 16)); }

/** The totals of four sums, plus what is at `start`; with fewer than four columns left, only those. */
// @ts-ignore: decorator
@inline function storeTotals(s0: v128, s1: v128, s2: v128, s3: v128, c: usize, start: usize, columns: i32): void {
  let sums = f32x4.splat(total(s0));
  sums = f32x4.replace_lane(f32x4.replace_lane(f32x4.replace_lane(sums, 1, total(s1)), 2, total(s2)), 3, total(s3));
  if (start) sums = f32x4.add(sums, v128.load(start));
  if (columns >= 4) return v128.store(c, sums);
  store<f32>(c, f32x4.extract_lane(sums, 0));
  if (columns > 1) store<f32>(c, f32x4.extract_lane(sums, 1), 4);
  if (columns > 2) store<f32>(c, f32x4.extract_lane(sums, 2), 8);
}

// ---- Attention (section 3.2): all heads of all sequences, which lie end to end without padding

/**
 * softmax(scale · Q Kᵀ) V of each head. `table` has four integers per sequence: its first query row, how many, its first
 * key row, how many. Rows of q, k, v and y have `width` floats, `size` per head. `weights` gets one matrix after the
 * other, (sequence, head), in rows of `padded(keys)` floats: products with what follows the last key are computed too, and
 * replaced by 0. With `causal` 1, later keys have weight 0; with 2, all but the next one have.
 */
export function attend(
  q: usize, k: usize, v: usize, y: usize, weights: usize, table: usize, sequences: i32, heads: i32, size: i32, scale: f32, causal: i32,
): void {
  const width = heads * size;
  for (let s = 0; s < sequences; s++, table += 16) {
    const queries = load<i32>(table, 4), keys = load<i32>(table, 12), ld = padded(keys);
    for (let h = 0; h < heads; h++) {
      const query = at(q, load<i32>(table) * width + h * size), y0 = at(y, load<i32>(table) * width + h * size);
      const key = at(k, load<i32>(table, 8) * width + h * size), value = at(v, load<i32>(table, 8) * width + h * size);
      multiply(query, width, 1, key, 1, width, weights, ld, 0, 0, queries, ld, size);
      for (let i = 0; i < queries; i++) softmax(at(weights, i * ld), causal ? min(keys, keys - queries + i + causal) : keys, ld, scale);
      multiply(weights, ld, 1, value, width, 1, y0, width, 0, 0, queries, size, keys);
      weights = at(weights, queries * ld);
    }
  }
}

// @ts-ignore: decorator
@inline function padded(keys: i32): i32 { return (keys + 7) & -8; }

/** Softmax of scale · row over its first n numbers, in place; the others become 0. */
function softmax(row: usize, n: i32, ld: i32, scale: f32): void {
  const end: usize = <usize>ld << 2;
  let max: f32 = load<f32>(row), sum = f32x4.splat(0);
  for (let j = 1; j < n; j++) max = f32.max(max, load<f32>(at(row, j)));
  for (let j = n; j < ld; j++) store<f32>(at(row, j), max);
  for (let x: usize = 0; x < end; x += 16) v128.store(row + x, exp4(f32x4.mul(f32x4.sub(v128.load(row + x), f32x4.splat(max)), f32x4.splat(scale))));
  for (let j = n; j < ld; j++) store<f32>(at(row, j), 0);
  for (let x: usize = 0; x < end; x += 16) sum = f32x4.add(sum, v128.load(row + x));
  const factor = f32x4.splat(<f32>1 / total(sum));
  for (let x: usize = 0; x < end; x += 16) v128.store(row + x, f32x4.mul(v128.load(row + x), factor));
}

/** With A the weights: gV += Aᵀ gY; gA = gY Vᵀ; gS = scale · A (gA − Σ A gA); gQ += gS K; gK += gSᵀ Q. */
export function attendBack(
  q: usize, k: usize, v: usize, gy: usize, weights: usize, gq: usize, gk: usize, gv: usize, table: usize, sequences: i32, heads: i32, size: i32, scale: f32,
): void {
  const width = heads * size;
  for (let s = 0; s < sequences; s++, table += 16) {
    const queries = load<i32>(table, 4), keys = load<i32>(table, 12), ld = padded(keys), end: usize = <usize>ld << 2;
    for (let h = 0; h < heads; h++) {
      const query = load<i32>(table) * width + h * size, key = load<i32>(table, 8) * width + h * size;
      multiply(weights, 1, ld, at(gy, query), width, 1, at(gv, key), width, at(gv, key), width, keys, size, queries);
      multiply(at(gy, query), width, 1, at(v, key), 1, width, ROWS, ld, 0, 0, queries, ld, size);
      for (let i = 0; i < queries; i++) {
        const a = at(weights, i * ld), g = at(ROWS, i * ld);
        for (let j = keys; j < ld; j++) store<f32>(at(g, j), 0);
        let dot = f32x4.splat(0);
        for (let x: usize = 0; x < end; x += 16) dot = multiplyAdd(v128.load(a + x), v128.load(g + x), dot);
        const mean = f32x4.splat(total(dot));
        for (let x: usize = 0; x < end; x += 16) {
          v128.store(g + x, f32x4.mul(f32x4.mul(v128.load(a + x), f32x4.sub(v128.load(g + x), mean)), f32x4.splat(scale)));
        }
      }
      multiply(ROWS, ld, 1, at(k, key), width, 1, at(gq, query), width, at(gq, query), width, queries, size, keys);
      multiply(ROWS, 1, ld, at(q, query), width, 1, at(gk, key), width, at(gk, key), width, keys, size, queries);
      weights = at(weights, queries * ld);
    }
  }
}

// ---- The other boxes of Figure 1; counts are multiples of 4

/** y += factor · x. */
export function addScaled(x: usize, factor: f32, y: usize, count: i32): void {
  const end: usize = <usize>count << 2;
  for (let o: usize = 0; o < end; o += 16) v128.store(y + o, multiplyAdd(v128.load(x + o), f32x4.splat(factor), v128.load(y + o)));
}

/** sums += the sum of all rows: the gradient of a bias. */
export function addRows(x: usize, sums: usize, rows: i32, n: i32): void {
  for (let i = 0; i < rows; i++, x = at(x, n)) addScaled(x, 1, sums, n);
}

/** y = max(0, x) (section 3.3). */
export function relu(x: usize, y: usize, count: i32): void {
  const end: usize = <usize>count << 2;
  for (let o: usize = 0; o < end; o += 16) v128.store(y + o, f32x4.max(v128.load(x + o), f32x4.splat(0)));
}

export function reluBack(y: usize, gy: usize, gx: usize, count: i32): void {
  const end: usize = <usize>count << 2;
  for (let o: usize = 0; o < end; o += 16) {
    v128.store(gx + o, f32x4.add(v128.load(gx + o), v128.and(v128.load(gy + o), f32x4.gt(v128.load(y + o), f32x4.splat(0)))));
  }
}

/**
 * y += x, without a share of the numbers and the others scaled up (section 5.4). Which ones is a hash of their index
 * and `seed`, so that the way back is the same call with gradients, and no mask is stored.
 */
export function addDropped(x: usize, y: usize, count: i32, share: f32, seed: i32): void {
  const end: usize = <usize>count << 2, factor = f32x4.splat(<f32>1 / (1 - share));
  const limit = i32x4.splat(<i32>(share * 16777216));
  let index = i32x4.add(i32x4(0, 1, 2, 3), i32x4.splat(seed));
  for (let o: usize = 0; o < end; o += 16, index = i32x4.add(index, i32x4.splat(4))) {
    let hash = i32x4.mul(v128.xor(index, i32x4.shr_u(index, 16)), i32x4.splat(0x7feb352d)); // Wellons, "Hash Prospector"
    hash = i32x4.mul(v128.xor(hash, i32x4.shr_u(hash, 15)), i32x4.splat(0x846ca68b));
    const keep = i32x4.ge_s(i32x4.shr_u(v128.xor(hash, i32x4.shr_u(hash, 16)), 8), limit);
    v128.store(y + o, f32x4.add(v128.load(y + o), v128.and(keep, f32x4.mul(v128.load(x + o), factor))));
  }
}

/** y = gain · n(x) + bias of each row, with n(x) of mean 0 and variance 1 (Ba et al. 2016); n(x) and 1/σ are kept. */
export function layerNorm(x: usize, gain: usize, bias: usize, y: usize, normal: usize, inverse: usize, rows: i32, n: i32): void {
  const end: usize = <usize>n << 2;
  for (let i = 0; i < rows; i++, x += end, y += end, normal += end, inverse += 4) {
    let sum = f32x4.splat(0), squares = f32x4.splat(0);
    for (let j: usize = 0; j < end; j += 16) sum = f32x4.add(sum, v128.load(x + j));
    const mean = f32x4.splat(total(sum) / <f32>n);
    for (let j: usize = 0; j < end; j += 16) { const d = f32x4.sub(v128.load(x + j), mean); squares = multiplyAdd(d, d, squares); }
    const factor: f32 = <f32>1 / sqrt<f32>(total(squares) / <f32>n + <f32>1e-5);
    store<f32>(inverse, factor);
    for (let j: usize = 0; j < end; j += 16) {
      const value = f32x4.mul(f32x4.sub(v128.load(x + j), mean), f32x4.splat(factor));
      v128.store(normal + j, value);
      v128.store(y + j, multiplyAdd(value, v128.load(gain + j), v128.load(bias + j)));
    }
  }
}

/** With d = gain · gy: gx += (d − mean(d) − n(x) · mean(d · n(x))) / σ. */
export function layerNormBack(gy: usize, normal: usize, inverse: usize, gain: usize, gGain: usize, gBias: usize, gx: usize, rows: i32, n: i32): void {
  const end: usize = <usize>n << 2;
  for (let i = 0; i < rows; i++, gy += end, normal += end, inverse += 4, gx += end) {
    let sum = f32x4.splat(0), dot = sum;
    for (let j: usize = 0; j < end; j += 16) {
      const g = v128.load(gy + j), value = v128.load(normal + j), d = f32x4.mul(g, v128.load(gain + j));
      v128.store(gGain + j, multiplyAdd(g, value, v128.load(gGain + j)));
      v128.store(gBias + j, f32x4.add(g, v128.load(gBias + j)));
      sum = f32x4.add(sum, d);
      dot = multiplyAdd(d, value, dot);
    }
    const mean = f32x4.splat(total(sum) / <f32>n), along = f32x4.splat(total(dot) / <f32>n), factor = v128.load32_splat(inverse);
    for (let j: usize = 0; j < end; j += 16) {
      const d = f32x4.sub(f32x4.sub(f32x4.mul(v128.load(gy + j), v128.load(gain + j)), mean), f32x4.mul(v128.load(normal + j), along));
      v128.store(gx + j, multiplyAdd(d, factor, v128.load(gx + j)));
    }
  }
}

// ---- Recurrent encoder–decoders (model/recurrent.js)

/** tanh x = (1 − e^(−2|x|)) / (1 + e^(−2|x|)) with the sign of x. */
// @ts-ignore: decorator
@inline function tanh4(x: v128): v128 {
  const e = exp4(f32x4.mul(f32x4.abs(x), f32x4.splat(-2))), one = f32x4.splat(1);
  return v128.bitselect(x, f32x4.div(f32x4.sub(one, e), f32x4.add(one, e)), i32x4.splat(0x80000000));
}

/** σ(x) = (1 + tanh(x/2)) / 2 */
// @ts-ignore: decorator
@inline function sigmoid4(x: v128): v128 {
  return f32x4.mul(f32x4.add(tanh4(f32x4.mul(x, f32x4.splat(0.5))), f32x4.splat(1)), f32x4.splat(0.5));
}

/**
 * One step of a GRU: y = n + z (h − n) with r = σ(x_r + u_r), z = σ(x_z + u_z), n = tanh(x_n + r u_n). Rows of x and u have
 * the three parts r, z and n of `n` numbers each; `gates` keeps them for the way back.
 */
export function gru(x: usize, u: usize, h: usize, gates: usize, y: usize, rows: i32, n: i32): void {
  const part: usize = <usize>n << 2;
  for (let i = 0; i < rows; i++, x += 3 * part, u += 3 * part, gates += 3 * part, h += part, y += part) {
    for (let j: usize = 0; j < part; j += 16) {
      const r = sigmoid4(f32x4.add(v128.load(x + j), v128.load(u + j)));
      const z = sigmoid4(f32x4.add(v128.load(x + part + j), v128.load(u + part + j)));
      const state = tanh4(multiplyAdd(r, v128.load(u + 2 * part + j), v128.load(x + 2 * part + j)));
      v128.store(gates + j, r); v128.store(gates + part + j, z); v128.store(gates + 2 * part + j, state);
      v128.store(y + j, multiplyAdd(z, f32x4.sub(v128.load(h + j), state), state));
    }
  }
}

/** With σ' = σ (1 − σ) and tanh' = 1 − tanh². */
export function gruBack(u: usize, h: usize, gates: usize, gy: usize, gx: usize, gu: usize, gh: usize, rows: i32, n: i32): void {
  const part: usize = <usize>n << 2, one = f32x4.splat(1);
  for (let i = 0; i < rows; i++, u += 3 * part, gates += 3 * part, gx += 3 * part, gu += 3 * part, h += part, gy += part, gh += part) {
    for (let j: usize = 0; j < part; j += 16) {
      const r = v128.load(gates + j), z = v128.load(gates + part + j), state = v128.load(gates + 2 * part + j), g = v128.load(gy + j);
      const gn = f32x4.mul(f32x4.mul(g, f32x4.sub(one, z)), f32x4.sub(one, f32x4.mul(state, state)));
      const gr = f32x4.mul(f32x4.mul(gn, v128.load(u + 2 * part + j)), f32x4.mul(r, f32x4.sub(one, r)));
      const gz = f32x4.mul(f32x4.mul(g, f32x4.sub(v128.load(h + j), state)), f32x4.mul(z, f32x4.sub(one, z)));
      addTo(gx + j, gr); addTo(gx + part + j, gz); addTo(gx + 2 * part + j, gn);
      addTo(gu + j, gr); addTo(gu + part + j, gz); addTo(gu + 2 * part + j, f32x4.mul(gn, r));
      addTo(gh + j, f32x4.mul(g, z));
    }
  }
}

// @ts-ignore: decorator
@inline function addTo(address: usize, x: v128): void { v128.store(address, f32x4.add(v128.load(address), x)); }

/**
 * Additive attention of one head, n columns of rows of `width`: α = softmax_j(v · tanh(q + k_j)) and y = Σ_j α_j m_j for
 * each query. `table` has four integers per query: its first key row, how many it sees, where its weights begin, and how
 * many these are.
 */
export function attendAdditive(q: usize, k: usize, m: usize, v: usize, y: usize, weights: usize, table: usize, queries: i32, n: i32, width: i32): void {
  const end: usize = <usize>n << 2, row: usize = <usize>width << 2;
  for (let i = 0; i < queries; i++, table += 16, q += row, y += row) {
    const first: usize = <usize>load<i32>(table) * row, keys = load<i32>(table, 4), ld = load<i32>(table, 12), a = at(weights, load<i32>(table, 8));
    for (let j = 0; j < keys; j++) {
      let sum = f32x4.splat(0);
      for (let d: usize = 0; d < end; d += 16) {
        sum = multiplyAdd(v128.load(v + d), tanh4(f32x4.add(v128.load(q + d), v128.load(k + first + j * row + d))), sum);
      }
      store<f32>(at(a, j), total(sum));
    }
    softmax(a, keys, ld, 1);
    multiply(a, ld, 1, m + first, width, 1, y, width, 0, 0, 1, n, keys);
  }
}

/** With t = tanh(q + k_j): gm_j += α_j gy; gs_j = α_j (gy·m_j − Σ α gy·m); gv += gs_j t; gq and gk_j += gs_j v (1 − t²). */
export function attendAdditiveBack(
  q: usize, k: usize, m: usize, v: usize, gy: usize, weights: usize, gq: usize, gk: usize, gm: usize, gv: usize, table: usize, queries: i32, n: i32, width: i32,
): void {
  const end: usize = <usize>n << 2, row: usize = <usize>width << 2, one = f32x4.splat(1);
  for (let i = 0; i < queries; i++, table += 16, q += row, gy += row, gq += row) {
    const first: usize = <usize>load<i32>(table) * row, keys = load<i32>(table, 4), a = at(weights, load<i32>(table, 8));
    let mean: f32 = 0;
    for (let j = 0; j < keys; j++) {
      const memory = first + j * row, share = v128.load32_splat(at(a, j));
      let dot = f32x4.splat(0);
      for (let d: usize = 0; d < end; d += 16) {
        dot = multiplyAdd(v128.load(gy + d), v128.load(m + memory + d), dot);
        addTo(gm + memory + d, f32x4.mul(share, v128.load(gy + d)));
      }
      store<f32>(at(ROWS, j), total(dot));
      mean += load<f32>(at(a, j)) * total(dot);
    }
    for (let j = 0; j < keys; j++) {
      const key = first + j * row, gs = f32x4.splat(load<f32>(at(a, j)) * (load<f32>(at(ROWS, j)) - mean));
      for (let d: usize = 0; d < end; d += 16) {
        const t = tanh4(f32x4.add(v128.load(q + d), v128.load(k + key + d)));
        const g = f32x4.mul(f32x4.mul(gs, v128.load(v + d)), f32x4.sub(one, f32x4.mul(t, t)));
        addTo(gv + d, f32x4.mul(gs, t)); addTo(gq + d, g); addTo(gk + key + d, g);
      }
    }
  }
}

// ---- The loss and the optimizer

/**
 * Label-smoothed cross-entropy (section 5.4) of rows of n logits, in nats: the gold token has probability 1 − ε, and ε is
 * spread over all n. Returns the mean, and writes the gradient.
 */
export function crossEntropy(logits: usize, gold: usize, gradient: usize, rows: i32, n: i32, smoothing: f32): f64 {
  const end: usize = <usize>((n + 3) & -4) << 2;
  let loss: f64 = 0;
  for (let i = 0; i < rows; i++, logits = at(logits, n), gradient = at(gradient, n)) {
    const id = load<i32>(at(gold, i));
    let max: f32 = load<f32>(logits), sumOfLogits: f32 = 0, sum = f32x4.splat(0);
    for (let j = 0; j < n; j++) { max = f32.max(max, load<f32>(at(logits, j))); sumOfLogits += load<f32>(at(logits, j)); }
    memory.copy(ROWS, logits, <usize>n << 2);
    for (let j = n; (j & 3) != 0; j++) store<f32>(at(ROWS, j), -Infinity);
    for (let x: usize = 0; x < end; x += 16) {
      const e = exp4(f32x4.sub(v128.load(ROWS + x), f32x4.splat(max)));
      v128.store(ROWS + x, e);
      sum = f32x4.add(sum, e);
    }
    const logSum = <f64>max + log(total(sum)), factor: f32 = <f32>1 / total(sum), share: f32 = <f32>1 / <f32>rows;
    for (let j = 0; j < n; j++) {
      const target: f32 = (j == id ? 1 - smoothing : <f32>0) + smoothing / <f32>n;
      store<f32>(at(gradient, j), (load<f32>(at(ROWS, j)) * factor - target) * share);
    }
    loss += logSum - <f64>(1 - smoothing) * load<f32>(at(logits, id)) - <f64>(smoothing / <f32>n) * sumOfLogits;
  }
  return loss / rows;
}

export function sumOfSquares(x: usize, count: i32): f32 {
  const end: usize = <usize>count << 2;
  let sum = f32x4.splat(0);
  for (let o: usize = 0; o < end; o += 16) { const value = v128.load(x + o); sum = multiplyAdd(value, value, sum); }
  return total(sum);
}

/**
 * One step of Adam (Kingma and Ba 2015, algorithm 1) with β₁ = 0.9, β₂ = 0.98, ε = 1e-9 (section 5.3). `factor` clips the
 * gradient, `bias1` and `bias2` are 1 − βᵗ, `decay` is the share of each weight that is subtracted (AdamW).
 */
export function adam(weights: usize, gradient: usize, first: usize, second: usize, count: i32, factor: f32, rate: f32, bias1: f32, bias2: f32, decay: f32): void {
  const end: usize = <usize>count << 2, step = f32x4.splat(rate / bias1), root = f32x4.splat(sqrt<f32>(bias2));
  for (let o: usize = 0; o < end; o += 16) {
    const g = f32x4.mul(v128.load(gradient + o), f32x4.splat(factor));
    const m = multiplyAdd(f32x4.splat(0.9), v128.load(first + o), f32x4.mul(f32x4.splat(0.1), g));
    const v = multiplyAdd(f32x4.splat(0.98), v128.load(second + o), f32x4.mul(f32x4.splat(0.02), f32x4.mul(g, g)));
    v128.store(first + o, m);
    v128.store(second + o, v);
    const change = f32x4.div(f32x4.mul(step, m), f32x4.add(f32x4.div(f32x4.sqrt(v), root), f32x4.splat(1e-9)));
    v128.store(weights + o, f32x4.sub(f32x4.mul(v128.load(weights + o), f32x4.splat(1 - decay)), change));
  }
}
