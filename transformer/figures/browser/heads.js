// The Heads view, the default: queries left, keys right, a line for every weight, one colour per head (after
// BertViz' head view: Vig 2019, https://aclanthology.org/P19-3007).

import { ARROWS, el, keepPosition, clampIndex } from "./base.js";
import {
  allOf, codeOfHeads, headKey, headsOn, makeHeadChips, readBetween, readFocus, tableOfHeads,
} from "./heads-chips.js";
import {
  drawFocus, drawHeadLegend, drawLines, drawTokens, FADED_OPACITY, headStyles, layoutLines, legendHeight,
  lineEnds, MAX_LINES, lineExponent, strongestLines, tokenAt,
} from "./heads-lines.js";
import { writeHeads } from "./matrix.js";
import { sinkNote } from "./measures.js";
import { headName, layerName, sentenceCase, shortName } from "./naming.js";
import { pinnedTokens, pinOf, wordAt } from "./pins.js";
import { makeStage } from "./stage.js";

/** @param {Context} ctx @returns {View} */
function headsView(ctx) {
  let at = null; // token selected by pointer or arrow keys: { side: "q" or "k", index }
  let [on, ms, drawn] = [[], [], null]; // heads shown, their tables, and the lines drawn without a focus
  const cachedMatrices = new Map();
  let [keptFor, planned, plannedFor, paintedFor] = ["", null, "", ""];
  const back = el("canvas", { class: "hu-lines", "aria-hidden": "true" }); // the lines without a focus; CSS fades them
  const stage = makeStage({ plan, paint: paintFront });
  const { canvas } = stage;
  const anchor = el("span", { class: "hu-anchor", "aria-hidden": "true" });
  stage.node.prepend(back);
  stage.node.append(anchor);
  const chips = makeHeadChips(ctx);
  const words = el("div", { role: "status" });
  const free = el("button", { type: "button", class: "hu-button" }, "Unpin");
  const reading = el("div", { class: "hu-reading" }, words, free);
  const empty = el("p", { class: "hu-empty", role: "status" });
  const legend = el("figcaption", { class: "hu-legend" });
  const node = el("figure", { class: "hu-head hu-heads" }, chips.node, empty, reading, stage.node, legend);
  const styles = () => headStyles(on, ctx.theme);

  // One head's table. Cached, since it takes time with 512 tokens and does not change with a click on a token.
  function matrix(one) {
    const { kind, exact, special, renormalise, word_row: row } = ctx.state;
    const now = [ctx.side.id, kind, exact, special, renormalise, row].join();
    if (now !== keptFor) {
      cachedMatrices.clear();
      at = null; // its index now belongs to another token
    }
    keptFor = now;
    const name = headKey(one);
    if (!cachedMatrices.has(name)) cachedMatrices.set(name, ctx.matrix(ctx.side, { combine: "one", ...one }));
    const cached = cachedMatrices.get(name);
    if (!cached) cachedMatrices.delete(name); // still loading
    return cached;
  }

  function draw() {
    const headList = headsOn(ctx.side, ctx.state);
    const withMatrices = headList.map((one) => [one, matrix(one)]);
    [on, ms] = [headList, withMatrices.map(([, m]) => m)];
    chips.draw(on, styles());
    const missing = withMatrices.filter(([, m]) => !m).map(([one]) => shortName(one));
    const nothing = ms[0] && (!ms[0].nRows || !ms[0].nColumns);
    const ready = on.length > 0 && !missing.length && !nothing;
    empty.textContent = nothing ? "Nothing to draw: start and end are hidden."
      : missing.length ? `Loading the weights of ${missing.join(", ")} …`
        : on.length ? "" : "No head is selected. Choose one above, or click a thumbnail.";
    for (const part of [reading, stage.node, legend]) part.hidden = !ready;
    if (!ready) return;
    const heads = `${keptFor} ${writeHeads(on)}`;
    if (drawn?.of !== heads) drawn = { ...strongestLines(ms, MAX_LINES), of: heads };
    redraw();
    paintBack();
    writeLegend();
  }

  // Redraw what depends on the pointer. This is fast, as the lines without a focus are kept.
  function redraw() {
    const [m] = ms;
    stage.draw(`${title()}: ${m.nRows} queries and ${m.nColumns} keys, lines by weight. Use the arrow keys to move through the tokens, Enter to pin one.`);
    const focus = focused();
    if (stage.placed) {
      const [from, to] = lineEnds(stage.placed, focus);
      back.style.clipPath = `inset(0 ${stage.placed.width - to}px 0 ${from}px)`;
      back.style.opacity = focus ? FADED_OPACITY : 1;
    }
    canvas.style.cursor = at ? "pointer" : "default";
    const pins = pinned();
    free.hidden = !pins.any;
    reading.classList.toggle("hu-tall", on.length > 4 || Boolean(pins.queries.length && pins.keys.length));
    words.replaceChildren(...read(focus));
  }

  function plan(pen, width) {
    const now = [drawn.of, width, ctx.theme.font, ctx.state.size].join();
    if (now !== plannedFor) planned = layoutLines(ms[0], on.length, pen, width, ctx.theme, ctx.state.size === "large");
    plannedFor = now;
    return planned;
  }

  function paintFront(pen, layout) {
    const focus = focused();
    if (focus) drawFocus(pen, ms, layout, styles(), focus, ctx.theme);
    drawTokens(pen, ms[0], layout, ctx.theme, { at, ...pinned() });
  }

  function paintBack() {
    const { placed } = stage;
    if (!placed) return;
    const now = [plannedFor, canvas.width, canvas.height, ctx.theme.key, ctx.theme.series].join();
    if (now === paintedFor) return;
    paintedFor = now;
    [back.width, back.height] = [canvas.width, canvas.height];
    back.style.height = canvas.style.height;
    const pen = back.getContext("2d");
    const ratio = canvas.width / placed.width;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawRest(pen, placed);
  }

  const drawRest = (pen, layout, share = 1) =>
    drawLines(pen, ms[0], layout, styles(), drawn.lines, lineEnds(layout, null), { steep: lineExponent(drawn.lines.length), share });

  // The entries that the state pins, in this head or in all. Positions are those of pieces, so pins survive a
  // switch between words and pieces.
  function pinned() {
    const pins = [...ctx.state.tokens.split(","), ...pinnedTokens(ctx.side, ctx.state)];
    const of = (side, list) => list.flatMap((entry, i) => (entry.members.some((p) => pins.includes(side + p)) ? [i] : []));
    const [queries, keys] = [of("q", ms[0].rows), of("k", ms[0].columns)];
    return { queries, keys, any: queries.length + keys.length > 0 };
  }

  // Whether the pointer is on the other side of a pinned token, which shows the weight between the two.
  const between = (pins) => at && (at.side === "k" ? pins.queries : pins.keys).length > 0;

  // The tokens whose lines are highlighted, with sums over them; null if there are none. A token under the
  // pointer highlights its own lines, unless it is pinned or compared with pins of the other side.
  function focused() {
    const pins = pinned();
    const alone = at && !between(pins) && !(at.side === "q" ? pins.queries : pins.keys).includes(at.index);
    if (!alone && !pins.any) return null;
    const queries = alone ? (at.side === "q" ? [at.index] : []) : pins.queries;
    const keys = alone ? (at.side === "k" ? [at.index] : []) : pins.keys;
    const sum = (list, count, cell) => (list.length
      ? ms.map((m) => Float64Array.from({ length: count }, (_, i) => list.reduce((total, j) => total + m.values[cell(m, i, j)], 0)))
      : null);
    return {
      queries, keys,
      toKeys: sum(queries, ms[0].nColumns, (m, column, row) => row * m.nColumns + column),
      fromQueries: sum(keys, ms[0].nRows, (m, row, column) => row * m.nColumns + column),
    };
  }

  function read(focus) {
    if (!focus) return [el("p", { class: "hu-hint" }, ctx.state.exact
      ? "Hover over a token to follow its lines; click to pin it. Pinned tokens are summed."
      : "Hover over a word to follow its lines; click to pin it in all heads.")];
    if (between(pinned())) return readBetween(ms, on, styles(), focus, at);
    return readFocus(ms, on, styles(), focus);
  }

  function writeLegend() {
    const { left, below } = drawn;
    const dashed = styles().some(({ round }) => round);
    legend.replaceChildren(...[
      `The stronger and wider a line, the greater the weight; small weights are exaggerated to stay visible.${dashed ? ` Dashed lines reuse a colour.` : ""}`,
      left ? `${left.toLocaleString("en")} weaker lines with weights up to ${below.toPrecision(2)} are not drawn. Hover over a token to see all of its lines.` : "",
    ].filter(Boolean).map((text) => el("span", {}, text)));
  }

  function point(next) {
    if (!ms[0] || stage.node.hidden || (next?.side === at?.side && next?.index === at?.index)) return;
    at = next;
    redraw();
  }

  // Pins a whole word in every head; with exact names or `add`, a token in this head.
  function pin({ side, index }, add = false) {
    const { members } = (side === "q" ? ms[0].rows : ms[0].columns)[index];
    const word = ctx.state.exact || add ? null : wordAt(ctx.side, ctx.state.kind, side, members[0]);
    if (word) {
      const way = side === "q" ? "from" : "to";
      const again = ctx.state.pin === pinOf(word) && [way, "both"].includes(ctx.state.way);
      keepPosition(stage.node, () => ctx.set({ pin: again ? "" : pinOf(word), way, tokens: "" }));
      return;
    }
    const names = members.map((position) => side + position);
    if (pinnedTokens(ctx.side, ctx.state).some((name) => names.includes(name))) {
      ctx.set({ pin: "" });
      return;
    }
    const old = ctx.state.tokens.split(",").filter(Boolean);
    const rest = old.filter((name) => !names.includes(name));
    ctx.set({ tokens: (rest.length < old.length ? rest : [...old, names[0]]).join() });
  }

  const under = (event) => (stage.placed ? tokenAt(stage.placed, ms[0], event.offsetX, event.offsetY) : null);
  canvas.addEventListener("pointermove", (event) => event.pointerType !== "touch" && point(under(event)));
  canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && point(null));
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("click", (event) => {
    const token = under(event);
    if (event.pointerType === "touch") at = null; // a lifted finger no longer points
    if (token) pin(token, event.shiftKey);
  });
  free.addEventListener("click", () => {
    ctx.set({ tokens: "", pin: "" });
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("keydown", (event) => {
    const count = (side) => (side === "q" ? ms[0].nRows : ms[0].nColumns);
    const { key } = event;
    if (key === "Escape" && (at || pinned().any)) {
      at = null;
      ctx.set({ tokens: "", pin: "" });
    } else if ((key === "Enter" || key === " ") && at) pin(at, event.shiftKey);
    else if (key in ARROWS || key === "Home" || key === "End") {
      const [right, down] = ARROWS[key] || [0, 0];
      const side = right ? (right > 0 ? "k" : "q") : at?.side || "q";
      const index = { Home: 0, End: count(side) - 1 }[key] ?? clampIndex((at?.index ?? 0) + (at ? down : 0), count(side));
      point({ side, index });
      anchor.style.top = `${stage.placed.top + index * stage.placed.step}px`;
      anchor.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function title() {
    if (on.length === 1) return sentenceCase(headName(on[0]));
    if (on.length && writeHeads(on) === writeHeads(allOf(ctx.side, on[0].layer))) return `${sentenceCase(layerName(on[0].layer))}, all heads`;
    return on.length ? `${on.length} heads: ${on.map(shortName).join(", ")}` : "No head";
  }

  function figure() {
    if (stage.node.hidden) return null;
    const { width, height, paint } = stage.figure();
    return {
      title: title(),
      width,
      height: height + legendHeight(on, width),
      paint: (pen) => {
        const [from, to] = lineEnds(planned, focused());
        pen.save();
        pen.beginPath();
        pen.rect(from, 0, to - from, height);
        pen.clip();
        drawRest(pen, planned, focused() ? FADED_OPACITY : 1);
        pen.restore();
        paint(pen);
        drawHeadLegend(pen, on, styles(), width, height, ctx.theme);
      },
    };
  }

  return {
    node,
    draw,
    // A click on a thumbnail shows only its head; the buttons above select several.
    choose: (one) => ctx.set({ ...one, heads: "" }),
    title: () => { on = headsOn(ctx.side, ctx.state); return title(); },
    code: () => codeOfHeads(ctx.side, headsOn(ctx.side, ctx.state), ctx.state.kind),
    note: () => {
      const [one, more] = headsOn(ctx.side, ctx.state);
      return one && !more ? sinkNote(ctx.side, { ...ctx.state, ...one, combine: "one" }) : "";
    },
    options: ["word_row", "special", "renormalise"],
    keys: [
      ["↑ and ↓", "move through the tokens"],
      ["← and →", "switch to the queries or the keys"],
      ["Enter or Space", "pin a token; with Shift, pin another and sum them"],
      ["Esc", "unpin them"],
    ],
    figure,
    table: () => (stage.node.hidden ? null : tableOfHeads(title(), on, ms, pinned())),
  };
}

/** @type {Tab} */
export const headsTab = { label: "Heads", make: headsView, mosaic: true };
