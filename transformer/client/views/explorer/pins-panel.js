// The panel to pin a word: the words of both sentences as buttons, and for the pinned word all heads coloured
// by their attention to or from it, strongest first.

import { button, clampIndex, el, moveInGrid, rampLevel, wordsNode } from "../../common/base.js";
import { makeBar } from "../../common/legend.js";
import { headGrid } from "../grids/all-heads.js";
import { sideGrid } from "../grids/grid-data.js";
import { headName, sentenceCase } from "../../common/naming.js";
import { rowsAreRead } from "../../common/matrix.js";
import { paintPixels } from "../../common/thumbnail.js";
import { KINDS } from "../../common/head-codes.js";
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
  const words = el("div", { class: "hu-line hu-pinwords", role: "toolbar", "aria-label": "Pin a word" });
  const directions = el("div", { class: "hu-segments", role: "group", "aria-label": "Direction" });
  const result = el("p", { class: "hu-pin-result", role: "status" });
  const pictures = el("div", {});
  const grid = headGrid(pictures, {
    role: "radio",
    heading: "h2",
    help: "Choose a layer and a head",
    onMove: ({ kind, layer, head }) => ctx.set({ kind, layer, head, heads: "" }),
    onClick: open,
  });
  const bar = makeBar();
  const list = el("ol", { class: "hu-clearest" });
  const notShownNote = el("p", { class: "hu-note" });
  const pinnedPanel = el(
    "div",
    { class: "hu-pinned" },
    el("div", { class: "hu-line hu-pinhead" }, result, directions, button("Unpin", unpin)),
    el(
      "div",
      { class: "hu-pinbody" },
      el(
        "div",
        {},
        pictures,
        el("div", { class: "hu-legend" }, bar.node, el("span", {}, "greatest weight between it and another word")),
        notShownNote,
      ),
      el("section", {}, el("h2", {}, "Strongest first"), list),
    ),
  );
  const node = el("section", { class: "hu-pins", "aria-label": "A word in every head" }, words, pinnedPanel);
  let [builtSideId, tabStop] = ["", 0]; // the side whose words are drawn, and the index of the button that Tab focuses

  for (const [way, label] of DIRECTIONS) {
    directions.append(button(label, () => ctx.set({ way }), { class: null, "data-way": way }));
  }
  function unpin() {
    ctx.set({ pin: "" });
    words.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !ctx.state.pin) return;
    event.preventDefault();
    event.stopPropagation();
    unpin();
  });
  words.addEventListener("keydown", (event) => {
    const buttons = [...words.querySelectorAll("button")];
    const next = moveInGrid(event, [buttons]);
    if (next) tabStop = buttons.indexOf(next);
  });

  // Open a head in the Heads view, or in the Heatmap if that is open.
  function open({ kind, layer, head }) {
    const view = ctx.state.view === "heatmap" ? "heatmap" : "heads";
    ctx.set({ kind, layer, head, view, heads: "", combine: "one", tokens: "" });
  }

  // Draw the words of the source and of its translation.
  function build() {
    const sideWords = pinnableWords(ctx.side);
    const wordButton = (word) => {
      const togglePin = ({ currentTarget }) => {
        tabStop = sideWords.findIndex((other) => pinOf(other) === pinOf(word));
        ctx.set({ pin: currentTarget.getAttribute("aria-pressed") === "true" ? "" : pinOf(word) });
      };
      const title = word.members.length > 1 ? `${word.members.length} tokens. ${COUNTING_NOTE}` : null;
      return button(wordOf(word.label, word.sentence), togglePin, {
        class: "hu-pinword",
        "data-pin": pinOf(word),
        title,
      });
    };
    const line = (sentence) => sideWords.filter((word) => word.sentence === sentence).map(wordButton);
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
    words.querySelectorAll("button").forEach((word, i) => {
      word.setAttribute("aria-pressed", String(pinned !== null && word.dataset.pin === pinOf(pinned)));
      word.tabIndex = i === tabStop ? 0 : -1;
    });
    pinnedPanel.hidden = !pinned;
    if (!pinned) return;
    for (const direction of directions.children) {
      direction.setAttribute("aria-pressed", String(direction.dataset.way === state.way));
    }
    const kinds = new Map(positionsIn(side, pinned, state.way));
    grid.show(pinnedGrid(pinned, kinds));
    bar.draw(theme.ramp, [[0, "0"], [0.5, "0.5"], [1, "1"]]);
    notShownNote.textContent = kinds.size ? KIND_NOT_SHOWN[pinned.sentence] : "";
    drawResult(pinned, strongestHeads(side, state, pinned));
  }

  // All heads in the colour of their strongest attention to or from the pinned word.
  function pinnedGrid(pinned, directionsByKind) {
    const { side, state, theme } = ctx;
    const weights = new Map([...directionsByKind].map(([kind, kindDirections]) => [
      kind,
      strongestAttention(side, state, pinned, kind, kindDirections),
    ]));
    const weightOf = ({ kind, layer, head }) => weights.get(kind)[layer * side.n_heads + head];
    return {
      ...sideGrid(side, [...weights.keys()]),
      pictures: `${side.id} ${side.number} ${state.pin} ${state.way} ${rowsAreRead(state)}`,
      paint: (canvas, place) => {
        const level = rampLevel(weightOf(place).weight);
        paintPixels(canvas, 1, 1, () => theme.ramp[level]);
      },
      describe: (place) => description(weightOf(place), pinned),
      hasWords: true,
      selected: state,
      theme,
    };
  }

  const wordOf = (text, sentence) => wordsNode(text, ctx.side[sentence === "s" ? "src" : "tgt"].lang);

  // Texts separated by spaces.
  const attentionNodes = (headWeight, pinned, wholeSentence = false) =>
    attentionText(headWeight, pinned, wholeSentence).flatMap(([text, sentence], i) => [
      ...(i ? [" "] : []),
      sentence ? el("em", {}, wordOf(text, sentence)) : text,
    ]);

  const description = (headWeight, pinned) =>
    `${attentionText(headWeight, pinned).map(([text]) => text).join(" ")}${
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
          el("strong", {}, wordOf(pinned.label, pinned.sentence)),
          " and another word in this direction. Choose the other direction.",
        ]),
    );
    list.replaceChildren(...strongestHeads.map((headWeight) => {
      const name = el("strong", {}, sentenceCase(headName(headWeight)));
      const content = [
        el("span", { class: "hu-pinweight" }, weightText(headWeight)),
        el("span", {}, name, ` · ${KINDS[headWeight.kind]}`, el("br"), ...attentionNodes(headWeight, pinned)),
      ];
      const code = `${headWeight.kind} ${headWeight.layer}.${headWeight.head}`;
      return el("li", {}, button(content, () => open(headWeight), { class: null, "data-head": code }));
    }));
  }

  return { node, draw };
}

// Shows 1 only if the weight is exactly 1.
const weightText = ({ weight }) => (weight >= 0.9995 && weight < 1 ? "> 0.999" : weight.toFixed(3));
