// The schedule of the learning rate and Adam (section 5.3), as in Python's training/schedule.py and learner.py.

const [BETA_1, BETA_2] = [0.9, 0.98];

// The learning rate of step `step` (1, 2, …): linear warm-up to its highest value, then falling with 1/√step (eq. 3), and
// in the final fraction `cooldown` of the run also linearly to 0.
// Its highest value is `learning_rate`, or the paper's if that is 0.
/** @param {number} step @param {{ d_model: number, learning_rate: number, warmup: number, cooldown: number, steps: number }} settings */
export function learningRate(step, { d_model, learning_rate, warmup, cooldown, steps }, warmsUp = "linear") {
  const highest = learning_rate || 1 / Math.sqrt(d_model * warmup);
  const rising = { linear: step / warmup, constant: 1, none: Infinity }[warmsUp]; // `warmup` of a fault
  const rate = highest * Math.min(Math.sqrt(warmup / step), rising);
  const remaining = Math.max(0, 1 - (step - 1) / steps);
  return cooldown ? rate * Math.min(1, remaining / cooldown) : rate;
}

// One step with the gradients of `parameters`, whose norm is clipped; the gradients are 0 after it, unless a fault leaves
// them. Returns the norm before clipping, and does nothing if it is not finite.
/** @param {any} parameters @param {import("../model/kernels.js").Kernels} kernels @param {number} step from 1 on @param {number} rate @param {{ clip_norm: number, weight_decay: number }} settings */
export function updateParameters(
  { count, values, grads, first, second },
  { run },
  step,
  rate,
  { clip_norm, weight_decay },
  clearsGradients = true,
) {
  const norm = Math.sqrt(run.sumOfSquares(grads.byteOffset, count));
  if (!Number.isFinite(norm)) return norm;
  const factor = clip_norm ? Math.min(1, clip_norm / (norm + 1e-6)) : 1;
  const addresses = [values, grads, first, second].map(({ byteOffset }) => byteOffset);
  run.adam(...addresses, count, factor, rate, 1 - power(BETA_1, step), 1 - power(BETA_2, step), rate * weight_decay);
  if (clearsGradients) grads.fill(0);
  return norm;
}

// By repeated squaring, as `**` may differ between browsers.
function power(base, exponent) {
  let result = 1;
  for (let n = exponent, square = base; n > 0; n = Math.floor(n / 2), square *= square) if (n % 2) result *= square;
  return result;
}
