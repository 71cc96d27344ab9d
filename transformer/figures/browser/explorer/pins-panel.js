// The panel to pin a word: the words of both sentences as buttons, and for the pinned word all heads coloured
// by their attention to or from it, strongest first.

import { ARROWS, clampIndex, el } from "../common/base.js";
import { makeBar } from "../common/legend.js";
import { makeMosaic } from "../common/mosaic.js";
import { headName, sentenceCase } from "../common/naming.js";
import { rowsAreRead } from "../common/matrix.js";
import { paintPixels } from "../common/thumbnail.js";
import { KINDS, TERMS } from "../common/options.js";
import {
  attentionText,
  pinnableWords,
  pinnedWord,
  pinOf,
  positionsIn,
  strongestAttention,
  strongestHeads,
} from "./pins.js";

/** @type {[State["way"], string][]} */
const DIRECTIONS = [["both", "Both"], ["to", "Attention to it"], ["from", "Attention from it"]];
const KIND_NOT_SHOWN = {
  s: "Decoder self-attention is not shown: it sees only the translation.",
  t: "Encoder self-attention is not shown: it sees only the source sentence.",
};
const COUNTING_NOTE =
  "For a word of several tokens, weights to them are summed and weights from them averaged. The number is the greatest weight between it and another word, without punctuation, start and end.";

