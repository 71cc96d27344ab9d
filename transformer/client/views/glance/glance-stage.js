// The first page's picture of a translation: source words, the target words below, and attention bands that grow
// between them. Every source word has a colour; a target word has that of the source word with its greatest weight.

import { button, colours, el, listenForPointing, svgNode, wordsNode } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";
import { mistakeIn } from "./glance-least.js";
import { bandsOf, leastCertain, strongest } from "./glance-playback.js";
import { bandPath, textLinesOf } from "./band-path.js";

const SIZES = ["xl", "l", "m", "s"]; // of the words, the largest first
const fontSizeFor = (count) => (count <= 5 ? "xl" : count <= 8 ? "l" : count <= 13 ? "m" : "s"); // font size by the number of words
const BAND_WIDTHS = { xl: 30, l: 22, m: 15, s: 11 }; // px width of a band of weight 1
const WRAPPED_BAND_WIDTH = 7; // the same where lines wrap and bands pass between words
const MAX_WORDS_WITH_FULL_BANDS = 13; // with more words, bands are faint except those of the word under the pointer
const MAX_WORDS_WITH_ALL_BANDS = 24; // with more words, only the strongest band of each word is drawn, except when hovering
const MAX_STICKY_SHARE = 0.45; // of the window's height; a higher picture does not stay on a phone's screen

