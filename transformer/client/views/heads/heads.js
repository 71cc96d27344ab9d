// The Heads view, the default: queries left, keys right, a line for every weight, one colour per head (after
// BertViz' head view: Vig 2019, https://aclanthology.org/P19-3007).

import { ARROWS, button, clampIndex, el, keepPosition } from "../../common/base.js";
import {
  codeOfHeads,
  describeFocus,
  describePair,
  displayedHeads,
  headKey,
  makeHeadChips,
  tableOfHeads,
  weightsFromQueries,
  weightsToKeys,
} from "./heads-chips.js";
import {
  drawFocus,
  drawHeadLegend,
  drawLines,
  drawMarkedLines,
  drawTokens,
  FADED_OPACITY,
  headStyles,
  layoutLines,
  legendHeight,
  lineEnds,
  lineExponent,
  MAX_LINES,
  strongestLines,
  tokenAt,
} from "./heads-lines.js";
import { headsOfLayer, writeHeads } from "../../common/matrix.js";
import { sinkNote } from "../../common/measures.js";
import { markedCells } from "../../trace/marks.js";
import { headName, layerName, sentenceCase, shortName } from "../../common/naming.js";
import { pinnedTokens, pinOf, wordAt } from "../explorer/pins.js";
import { byPointer } from "../../common/pointing.js";
import { makeStage } from "../../common/stage.js";

const TOKEN_HINT =
  "Hover over a token to follow its lines; click to pin it. Of several pinned queries the mean is shown, of several keys the sum.";
const TOKEN_TAP_HINT = "Tap a token to pin it. Of several pinned queries the mean is shown, of several keys the sum.";
const WORD_HINT = "Hover over a word to follow its lines; click to pin it in all heads.";
const WORD_TAP_HINT = "Tap a word to pin it in all heads.";

