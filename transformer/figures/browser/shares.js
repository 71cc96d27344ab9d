// Weights and probabilities as people read them: with the digits that are sure, and no more.

// A weight with the digits that its packing kept; `top` is that of its levels.
export function showWeight(weight, top) {
  if (top > 255) return weight > 0 && weight < 0.00005 ? "< 0.0001" : weight.toFixed(4);
  return weight > 0 && weight < 0.005 ? "< 0.01" : `≈ ${weight.toFixed(2)}`;
}

// Two digits that matter, and never 100 % or 0 % of what is not quite that.
export function chanceOf(p) {
  if (p >= 0.9995 && p < 1) return "> 99.9 %";
  if (p < 0.0001) return "< 0.01 %";
  return p < 0.001 ? `${(100 * p).toFixed(2)} %` : `${(100 * p).toFixed(1)} %`;
}

// Four digits, with a real minus sign.
export const fixed = (x) => x.toFixed(4).replace("-", "−");