/** @param {Context} ctx */
export function makePins(ctx) {
  const words = el("div", { class: "hu-pinwords", role: "toolbar", "aria-label": "Pin a word" });
  const directions = el("div", { class: "hu-segments", role: "group", "aria-label": "Direction" });
  const unpinButton = el("button", { type: "button", class: "hu-button" }, "Unpin");
  const result = el("p", { class: "hu-pin-result", role: "status" });
  const grids = el("div", { class: "hu-kindrow" });
  const bar = makeBar();
  const list = el("ol", { class: "hu-clearest" });
  const notShownNote = el("p", { class: "hu-note" });
  const pinnedPanel = el(
    "div",
    { class: "hu-pinned" },
    el("div", { class: "hu-pinhead" }, result, directions, unpinButton),
    el(
      "div",
      { class: "hu-pinbody" },
      el(
        "div",
        {},
        grids,
        el("div", { class: "hu-pinscale" }, bar.node, el("span", {}, "greatest weight between it and another word")),
        notShownNote,
      ),
      el("section", {}, el("h2", {}, "Strongest first"), list),
    ),
  );
  const node = el("section", { class: "hu-pins", "aria-label": "A word in every head" }, words, pinnedPanel);
  const sections = new Map(); // kind → { mosaic, node }
  let [builtSideId, tabStop] = ["", 0]; // the side whose words are drawn, and the index of the button that Tab focuses

  for (const [way, label] of DIRECTIONS) {
    const button = el("button", { type: "button", "data-way": way }, label);
    button.addEventListener("click", () => ctx.set({ way }));
    directions.append(button);
  }
  const unpin = () => {
    ctx.set({ pin: "" });
    words.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  };
  unpinButton.addEventListener("click", unpin);
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !ctx.state.pin) return;
    event.preventDefault();
    event.stopPropagation();
    unpin();
  });
  words.addEventListener("keydown", (event) => {
    const [right] = ARROWS[event.key] || [0];
    const buttons = [...words.querySelectorAll("button")];
    const ends = { Home: 0, End: buttons.length - 1 };
    if (!right && !(event.key in ends)) return;
    event.preventDefault();
    event.stopPropagation();
    tabStop = ends[event.key] ?? clampIndex(buttons.indexOf(event.target) + right, buttons.length);
    buttons.forEach((button, i) => {
      button.tabIndex = i === tabStop ? 0 : -1;
    });
    buttons[tabStop].focus();
  });

  // Open a head in the Heads view, or in the Heatmap if that is open.
  const open = ({ kind, layer, head }) => {
    const view = ctx.state.view === "heatmap" ? "heatmap" : "heads";
    ctx.set({ kind, layer, head, view, heads: "", combine: "one", tokens: "" });
  };

  function section(kind) {
    if (!sections.has(kind)) {
      const mosaic = makeMosaic(
        (layer, head) => ctx.set({ kind, layer, head, heads: "" }),
        (layer, head) => open({ kind, layer, head }),
      );
      sections.set(kind, {
        mosaic,
        node: el("section", { "data-kind": kind }, el("h2", { title: TERMS[kind] }, KINDS[kind]), mosaic.node),
      });
    }
    return sections.get(kind);
  }

  // Draw the words of the source and of its translation.
  function build() {
    const sideWords = pinnableWords(ctx.side);
    const button = (word) => {
      const wordButton = el(
        "button",
        { type: "button", class: "hu-pinword", "data-pin": pinOf(word) },
        el("bdi", {}, word.label),
      );
      if (word.members.length > 1) wordButton.title = `${word.members.length} tokens. ${COUNTING_NOTE}`;
      wordButton.addEventListener("click", () => {
        tabStop = sideWords.findIndex((other) => pinOf(other) === pinOf(word));
        ctx.set({ pin: wordButton.getAttribute("aria-pressed") === "true" ? "" : pinOf(word) });
      });
      return wordButton;
    };
    const line = (sentence) => sideWords.filter((word) => word.sentence === sentence).map(button);
    const target = line("t");
    words.replaceChildren(
      el("span", { class: "hu-pincaption" }, "Pin a word:"),
      el("span", { class: "hu-pinline" }, ...line("s")),
      ...(target.length
        ? [el("span", { "aria-hidden": "true" }, "→"), el("span", { class: "hu-pinline" }, ...target)]
        : []),
    );
    tabStop = clampIndex(tabStop, Math.max(sideWords.length, 1));
  }

  function draw() {
    const { side, state, theme } = ctx;
    if (builtSideId !== side.id) build();
    builtSideId = side.id;
    const pinned = pinnedWord(side, state.pin);
    words.querySelectorAll("button").forEach((button, i) => {
      button.setAttribute("aria-pressed", String(pinned !== null && button.dataset.pin === pinOf(pinned)));
      button.tabIndex = i === tabStop ? 0 : -1;
    });
    pinnedPanel.hidden = !pinned;
    if (!pinned) return;
    for (const button of directions.children) {
      button.setAttribute("aria-pressed", String(button.dataset.way === state.way));
    }
    const kinds = positionsIn(side, pinned, state.way);
    const nodes = kinds.map(([kind]) => section(kind).node);
    if (nodes.length !== grids.children.length || nodes.some((node, i) => node !== grids.children[i])) {
      grids.replaceChildren(...nodes);
    }
    grids.style.setProperty("--hu-heads", side.n_heads);
    for (const [kind, kindDirections] of kinds) {
      drawKind(pinned, kind, strongestAttention(side, state, pinned, kind, kindDirections));
    }
    bar.draw(theme.ramp, [[0, "0"], [0.5, "0.5"], [1, "1"]]);
    notShownNote.textContent = nodes.length ? KIND_NOT_SHOWN[pinned.sentence] : "";
    drawResult(pinned, strongestHeads(side, state, pinned));
  }

  function drawKind(pinned, kind, headWeights) {
    const { side, state, theme } = ctx;
    const weightOf = ({ layer, head }) => headWeights[layer * side.n_heads + head];
    section(kind).mosaic.draw(side, kind, state, theme, {
      label: KINDS[kind],
      hasSelection: kind === state.kind,
      pictureId: `${state.pin} ${state.way} ${rowsAreRead(state)}`,
      describe: (layer, head) => description(weightOf({ layer, head }), pinned),
      picture: (canvas, layer, head) => {
        const level = Math.round(255 * Math.min(weightOf({ layer, head }).weight, 1));
        paintPixels(canvas, 1, 1, () => theme.ramp[level]);
      },
    });
  }

  const description = (headWeight, { label }) =>
    `${attentionText(headWeight, label).map(([text]) => text).join(" ")}${
      headWeight.weight > 0 ? `, ${weightText(headWeight)}` : ""
    }`;

  function drawResult(pinned, strongestHeads) {
    result.title = COUNTING_NOTE;
    result.replaceChildren(
      ...(strongestHeads.length
        ? [
          ...attentionNodes(strongestHeads[0], pinned, true),
          ` with ${weightText(strongestHeads[0])} of its attention, in ${headName(strongestHeads[0])}.`,
        ]
        : [
          "There is no attention between ",
          el("strong", {}, el("bdi", {}, pinned.label)),
          " and another word in this direction. Choose the other direction.",
        ]),
    );
    list.replaceChildren(...strongestHeads.map((headWeight) => {
      const button = el(
        "button",
        { type: "button", "data-head": `${headWeight.kind} ${headWeight.layer}.${headWeight.head}` },
        el("span", { class: "hu-pinweight" }, weightText(headWeight)),
        el(
          "span",
          {},
          el("strong", {}, sentenceCase(headName(headWeight))),
          ` · ${KINDS[headWeight.kind]}`,
          el("br"),
          ...attentionNodes(headWeight, pinned),
        ),
      );
      button.addEventListener("click", () => open(headWeight));
      return el("li", {}, button);
    }));
  }

  return { node, draw };
}

// Shows 1 only if the weight is exactly 1.
const weightText = ({ weight }) => (weight >= 0.9995 && weight < 1 ? "> 0.999" : weight.toFixed(3));

// Texts separated by spaces; <bdi> keeps right-to-left words from reordering the sentence.
const attentionNodes = (headWeight, { label }, wholeSentence = false) =>
  attentionText(headWeight, label, wholeSentence).flatMap((
    [text, word],
    i,
  ) => [...(i ? [" "] : []), word ? el("em", {}, el("bdi", {}, text)) : text]);
