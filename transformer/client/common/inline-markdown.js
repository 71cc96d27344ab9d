// Inline Markdown of the course as DOM nodes: bold, italics, code and short formulas; everything else is text.

import { el } from "./base.js";

const MARKS = /\\([^\w\s])|`([^`]*)`|\$([^$]*)\$|(\*\*)|(\*)/gu;
export const KEPT_WORDS = { translate: "no" }; // a browser that translates the page leaves them as they are
const COMMANDS = {
  cos: "cos",
  max: "max",
  infty: "∞",
  in: "∈",
  cdot: "·",
  times: "×",
  theta: "θ",
  alpha: "α",
  epsilon: "ε",
  left: "",
  right: "",
  mathbb: "",
  text: "",
  ",": " ",
};

// `boldAttributes`: KEPT_WORDS where what is bold are words of a sentence or a translation.
/** @param {string} markdown @param {Record<string, string>} boldAttributes @returns {(Node | string)[]} */
export function markdownNodes(markdown, boldAttributes = {}) {
  const root = el("span");
  let [parent, offset] = [root, 0];
  const toggle = (tag) => {
    if (parent.localName === tag) parent = parent.parentNode;
    else parent = parent.appendChild(el(tag, tag === "b" ? boldAttributes : {}));
  };
  for (const mark of markdown.matchAll(MARKS)) {
    const [whole, escaped, code, formula, bold] = mark;
    parent.append(markdown.slice(offset, mark.index));
    offset = mark.index + whole.length;
    if (escaped) parent.append(escaped);
    else if (code !== undefined) parent.append(el("code", { translate: "no" }, code));
    else if (formula !== undefined) parent.append(el("span", { class: "math" }, ...formulaNodes(formula)));
    else toggle(bold ? "b" : "i");
  }
  parent.append(markdown.slice(offset));
  return [...root.childNodes];
}

// A formula with subscripts and superscripts.
/** @param {string} latex @returns {(Node | string)[]} */
function formulaNodes(latex) {
  const tokens = latex.match(/\\(?:[a-zA-Z]+|,)\s*|[^]/gu) ?? [];
  const nodesUntilBrace = () => {
    const nodes = [];
    while (tokens.length && tokens[0] !== "}") nodes.push(...nextNodes());
    tokens.shift();
    return nodes;
  };
  const nextNodes = () => {
    const token = tokens.shift() ?? "";
    if (token === "{") return nodesUntilBrace();
    if (token === "_" || token === "^") return [el(token === "_" ? "sub" : "sup", {}, ...nextNodes())];
    if (!token.startsWith("\\")) return [token];
    const name = token.slice(1).trim();
    if (name === "sqrt") return ["√(", ...nextNodes(), ")"];
    if (name === "hat") return [...nextNodes(), "\u0302"];
    return [COMMANDS[name] ?? name];
  };
  return nodesUntilBrace();
}
