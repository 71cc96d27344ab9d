// Formulas in MathML, with numbers that people can read.

const MATHML = "http://www.w3.org/1998/Math/MathML";

function ml(tag, ...children) {
  const node = document.createElementNS(MATHML, tag);
  node.append(...children);
  return node;
}

const mi = (text) => ml("mi", text);
const mo = (text) => ml("mo", text);
const mn = (text) => ml("mn", text);
const row = (...parts) => ml("mrow", ...parts);
const sub = (base, index) => ml("msub", base, index);
const over = (above, below) => ml("mfrac", above, below);
const root = (inner) => ml("msqrt", inner);
const hat = (base) => ml("mover", base, mo("^"));
const before = () => row(mi("t"), mo("−"), mn("1")); // the index t − 1
const bracketed = (inner) => row(mo("("), inner, mo(")"));

// A number with `digits` that count: 0.01235, or 1.235 × 10⁻⁶ where it is very small or large.
function numberParts(value, digits = 4) {
  if (value === null) return { sign: "", text: "no number", power: null };
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size === 0) return { sign, text: "0", power: null };
  const [head, exponent] = size.toExponential(digits - 1).split("e");
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (Number(exponent) >= -3 && Number(exponent) < 5) return { sign, text: trimmed(size.toFixed(Math.max(digits - 1 - Number(exponent), 0))), power: null };
  return { sign, text: trimmed(head), power: exponent.replace("+", "").replace("-", "−") };
}

const RAISED = { "−": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function numberText(value, digits = 4) {
  const { sign, text, power } = numberParts(value, digits);
  return `${sign}${text}${power === null ? "" : `·10${[...power].map((letter) => RAISED[letter]).join("")}`}`;
}

// The same in a formula; a negative one in brackets where it stands after a sign.
function numeral(value, { digits = 4, after = false } = {}) {
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
function equation(...sides) {
  const parts = sides.map((side, i) => ml("math", ...(i ? [mo("="), side] : [side])));
  for (const part of parts) part.setAttribute("displaystyle", "true");
  return el("div", { class: "hu-equation" }, ...parts);
}
