// Inline Markdown of the course as DOM nodes: bold, italics, code and short formulas; everything else is text.
// The same as figures/inline_markdown.py.

import { el } from "./base.js";

const MARKS = /\\([^\w\s])|`([^`]*)`|\$([^$]*)\$|(\*\*)|(\*)/gu;
const COMMANDS = {
  cos: "cos", max: "max", infty: "∞", in: "∈", cdot: "·", times: "×", theta: "θ", alpha: "α", epsilon: "ε", left: "", right: "", mathbb: "", text: "", ",": " ",
};

/** @param {string} markdown @returns {(Node | string)[]} */
export function markdownNodes(markdown) {
  const root = el("span");
  let [place, at] = [root, 0];
  const toggle = (tag) => {
    if (place.localName === tag) place = place.parentNode;
    else place = place.appendChild(el(tag));
  };
  for (const mark of markdown.matchAll(MARKS)) {
    const [whole, sign, code, formula, bold] = mark;
    place.append(markdown.slice(at, mark.index));
    at = mark.index + whole.length;
    if (sign) place.append(sign);
    else if (code !== undefined) place.append(el("code", {}, code));
    else if (formula !== undefined) place.append(el("span", { class: "math" }, ...formulaNodes(formula)));
    else toggle(bold ? "b" : "i");
  }
  place.append(markdown.slice(at));
  return [...root.childNodes];
}

// A formula with subscripts and superscripts.
/** @param {string} latex @returns {(Node | string)[]} */
function formulaNodes(latex) {
  const tokens = latex.match(/\\(?:[a-zA-Z]+|,)\s*|[^]/gu) ?? [];
  const group = () => {
    const nodes = [];
    while (tokens.length && tokens[0] !== "}") nodes.push(...one());
    tokens.shift();
    return nodes;
  };
  const one = () => {
    const token = tokens.shift() ?? "";
    if (token === "{") return group();
    if (token === "_" || token === "^") return [el(token === "_" ? "sub" : "sup", {}, ...one())];
    if (!token.startsWith("\\")) return [token];
    const name = token.slice(1).trim();
    if (name === "sqrt") return ["√(", ...one(), ")"];
    if (name === "hat") return [...one(), "\u0302"];
    return [COMMANDS[name] ?? name];
  };
  return group();
}