// `go(step)` is called for a selected step, `onHover()` when the pointer moves to another word.
export function makeGlanceStage({ go, onHover }) {
  const lines = svgNode("svg", { class: "hu-glance-lines", "aria-hidden": "true" });
  const rows = { source: makeRow("source"), target: makeRow("target") };
  const node = el(
    "div",
    { class: "hu-glance-stage" },
    lines,
    rows.source.node,
    el("div", { class: "hu-glance-gap" }),
    rows.target.node,
  );
  let [data, bands, hovered, size] = [null, [], null, "l"];
  let tiles = { source: [], target: [] }; // the buttons of the source and the target words

  function makeRow(name) {
    const label = el("span", { class: "hu-label" });
    const words = el("div", { class: "hu-glance-words", role: "group" });
    return { label, words, node: el("div", { class: "hu-glance-row", "data-row": name }, label, words) };
  }

  // Show another translation.
  function set(content) {
    hovered = null;
    rows.source.label.textContent = content.languages[0] ? content.reads : "Input";
    rows.target.label.textContent = content.languages[1] ? content.writes : "Output";
    rows.source.words.setAttribute("aria-label", "Source words. Use the arrow keys to move between them.");
    rows.target.words.setAttribute("aria-label", "Translated words. Use the arrow keys to move between steps.");
    rows.source.words.lang = content.languages[0];
    rows.target.words.lang = content.languages[1];
    tiles = {
      source: content.source.map((text, i) => tile("source", i, text)),
      target: content.words.map(({ text }, i) => tile("target", i, text)),
    };
    for (const row of ["source", "target"]) {
      rows[row].words.replaceChildren(...tiles[row]);
      tiles[row].forEach((wordTile, i) => {
        wordTile.tabIndex = i ? -1 : 0;
      });
    }
    setWeights(content);
  }

  // Show the weights of another head between the same words.
  function setWeights(content) {
    data = content;
    const hues = wordColours(node, content);
    const labels = { source: sourceLabel, target: targetLabel };
    for (const row of ["source", "target"]) {
      tiles[row].forEach((wordTile, i) => {
        wordTile.style.setProperty("--hue", hues[row][i]);
        wordTile.setAttribute("aria-label", labels[row](content, i));
      });
    }
    bands = bandsOf(content.words).map((band) => {
      const path = svgNode("path", { pathLength: "1", fill: "none" });
      path.style.stroke = hues.source[band.source];
      return { ...band, path };
    });
    lines.replaceChildren(...bands.map(({ path }) => path));
    layoutBands();
  }

  function tile(row, i, text) {
    const hover = (isOn) => {
      hovered = isOn ? { row, i } : null;
      onHover();
    };
    const choose = () => (row === "target" ? go(i) : hover(true));
    const node = button(wordsNode(text), choose, { class: "hu-glance-word" });
    listenForPointing(node, hover);
    node.addEventListener("keydown", (event) => moveFocus(event, row, i));
    return node;
  }

  function moveFocus(event, row, i) {
    const last = tiles[row].length - 1;
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: last }[event.key];
    const across = { ArrowUp: "source", ArrowDown: "target" }[event.key];
    if (to === undefined && !across) return;
    event.preventDefault();
    if (across) return focusOn(across, Math.min(i, tiles[across].length - 1));
    focusOn(row, Math.min(Math.max(to, 0), last));
    if (row === "target") go(Math.min(Math.max(to, 0), last));
  }

  function focusOn(row, i) {
    tiles[row].forEach((wordTile, number) => {
      wordTile.tabIndex = number === i ? 0 : -1;
    });
    tiles[row][i]?.focus();
  }

  // Words become smaller before they wrap; if that does not help, they wrap in their usual size.
  function fitWords() {
    const usual = fontSizeFor(Math.max(data.source.length, data.words.length));
    const wraps = (words) => words.at(-1)?.offsetTop > words[0]?.offsetTop;
    const fits = (letters) => {
      node.dataset.letters = letters;
      return !wraps(tiles.source) && !wraps(tiles.target);
    };
    size = SIZES.slice(SIZES.indexOf(usual)).find(fits) ?? usual;
    node.dataset.letters = size;
  }

  // Compute the bands' paths, after the words have been laid out.
  function layoutBands() {
    if (!data || !node.isConnected || !node.clientWidth) return;
    fitWords();
    node.classList.toggle("hu-low", node.offsetHeight < innerHeight * MAX_STICKY_SHARE);
    const frame = node.getBoundingClientRect();
    const box = (element) => {
      const bounds = element.getBoundingClientRect();
      return {
        x: bounds.left - frame.left + bounds.width / 2,
        top: bounds.top - frame.top,
        bottom: bounds.bottom - frame.top,
        width: bounds.width,
      };
    };
    const boxes = { source: tiles.source.map(box), target: tiles.target.map(box) };
    const textLines = { source: textLinesOf(boxes.source), target: textLinesOf(boxes.target) };
    const wraps = textLines.source.length > 1 || textLines.target.length > 1;
    const unit = Math.min(wraps ? WRAPPED_BAND_WIDTH : BAND_WIDTHS[size], node.clientWidth / 24);
    const totalWeights = bands.reduce(
      (sums, { source, weight }) => sums.set(source, (sums.get(source) || 0) + weight),
      new Map(),
    );
    for (const { path, source, target, weight, sourceOffset, targetOffset } of bands) {
      const [from, to] = [boxes.source[source], boxes.target[target]];
      const scale = Math.min(1, (from.width * 0.9) / (totalWeights.get(source) * unit));
      const [x, endX] = [from.x + sourceOffset * unit * scale, to.x + targetOffset * Math.min(unit, to.width * 0.9)];
      const [y, endY] = [from.bottom - 2, to.top + 2];
      path.setAttribute("d", bandPath([x, y], [endX, endY], textLines.source, textLines.target));
      path.style.strokeWidth = String(Math.max(weight * unit, 1.4));
    }
  }

  // `step` is the number of steps at the end. Later words are hidden while playing, and faint otherwise.
  function draw(step, playing, stepMs) {
    if (!data) return;
    node.style.setProperty("--pace", `${Math.round(stepMs * 0.62)}ms`);
    const isComplete = step >= data.words.length;
    const active = hovered || (isComplete ? null : { row: "target", i: step });
    const [least, wrong] = [leastCertain(data.words, data.forced_word), mistakeIn(data)?.word];
    const activeWeights = active && active.row === "target" ? data.words[active.i].weights : null;
    const hasManyWords = data.words.length > MAX_WORDS_WITH_ALL_BANDS;
    const whole = data.words.length > MAX_WORDS_WITH_FULL_BANDS ? "past" : "whole";
    for (const band of bands) {
      const isActive = active && band[active.row] === active.i;
      const hidden = playing && band.target > step && !(hovered && isActive);
      const isOmitted = hasManyWords && band.source !== strongest(data.words[band.target].weights)[0];
      const inactiveState = active ? (hovered ? "faint" : band.target < step ? "past" : "faint") : whole;
      const state = hidden || (isOmitted && !isActive)
        ? "away"
        : isActive
        ? "now"
        : hasManyWords && active
        ? "faint"
        : inactiveState;
      band.path.setAttribute("class", state);
    }
    tiles.target.forEach((wordTile, i) => {
      wordTile.classList.toggle("hu-not-written", playing && i > step);
      wordTile.classList.toggle("hu-later", !playing && !isComplete && i > step);
      wordTile.classList.toggle("hu-chosen", i === data.forced_word);
      wordTile.classList.toggle("hu-least", !playing && i === least);
      wordTile.classList.toggle("hu-mistake", !playing && i === wrong);
      wordTile.style.setProperty(
        "--attention",
        String(
          active?.row === "source"
            ? data.words[i].weights[active.i]
            : active?.row === "target" && active.i === i
            ? 1
            : 0,
        ),
      );
      if (i === step) wordTile.setAttribute("aria-current", "step");
      else wordTile.removeAttribute("aria-current");
    });
    tiles.source.forEach((wordTile, i) => {
      wordTile.style.setProperty(
        "--attention",
        String(activeWeights ? activeWeights[i] : active?.row === "source" && active.i === i ? 1 : 0),
      );
    });
  }

  return {
    node,
    set,
    setWeights,
    layoutBands,
    draw,
    focusOn,
    get hovered() {
      return hovered;
    },
  };
}

// A colour for each source word, legible on light and dark; a target word takes that of the source word with
// its greatest weight.
function wordColours(node, { source, words }) {
  const { series } = colours(node);
  const sourceColours = source.map((_, i) => `color-mix(in srgb, ${series[i % series.length]} 72%, var(--hu-text))`);
  return {
    source: sourceColours,
    target: words.map(({ weights }) => sourceColours[strongest(weights)[0]] || "var(--hu-muted)"),
  };
}

function sourceLabel({ source, words }, i) {
  const [best] = strongest(words.map(({ weights }) => weights[i]));
  const attended = best === undefined
    ? ""
    : `, most weight from ${words[best].text}, ${wholePercent(words[best].weights[i])}`;
  return `${source[i]}${attended}`;
}

function targetLabel({ source, words, forced_word: forcedWord }, i) {
  const { text, p, weights } = words[i];
  const [best] = strongest(weights);
  const attended = best === undefined ? "" : `, most weight on ${source[best]}, ${wholePercent(weights[best])}`;
  const least = i === leastCertain(words, forcedWord) ? ", least certain" : "";
  return `${text}, step ${i + 1}, probability ${wholePercent(p)}${least}${attended}`;
}
