// Helpers of all views. Text that users or files provide is only ever set as textContent, never as HTML.

import { byteOf, isControl, tokenName } from "./naming.js";

export const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, string | number | null | undefined>} [attributes] @returns {any} */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null)); // strings become text nodes
  return node;
}

// A button that calls `onClick`; `attributes` may have another class, or null for none.
/** @param {string | Node | (string | Node)[]} content @param {(event: any) => void} onClick @param {Record<string, any>} [attributes] @returns {any} */
export function button(content, onClick, attributes = {}) {
  const node = el("button", { type: "button", class: "hu-button", ...attributes }, ...[content].flat());
  node.addEventListener("click", onClick);
  return node;
}

// Replace the children of a node, except those that stay equal: a click that has begun on one of them, and its focus, are
// not lost. Their listeners stay too, so they must not depend on what is drawn.
/** @param {Element} node @param {Element[]} children */
export function replaceChanged(node, children) {
  for (const [at, child] of children.entries()) {
    const [before, after] = [node.children[at], node.children[at + 1]];
    if (before?.isEqualNode(child)) continue;
    if (after?.isEqualNode(child)) before.remove();
    else if (before && (children.length <= node.children.length)) before.replaceWith(child);
    else node.insertBefore(child, before ?? null);
  }
  while (node.children.length > children.length) node.lastElementChild.remove();
}

// An element of an SVG picture.
/** @param {string} tag @param {Record<string, any>} attributes @returns {any} */
export function svgNode(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

// Download a file of this name.
/** @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // by then the browser has read it
}

// Opens the browser's file dialog. `use` gets the file that is chosen; the input is not part of the page.
/** @param {string} accept @param {(file: File) => void} use */
export function chooseFile(accept, use) {
  const input = el("input", { type: "file", accept });
  input.addEventListener("change", () => input.files[0] && use(input.files[0]));
  input.click();
}

// Copies `text`; returns whether it worked. Pages over plain http from another machine, as in a class, have no
// `navigator.clipboard`, so a selection is copied instead.
/** @param {string} text @param {HTMLElement} container a place on the page for the selection */
export async function copyText(text, container) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("input", { type: "text", readonly: "", value: text });
    const focused = /** @type {Document | ShadowRoot} */ (container.getRootNode()).activeElement;
    container.append(field);
    field.select();
    const wasCopied = document.execCommand("copy");
    field.remove();
    /** @type {HTMLElement | null} */ (focused)?.focus();
    return wasCopied;
  }
}

// Words of a visitor or a model. The translator of a browser leaves them alone, and <bdi> keeps right-to-left words from
// reordering the sentence around them. `lang` is the code of their language, "" if it is unknown.
/** @param {string} text @param {string} [lang] @param {Record<string, string | null>} [attributes] */
export const wordsNode = (text, lang = "", attributes = {}) =>
  el("bdi", { translate: "no", lang: lang || null, ...attributes }, text);

// A token's display name: the "▁" that begins a word is faint.
/** @param {string} text @param {string} [lang] */
export function tokenText(text, lang) {
  const node = wordsNode("", lang, { class: "hu-token" });
  const name = tokenName(text);
  if (name.length > 1 && name.startsWith("▁")) {
    node.append(el("span", { class: "hu-word" }, "▁"), name.slice(1));
  } else {
    node.append(name);
  }
  if (isControl(text)) node.classList.add("hu-special");
  if (byteOf(text)) {
    node.title = `One byte (hexadecimal ${
      byteOf(text)
    }) of a character that has no token of its own; together with its neighbours it spells the character.`;
  }
  return node;
}

// The label of a row as nodes: the token read and, where known, the token written next.
/** @param {Entry} entry */
export const rowNodes = ({ text, written, lang, writtenLang }) => [
  tokenText(text, lang),
  ...(written === null ? [] : [" → ", tokenText(written, writtenLang)]),
];

// Run `change`, which alters the page above `node`, and scroll so that `node` stays where it was.
export function keepPosition(node, change) {
  const before = node.getBoundingClientRect().top;
  change();
  const shift = node.getBoundingClientRect().top - before;
  let scroller = node;
  const scrolls = (element) =>
    element.scrollHeight > element.clientHeight && /auto|scroll/.test(getComputedStyle(element).overflowY);
  while (scroller && !scrolls(scroller)) {
    scroller = scroller.parentElement || scroller.getRootNode().host;
  }
  (scroller || document.scrollingElement).scrollBy(0, shift);
}

// Calls `point(true)` when the pointer or the keyboard reaches a node, `point(false)` when it leaves.
/** @param {HTMLElement} node @param {(isOn: boolean) => void} point */
export function listenForPointing(node, point) {
  node.addEventListener("pointerenter", () => point(true));
  node.addEventListener("pointerleave", () => point(false));
  node.addEventListener("focus", () => node.matches(":focus-visible") && point(true));
  node.addEventListener("blur", () => point(false));
}

// Calls `redraw`, at most once a frame, when a node has another size; the theme's colours may be others then, too.
/** @param {Element} node @param {() => void} redraw @returns {() => void} a function that ends this */
export function listenForResize(node, redraw) {
  let request = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(request);
    request = requestAnimationFrame(redraw);
  });
  observer.observe(node);
  return () => {
    observer.disconnect();
    cancelAnimationFrame(request);
  };
}

