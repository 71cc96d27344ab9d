// Formulas in MathML, with numbers that people can read.

import { el } from "./base.js";
import { numberParts } from "./numbers.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";

export function ml(tag, ...children) {
  const node = document.createElementNS(MATHML, tag);
  node.append(...children);
  return node;
}

export const mi = (text) => ml("mi", text);
export const mo = (text) => ml("mo", text);
export const mn = (text) => ml("mn", text);
export const row = (...parts) => ml("mrow", ...parts);
export const sub = (base, index) => ml("msub", base, index);
export const over = (above, below) => ml("mfrac", above, below);
export const root = (inner) => ml("msqrt", inner);
export const hat = (base) => ml("mover", base, mo("^"));
export const before = () => row(mi("t"), mo("−"), mn("1")); // the index t − 1
export const bracketed = (inner) => row(mo("("), inner, mo(")"));

// The same in a formula; a negative one in brackets where it stands after a sign.
export function numeral(value, { digits = 4, after = false } = {}) {
  const { sign, text, power } = numberParts(value, digits);
  const parts = [...(sign ? [mo(sign)] : []), value === null ? ml("mtext", text) : mn(text)];
  if (power !== null) {
    const tens = power.startsWith("−") ? row(mo("−"), mn(power.slice(1))) : mn(power);
    parts.push(mo("×"), ml("msup", mn("10"), tens));
  }
  return after && sign ? bracketed(row(...parts)) : row(...parts);
}

// A line of a formula: its left side, then each of the others after an equals sign. On a narrow
// screen it breaks before one of these.
export function equation(...sides) {
  const parts = sides.map((side, i) => ml("math", ...(i ? [mo("="), side] : [side])));
  for (const part of parts) part.setAttribute("displaystyle", "true");
  return el("div", { class: "hu-equation" }, ...parts);
}