/** @param {Context} ctx @returns {View} */
function headsView(ctx) {
  let hovered = null; // token selected by pointer or arrow keys: { side: "q" or "k", index }
  let [heads, matrices, backgroundLines] = [[], [], null]; // heads shown, their weights, and the lines drawn behind those of the focus
  const cachedMatrices = new Map();
  let [cacheKey, layout, layoutKey, paintedKey] = ["", null, "", ""];
  const backCanvas = el("canvas", { class: "hu-lines", "aria-hidden": "true" }); // all lines, faded while the lines of some tokens are highlighted
  const stage = makeStage({ plan, paint: paintFront });
  const { canvas } = stage;
  const anchor = el("span", { class: "hu-anchor", "aria-hidden": "true" }); // scrolled into view with the keyboard selection
  stage.node.prepend(backCanvas);
  stage.node.append(anchor);
  const chips = makeHeadChips(ctx);
  const readout = el("div", { role: "status" });
  const unpinButton = button("Unpin", () => {
    ctx.set({ tokens: "", pin: "" });
    canvas.focus({ preventScroll: true });
  });
  const readoutRow = el("div", { class: "hu-reading" }, readout, unpinButton);
  const empty = el("p", { class: "hu-empty", role: "status" });
  const legend = el("figcaption", { class: "hu-legend" });
  const node = el("figure", { class: "hu-head hu-heads" }, chips.node, empty, readoutRow, stage.node, legend);
  const styles = () => headStyles(heads, ctx.theme);

  // The matrix of one head. Cached, since it takes time with 512 tokens and does not change with a click on a token.
  function matrix(head) {
    const { kind, exact, special, renormalise, word_row: row } = ctx.state;
    const key = [ctx.side.id, kind, exact, special, renormalise, row].join();
    if (key !== cacheKey) {
      cachedMatrices.clear();
      hovered = null; // its index now belongs to another token
    }
    cacheKey = key;
    const name = headKey(head);
    if (!cachedMatrices.has(name)) cachedMatrices.set(name, ctx.matrix(ctx.side, { combine: "one", ...head }));
    return cachedMatrices.get(name);
  }

  function draw() {
    heads = displayedHeads(ctx.side, ctx.state);
    matrices = heads.map(matrix);
    chips.draw(heads, styles());
    const isEmpty = matrices[0] && (!matrices[0].nRows || !matrices[0].nColumns);
    const ready = heads.length > 0 && !isEmpty;
    empty.textContent = isEmpty
      ? "Nothing to draw: start and end are hidden."
      : heads.length
      ? ""
      : "No head is selected. Choose one above, or click a thumbnail.";
    for (const part of [readoutRow, stage.node, legend]) part.hidden = !ready;
    if (!ready) return;
    const key = `${cacheKey} ${writeHeads(heads)}`;
    if (backgroundLines?.key !== key) backgroundLines = { ...strongestLines(matrices, MAX_LINES), key };
    redraw();
    paintBack();
    writeLegend();
  }

  // Redraw what depends on the pointer. This is fast, as the background canvas keeps its lines.
  function redraw() {
    const [m] = matrices;
    stage.draw(
      `${title()}: ${m.nRows} queries and ${m.nColumns} keys, lines by weight. Use the arrow keys to move through the tokens, Enter to pin one.`,
    );
    const focus = focusedTokens();
    if (stage.layout) {
      const [from, to] = lineEnds(stage.layout, focus);
      backCanvas.style.clipPath = `inset(0 ${stage.layout.width - to}px 0 ${from}px)`;
      backCanvas.style.opacity = focus || marksToDraw().length ? FADED_OPACITY : 1;
    }
    canvas.style.cursor = hovered ? "pointer" : "default";
    const pins = pinnedEntries();
    unpinButton.hidden = !pins.any;
    readoutRow.classList.toggle("hu-tall", heads.length > 4 || Boolean(pins.queries.length && pins.keys.length));
    readout.replaceChildren(...readoutNodes(focus));
  }

  function plan(pen, width) {
    const newKey = [backgroundLines.key, width, ctx.theme.font, ctx.state.size].join();
    if (newKey !== layoutKey) {
      layout = layoutLines(matrices[0], heads.length, pen, width, ctx.theme, ctx.state.size === "large");
    }
    layoutKey = newKey;
    return layout;
  }

  function paintFront(pen, layout) {
    const [focus, pins, marked] = [focusedTokens(), pinnedEntries(), marksToDraw()];
    if (focus) drawFocus(pen, matrices, layout, styles(), focus, ctx.theme);
    else drawMarkedLines(pen, matrices[0], layout, marked, ctx.theme);
    const queries = [...pins.queries, ...marked.map(({ row }) => row)];
    const keys = [...pins.keys, ...marked.map(({ column }) => column)];
    drawTokens(pen, matrices[0], layout, ctx.theme, { hovered, queries, keys });
  }

  function paintBack() {
    const { layout } = stage;
    if (!layout) return;
    const newKey = [layoutKey, canvas.width, canvas.height, ctx.theme.key, ctx.theme.series].join();
    if (newKey === paintedKey) return;
    paintedKey = newKey;
    [backCanvas.width, backCanvas.height] = [canvas.width, canvas.height];
    backCanvas.style.height = canvas.style.height;
    const pen = backCanvas.getContext("2d");
    const ratio = canvas.width / layout.width;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawBackground(pen, layout);
  }

  const drawBackground = (pen, layout, opacity = 1) =>
    drawLines(pen, matrices[0], layout, styles(), backgroundLines.lines, lineEnds(layout, null), {
      exponent: lineExponent(backgroundLines.lines.length),
      factor: opacity,
    });

  // The entries that the state pins, in this head or in all. Positions are those of pieces, so pins survive a
  // switch between words and pieces.
  function pinnedEntries() {
    const pins = [...ctx.state.tokens.split(","), ...pinnedTokens(ctx.side, ctx.state)];
    const pinnedIndices = (side, list) =>
      list.flatMap((entry, i) => (entry.members.some((position) => pins.includes(side + position)) ? [i] : []));
    const [queries, keys] = [pinnedIndices("q", matrices[0].rows), pinnedIndices("k", matrices[0].columns)];
    return { queries, keys, any: queries.length + keys.length > 0 };
  }

  // The marked cells, if one head is shown.
  const marksToDraw = () => heads.length === 1 ? markedCells(matrices[0], ctx.state.marks) : [];

  // Whether the hovered token is a key and a query is pinned, or the reverse: then the weight between the two is shown.
  const isBetweenPins = (pins) => hovered && (hovered.side === "k" ? pins.queries : pins.keys).length > 0;

  // The tokens whose lines are highlighted, with their weights; null if there are none. A token under the
  // pointer highlights its own lines, unless it is pinned or compared with pins of the other side.
  function focusedTokens() {
    const pins = pinnedEntries();
    const hoveredOnly = hovered && !isBetweenPins(pins) &&
      !(hovered.side === "q" ? pins.queries : pins.keys).includes(hovered.index);
    if (!hoveredOnly && !pins.any) return null;
    const queries = hoveredOnly ? (hovered.side === "q" ? [hovered.index] : []) : pins.queries;
    const keys = hoveredOnly ? (hovered.side === "k" ? [hovered.index] : []) : pins.keys;
    return {
      queries,
      keys,
      toKeys: queries.length ? matrices.map((m) => weightsToKeys(m, queries)) : null,
      fromQueries: keys.length ? matrices.map((m) => weightsFromQueries(m, keys)) : null,
    };
  }

  function readoutNodes(focus) {
    if (!focus) {
      return [el(
        "p",
        { class: "hu-hint" },
        ctx.state.exact ? byPointer(TOKEN_HINT, TOKEN_TAP_HINT) : byPointer(WORD_HINT, WORD_TAP_HINT),
      )];
    }
    if (isBetweenPins(pinnedEntries())) return describePair(matrices, heads, styles(), focus, hovered);
    return describeFocus(matrices, heads, styles(), focus);
  }

  function writeLegend() {
    const { omitted, maxOmitted } = backgroundLines;
    const dashed = styles().some(({ reuse }) => reuse);
    legend.replaceChildren(
      ...[
        `The stronger and wider a line, the greater the weight; small weights are exaggerated to stay visible.${
          dashed ? ` Dashed lines reuse a colour.` : ""
        }`,
        omitted
          ? `${omitted.toLocaleString("en")} weaker lines with weights up to ${
            maxOmitted.toPrecision(2)
          } are not drawn. Hover over a token to see all of its lines.`
          : "",
      ].filter(Boolean).map((text) => el("span", {}, text)),
    );
  }

  function hover(next) {
    if (!matrices[0] || stage.node.hidden || (next?.side === hovered?.side && next?.index === hovered?.index)) return;
    hovered = next;
    redraw();
  }

  // Pins a whole word in every head; with exact names or `add`, a token in this head.
  function pin({ side, index }, add = false) {
    const { members } = (side === "q" ? matrices[0].rows : matrices[0].columns)[index];
    const word = ctx.state.exact || add ? null : wordAt(ctx.side, ctx.state, side, members[0]);
    if (word) {
      const way = side === "q" ? "from" : "to";
      const isPinned = ctx.state.pin === pinOf(word) && [way, "both"].includes(ctx.state.way);
      keepPosition(stage.node, () => ctx.set({ pin: isPinned ? "" : pinOf(word), way, tokens: "" }));
      return;
    }
    const names = members.map((position) => side + position);
    if (pinnedTokens(ctx.side, ctx.state).some((name) => names.includes(name))) {
      ctx.set({ pin: "" });
      return;
    }
    const oldTokens = ctx.state.tokens.split(",").filter(Boolean);
    const otherTokens = oldTokens.filter((name) => !names.includes(name));
    ctx.set({ tokens: (otherTokens.length < oldTokens.length ? otherTokens : [...oldTokens, names[0]]).join() });
  }

  const tokenUnderPointer = ({ offsetX, offsetY }) =>
    stage.layout ? tokenAt(stage.layout, matrices[0], offsetX, offsetY) : null;
  canvas.addEventListener("pointermove", (event) => event.pointerType !== "touch" && hover(tokenUnderPointer(event)));
  canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hover(null));
  canvas.addEventListener("blur", () => hover(null));
  canvas.addEventListener("click", (event) => {
    const token = tokenUnderPointer(event);
    if (event.pointerType === "touch") hovered = null; // a lifted finger no longer points
    if (token) pin(token, event.shiftKey);
  });
  canvas.addEventListener("keydown", (event) => {
    const count = (side) => (side === "q" ? matrices[0].nRows : matrices[0].nColumns);
    const { key } = event;
    if (key === "Escape" && (hovered || pinnedEntries().any)) {
      hovered = null;
      ctx.set({ tokens: "", pin: "" });
    } else if ((key === "Enter" || key === " ") && hovered) pin(hovered, event.shiftKey);
    else if (key in ARROWS || key === "Home" || key === "End") {
      const [right, down] = ARROWS[key] || [0, 0];
      const side = right ? (right > 0 ? "k" : "q") : hovered?.side || "q";
      const index = { Home: 0, End: count(side) - 1 }[key] ??
        clampIndex((hovered?.index ?? 0) + (hovered ? down : 0), count(side));
      hover({ side, index });
      anchor.style.top = `${stage.layout.top + index * stage.layout.step}px`;
      anchor.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function title() {
    if (heads.length === 1) return sentenceCase(headName(heads[0]));
    if (heads.length && writeHeads(heads) === writeHeads(headsOfLayer(ctx.side, heads[0].layer))) {
      return `${sentenceCase(layerName(heads[0].layer))}, all heads`;
    }
    return heads.length ? `${heads.length} heads: ${heads.map(shortName).join(", ")}` : "No head";
  }

  function figure() {
    if (stage.node.hidden) return null;
    const { width, height, paint } = stage.figure();
    return {
      title: title(),
      width,
      height: height + legendHeight(heads, width),
      paint: (pen) => {
        const [from, to] = lineEnds(layout, focusedTokens());
        pen.save();
        pen.beginPath();
        pen.rect(from, 0, to - from, height);
        pen.clip();
        drawBackground(pen, layout, focusedTokens() ? FADED_OPACITY : 1);
        pen.restore();
        paint(pen);
        drawHeadLegend(pen, heads, styles(), width, height, ctx.theme);
      },
    };
  }

  return {
    node,
    draw,
    // A click on a thumbnail shows only its head; the buttons above select several.
    choose: (head) => ctx.set({ ...head, heads: "" }),
    title: () => {
      heads = displayedHeads(ctx.side, ctx.state);
      return title();
    },
    code: () => codeOfHeads(ctx.side, displayedHeads(ctx.side, ctx.state), ctx.state.kind),
    note: () => {
      const [head, second] = displayedHeads(ctx.side, ctx.state);
      return head && !second ? sinkNote(ctx.side, { ...ctx.state, ...head, combine: "one" }) : "";
    },
    options: ["word_row", "special", "renormalise"],
    keys: [
      ["↑ and ↓", "move through the tokens"],
      ["← and →", "switch to the queries or the keys"],
      ["Enter or Space", "pin a token; with Shift, pin another"],
      ["Esc", "unpin them"],
    ],
    figure,
    table: () => (stage.node.hidden ? null : tableOfHeads(title(), heads, matrices, pinnedEntries())),
  };
}

/** @type {Tab} */
export const headsTab = { label: "Heads", make: headsView, mosaic: true };