/** @param {number} count @returns {number[]} 0, 1, …, count − 1 */
export const indices = (count) => Array.from({ length: count }, (_, i) => i);

// The position of the greatest value, the first among equals.
/** @param {ArrayLike<number>} values */
export const argmax = (values) => Array.from(values).reduce((best, value, i, all) => (value > all[best] ? i : best), 0);

export const clampIndex = (value, count) => Math.min(Math.max(value, 0), count - 1);

// Steps of the arrow keys as [right, down].
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Moves the focus in rows of buttons with the arrow keys, Home and End; Tab then returns to the button that has it.
// Returns that button, or null for another key.
/** @param {KeyboardEvent} event @param {HTMLElement[][]} rows */
export function moveInGrid(event, rows) {
  const [right, down] = ARROWS[event.key] ?? [0, 0];
  if (!right && !(down && rows.length > 1) && event.key !== "Home" && event.key !== "End") return null;
  const target = /** @type {HTMLElement} */ (event.target);
  const row = rows.findIndex((buttons) => buttons.includes(target));
  const buttons = rows[clampIndex(row + down, rows.length)];
  const column = { Home: 0, End: buttons.length - 1 }[event.key] ?? rows[row].indexOf(target) + right;
  const next = buttons[clampIndex(column, buttons.length)];
  event.preventDefault();
  event.stopPropagation();
  for (const button of rows.flat()) if (button.tabIndex === 0) button.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return next;
}

// Any CSS colour as [red, green, blue] from 0 to 255, computed once: views ask for their colours at every drawing.
const knownColours = new Map();
function rgbOf(colour) {
  if (!knownColours.has(colour)) {
    const pen = el("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    knownColours.set(colour, [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3));
  }
  return knownColours.get(colour);
}

// Relative luminance of a colour "#rrggbb", from 0 to 1 (WCAG 2.2).
export function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white text, whichever has more contrast on this colour: (L + 0.05) / 0.05 or 1.05 / (L + 0.05).
export const textOn = (colour) => luminance(colour) > 0.179 ? "#000000" : "#ffffff";

// 256 colours between the stops, each as a pixel of four bytes.
function rampOf(stops) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) {
    const position = (i / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(position), stops.length - 2);
    for (let c = 0; c < 3; c++) {
      const [a, b] = [stops[below][c], stops[below + 1][c]];
      bytes[4 * i + c] = a + (b - a) * (position - below);
    }
    bytes[4 * i + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

// The level, 0 to 255, of a share from 0 to 1 on a ramp, and of one from −1 to 1 on the diverging colours.
/** @param {number} share */
export const rampLevel = (share) => Math.round(255 * Math.min(Math.max(share, 0), 1));
/** @param {number} share */
export const signedLevel = (share) => Math.round(127.5 * (1 + Math.min(Math.max(share, -1), 1)));

// The current theme's colours, as CSS colours or pixels: `ramp` for weights from 0 to 1, `diverging` for
// differences from −1 to 1, `series` for heads.
/** @param {HTMLElement} node @returns {Theme} */
export function colours(node) {
  const style = getComputedStyle(node);
  const property = (name) => style.getPropertyValue(name).trim();
  const hex = (c) => c.toString(16).padStart(2, "0");
  const colour = (name) => `#${rgbOf(property(name)).map(hex).join("")}`;
  // Split at commas outside parentheses.
  const stops = (name) => property(name).split(/,(?![^(]*\))/).map((text) => rgbOf(text.trim()));
  const css = (ramp) => (i) => `#${[0, 8, 16].map((bits) => hex((ramp[i] >> bits) & 255)).join("")}`;
  const [ramp, diverging] = [rampOf(stops("--hu-ramp")), rampOf(stops("--hu-diverging"))];
  return {
    ramp,
    css: css(ramp),
    diverging,
    divergingCss: css(diverging),
    series: stops("--hu-series").map((rgb) => `#${rgb.map(hex).join("")}`),
    text: colour("--hu-text"),
    muted: colour("--hu-muted"),
    faint: colour("--hu-faint"),
    line: colour("--hu-line"),
    soft: colour("--hu-soft"),
    background: colour("--hu-background"),
    accent: colour("--hu-accent"),
    choice: colour("--hu-choice"),
    font: style.fontFamily,
    size: Number(property("--hu-size")), // scale of text for a projector
    key: property("--hu-ramp") + property("--hu-text"),
  };
}

// The colours for print, independent of the screen's theme.
/** @param {HTMLElement} container @returns {Theme} */
export function printColours(container) {
  const paper = el("div", { class: "hu hu-print" });
  container.append(paper);
  const theme = colours(paper);
  paper.remove();
  return theme;
}

// Replaces the children of a node if they change: a child that moves would lose the focus or close an open list.
/** @param {Element} node @param {Element[]} children */
export function setChildren(node, children) {
  if (children.length !== node.children.length || children.some((child, i) => child !== node.children[i])) {
    node.replaceChildren(...children);
  }
}

// Set an attribute only if it changes, since redundant writes are slow in long lists.
export const setIfChanged = (node, name, value) => {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
};
