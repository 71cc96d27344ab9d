// Formats numbers, weights and probabilities for people.

// A number with this many significant digits: 0.01235, or 1.235 × 10⁻⁶ where it is very small or large.
export function numberParts(value, digits = 4) {
  if (value === null) return { sign: "", text: "not a number", power: null };
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size === 0) return { sign, text: "0", power: null };
  const [mantissa, exponent] = size.toExponential(digits - 1).split("e");
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (Number(exponent) >= -3 && Number(exponent) < 5) {
    return { sign, text: trimmed(size.toFixed(Math.max(digits - 1 - Number(exponent), 0))), power: null };
  }
  return { sign, text: trimmed(mantissa), power: exponent.replace("+", "").replace("-", "−") };
}

const SUPERSCRIPTS = { "−": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A number as plain text, with the digits of `numberParts`.
export function numberText(value, digits = 4) {
  const { sign, text, power } = numberParts(value, digits);
  return `${sign}${text}${power === null ? "" : `·10${[...power].map((letter) => SUPERSCRIPTS[letter]).join("")}`}`;
}

// An element of a tensor with few digits and a typographic minus, such as −0.12; −∞ for masked scores.
export function tensorNumber(value, digits = 3) {
  if (value === -Infinity) return "−∞";
  if (Number.isNaN(value)) return "not a number";
  return numberText(value, digits);
}

// A number short enough for a cell; `tableMax` is the greatest absolute value in its table.
export function cellNumber(value, tableMax) {
  const size = Math.abs(value);
  if (value === -Infinity) return "−∞";
  if (Number.isInteger(value) && size < 10000) return String(value).replace("-", "−");
  const digits = tableMax >= 100 ? 0 : tableMax >= 10 ? 1 : tableMax >= 0.2 ? 2 : 3;
  const text = size >= 1000 ? numberText(value, 2) : value.toFixed(digits);
  return text.replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
}

// Weights and probabilities with only the digits that are certain.

// A weight with the digits that its packing preserves; `top` is the number of levels.
export function showWeight(weight, top) {
  if (top > 255) return weight > 0 && weight < 0.00005 ? "< 0.0001" : weight.toFixed(4);
  return weight > 0 && weight < 0.005 ? "< 0.01" : `≈ ${weight.toFixed(2)}`;
}

// A probability in percent with two significant digits, but 100% or 0% only if exact.
export function percentText(p) {
  if (p >= 0.9995 && p < 1) return "> 99.9%";
  if (p < 0.0001) return "< 0.01%";
  return p < 0.001 ? `${(100 * p).toFixed(2)}%` : `${(100 * p).toFixed(1)}%`;
}

// Whole percent, but 100% or 0% only if exact.
export function wholePercent(p) {
  if (p > 0 && p < 0.01) return "< 1%";
  if (p >= 0.995 && p < 1) return "> 99%";
  return `${Math.round(100 * p)}%`;
}

// Two probabilities with as few digits as tell them apart, or null if tenths of a percent do not.
/** @param {number} before @param {number} after @returns {string[] | null} */
export function twoPercents(before, after) {
  const texts = [wholePercent, percentText].map((text) => [text(before), text(after)]);
  return texts.find(([first, second]) => first !== second) ?? null;
}

// A number with four decimals and a typographic minus.
export const fixed = (x) => x.toFixed(4).replace("-", "−");
