// Inline Markdown of the course: marks become elements, and no text does.

import assert from "node:assert/strict";
import { test } from "node:test";

import { KEPT_WORDS, markdownNodes } from "../../../transformer/client/common/inline-markdown.js";

const ALLOWED = ["b", "i", "code", "span", "sub", "sup"];

// Elements that write themselves as HTML.
class Element {
  constructor(name) {
    this.localName = name;
    this.childNodes = [];
    this.parentNode = null;
  }
  setAttribute(name, value) {
    if (name === "translate") this.translate = value;
  }
  append(...nodes) {
    this.childNodes.push(...nodes.filter((node) => node !== ""));
    for (const node of nodes) if (node instanceof Element) node.parentNode = this;
  }
  appendChild(node) {
    this.append(node);
    return node;
  }
  toString() {
    return `<${this.localName}>${htmlOf(this.childNodes)}</${this.localName}>`;
  }
}
const htmlOf = (nodes) =>
  nodes.map((node) => node instanceof Element ? `${node}` : node.replaceAll("<", "&lt;")).join("");
globalThis.document = /** @type {any} */ ({ createElement: (name) => new Element(name) });
const html = (markdown) => htmlOf(/** @type {any} */ (markdownNodes(markdown)));

test("marks become elements", () => {
  const cases = {
    "**a** and *b*": "<b>a</b> and <i>b</i>",
    "`<s>` & co": "<code>&lt;s></code> & co",
    "\\*not\\* \\<b\\>": "*not* &lt;b>",
    "$x_i^2$": "<span>x<sub>i</sub><sup>2</sup></span>",
    "$\\sqrt{\\hat v_t} + \\epsilon$": "<span>√(v\u0302<sub>t</sub>) + ε</span>",
    "$10000^{(2i+1)/d_{model}}$": "<span>10000<sup>(2i+1)/d<sub>model</sub></sup></span>",
    "a **b": "a <b>b</b>",
  };
  for (const [markdown, expected] of Object.entries(cases)) assert.equal(html(markdown), expected);
});

test("bold words of a sentence are kept by a browser that translates the page, bold terms are not", () => {
  const translates = (nodes) => nodes.filter((node) => node instanceof Element).map(({ translate }) => translate);
  assert.deepEqual(translates(markdownNodes("**sœur** and *b*", KEPT_WORDS)), ["no", undefined]);
  assert.deepEqual(translates(markdownNodes("a **head**")), [undefined]);
});

test("no text becomes an element", () => {
  for (
    const text of ["<script>alert(1)</script>", "**<b**", "$<i>_{<s>$", "`<u>`", "</span>*<a>", "$x_{i$", "$x}$", "\\"]
  ) {
    for (const [, name] of html(text).matchAll(/<\/?(\w+)/g)) assert.ok(ALLOWED.includes(name), `${text}: ${name}`);
  }
});
