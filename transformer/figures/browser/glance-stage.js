// The first page's picture of a translation: source words, the target words below, and attention bands that grow
// between them. Every source word has a colour; a target word has that of the source word with its greatest weight.

import { colours, el, SVG } from "./base.js";
import { bandsOf, wholePercent, strongest } from "./glance-playback.js";
import { textLinesOf, bandPath } from "./band-path.js";

const fontSizeFor = (count) => (count <= 5 ? "xl" : count <= 8 ? "l" : count <= 13 ? "m" : "s"); // font size by the number of words
const BAND_WIDTHS = { xl: 30, l: 22, m: 15, s: 11 }; // px width of a band of weight 1
const WRAPPED_BAND_WIDTH = 7; // the same where lines wrap and bands pass between words
const MAX_WORDS_WITH_ALL_BANDS = 24; // with more words, only the strongest band of each word is drawn, except when hovering

const svgNode = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

// `go(step)` is called for a selected step, `point()` when the pointer moves to another word.
export function makeGlanceStage({ go, point }) {
  const lines = svgNode("svg", { class: "hu-glance-lines", "aria-hidden": "true" });
  const rows = { read: makeRow(), word: makeRow() };
  const node = el("div", { class: "hu-glance-stage" }, lines, rows.read.node, el("div", { class: "hu-glance-gap" }), rows.word.node);
  let [data, bands, hovered, size] = [null, [], null, "l"];
  let tiles = { read: [], word: [] }; // `read`: the source words, `word`: the target words

  function makeRow() {
    const label = el("span", { class: "hu-label" });
    const words = el("div", { class: "hu-glance-words", role: "group" });
    return { label, words, node: el("div", { class: "hu-glance-row" }, label, words) };
  }

  // Show another translation.
  function set(content) {
    data = content;
    const hues = wordColours(node, content);
    const maxWords = Math.max(content.source.length, content.written.length);
    size = fontSizeFor(maxWords);
    node.dataset.letters = size;
    hovered = null;
    rows.read.label.textContent = content.languages[0] ? content.reads : "It reads";
    rows.word.label.textContent = content.languages[1] ? content.writes : "It writes";
    rows.read.words.setAttribute("aria-label", "Source words. Use the arrow keys to move between them.");
    rows.word.words.setAttribute("aria-label", "Translated words. Use the arrow keys to move between steps.");
    rows.read.words.lang = content.languages[0];
    rows.word.words.lang = content.languages[1];
    tiles = {
      read: content.source.map((text, i) => tile("read", i, text, hues.read[i], readLabel(content, i))),
      word: content.written.map(({ text }, i) => tile("word", i, text, hues.word[i], wordLabel(content, i))),
    };
    for (const row of ["read", "word"]) {
      rows[row].words.replaceChildren(...tiles[row]);
      tiles[row].forEach((wordTile, i) => { wordTile.tabIndex = i ? -1 : 0; });
    }
    bands = bandsOf(content.written).map((band) => {
      const path = svgNode("path", { pathLength: "1", fill: "none" });
      path.style.stroke = hues.read[band.read];
      return { ...band, path };
    });
    lines.replaceChildren(...bands.map(({ path }) => path));
    place();
  }

  function tile(row, i, text, hue, label) {
    const button = el("button", { type: "button", class: "hu-glance-word", "aria-label": label }, el("bdi", {}, text));
    button.style.setProperty("--hue", hue);
    const target = { row, i };
    const hover = (word) => () => {
      hovered = word;
      point();
    };
    button.addEventListener("pointerenter", hover(target));
    button.addEventListener("pointerleave", hover(null));
    button.addEventListener("focus", () => button.matches(":focus-visible") && hover(target)());
    button.addEventListener("blur", hover(null));
    button.addEventListener("click", () => (row === "word" ? go(i) : hover(target)()));
    button.addEventListener("keydown", (event) => walk(event, row, i));
    return button;
  }

  function walk(event, row, i) {
    const last = tiles[row].length - 1;
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: last }[event.key];
    const across = { ArrowUp: "read", ArrowDown: "word" }[event.key];
    if (to === undefined && !across) return;
    event.preventDefault();
    if (across) return focusOn(across, Math.min(i, tiles[across].length - 1));
    focusOn(row, Math.min(Math.max(to, 0), last));
    if (row === "word") go(Math.min(Math.max(to, 0), last));
  }

  function focusOn(row, i) {
    tiles[row].forEach((wordTile, number) => { wordTile.tabIndex = number === i ? 0 : -1; });
    tiles[row][i]?.focus();
  }

  // Compute the bands' paths, after the words have been laid out.
  function place() {
    if (!data || !node.isConnected || !node.clientWidth) return;
    const frame = node.getBoundingClientRect();
    const box = (element) => {
      const bounds = element.getBoundingClientRect();
      return { x: bounds.left - frame.left + bounds.width / 2, top: bounds.top - frame.top, bottom: bounds.bottom - frame.top, width: bounds.width };
    };
    const boxes = { read: tiles.read.map(box), word: tiles.word.map(box) };
    const textLines = { read: textLinesOf(boxes.read), word: textLinesOf(boxes.word) };
    const wraps = textLines.read.length > 1 || textLines.word.length > 1;
    const unit = Math.min(wraps ? WRAPPED_BAND_WIDTH : BAND_WIDTHS[size], node.clientWidth / 24);
    const totalWeights = bands.reduce((sums, { read, weight }) => sums.set(read, (sums.get(read) || 0) + weight), new Map());
    for (const { path, read, word, weight, above, below } of bands) {
      const [from, to] = [boxes.read[read], boxes.word[word]];
      const scale = Math.min(1, (from.width * 0.9) / (totalWeights.get(read) * unit));
      const [x, endX] = [from.x + above * unit * scale, to.x + below * Math.min(unit, to.width * 0.9)];
      const [y, endY] = [from.bottom - 2, to.top + 2];
      path.setAttribute("d", bandPath([x, y], [endX, endY], textLines.read, textLines.word));
      path.style.strokeWidth = String(Math.max(weight * unit, 1.4));
    }
  }

  // The current step, or the number of steps at the end. Later words are hidden while playing, and faint while
  // looking back.
  function draw(step, playing, pace) {
    if (!data) return;
    node.style.setProperty("--pace", `${Math.round(pace * 0.62)}ms`);
    const isComplete = step >= data.written.length;
    const active = hovered || (isComplete ? null : { row: "word", i: step });
    const activeWeights = active && active.row === "word" ? data.written[active.i].looks : null;
    const hasManyWords = data.written.length > MAX_WORDS_WITH_ALL_BANDS;
    for (const band of bands) {
      const isActive = active && band[active.row] === active.i;
      const hidden = playing && band.word > step && !(hovered && isActive);
      const isOmitted = hasManyWords && band.read !== strongest(data.written[band.word].looks)[0];
      const inactiveState = active ? (hovered ? "faint" : band.word < step ? "past" : "faint") : hasManyWords ? "past" : "whole";
      const state = hidden || (isOmitted && !isActive) ? "away" : isActive ? "now" : hasManyWords && active ? "faint" : inactiveState;
      band.path.setAttribute("class", state);
    }
    tiles.word.forEach((wordTile, i) => {
      wordTile.classList.toggle("hu-not-written", playing && i > step);
      wordTile.classList.toggle("hu-later", !playing && !isComplete && i > step);
      wordTile.classList.toggle("hu-chosen", i === data.taken);
      wordTile.style.setProperty("--look", String(active?.row === "read" ? data.written[i].looks[active.i] : active?.row === "word" && active.i === i ? 1 : 0));
      if (i === step) wordTile.setAttribute("aria-current", "step");
      else wordTile.removeAttribute("aria-current");
    });
    tiles.read.forEach((wordTile, i) => {
      wordTile.style.setProperty("--look", String(activeWeights ? activeWeights[i] : active?.row === "read" && active.i === i ? 1 : 0));
    });
  }

  return { node, set, place, draw, focusOn, get hovered() { return hovered; } };
}

// A colour for each source word, legible on light and dark; a written word takes that of the source word with
// its greatest weight.
function wordColours(node, { source, written }) {
  const { series } = colours(node);
  const read = source.map((_, i) => `color-mix(in srgb, ${series[i % series.length]} 72%, var(--hu-text))`);
  return { read, word: written.map(({ looks }) => read[strongest(looks)[0]] || "var(--hu-muted)") };
}

function readLabel({ source, written }, i) {
  const [best] = strongest(written.map(({ looks }) => looks[i]));
  const attended = best === undefined ? "" : `, most weight from ${written[best].text}, ${wholePercent(written[best].looks[i])}`;
  return `${source[i]}${attended}`;
}

function wordLabel({ source, written }, i) {
  const { text, p, looks } = written[i];
  const [best] = strongest(looks);
  const attended = best === undefined ? "" : `, most weight on ${source[best]}, ${wholePercent(looks[best])}`;
  return `${text}, step ${i + 1}, probability ${wholePercent(p)}${attended}`;
}
