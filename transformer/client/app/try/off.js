// The depth Switch off: heads, weights, tokens and activations changed, and the translation with and without the
// changes. What is changed is in the address.

import { button, el } from "../../common/base.js";
import { headOfCode, LETTERS } from "../../common/head-codes.js";
import { setExactNames } from "../../common/naming.js";
import { fill } from "../../common/sentences.js";
import { switchboardView } from "../../views/grids/switchboard.js";
import { unpackTrace } from "../../trace/packed-trace.js";
import { unpack } from "../../trace/packing.js";
import { switchboard } from "../../trace/switchboard.js";
import { ablationOf, changeFields, NO_CHANGES } from "./change-fields.js";
import { makeRequests } from "./depth-requests.js";
import { changeNodes, makeEffect } from "./off-effect.js";
import { makeOneHead } from "./off-head.js";
import { makeSourceChanges } from "./off-source.js";

/** @typedef {import("../../trace/packed-trace.js").ViewTrace} ViewTrace */
/**
 * @typedef {{
 *   original: ViewTrace, forced: ViewTrace | null, altered: { text: string, ids: number[], finished: boolean } | null,
 *   problems: string[], sites: string[], donor: { src: string[], tgt: string[] },
 * }} Changed the sentence as it is, the same tokens under the changed model, what that model writes itself, and the
 *   tokens of the sentence from which activations are patched
 */

const MAX_TOKENS = 128; // of source and target: longer tables are slow and hard to read
const TOO_LONG = "This text has {length} tokens; heads can be switched off for up to {limit}. Type one sentence of it.";

export function offPage(container, context) {
  const results = el("div", { class: "hu hu-live-results", "aria-live": "polite" });
  const problems = el("div", { class: "hu" });
  const boardNode = el("div");
  const requests = makeRequests(context, "change", show);
  const body = el("div", { hidden: "" }); // until it has something to show
  const heads = makeHeadControls(context, change);
  const undo = el(
    "div",
    { class: "hu-line" },
    button("Compare every head with and without →", () => context.openDepth("heads", { view: "compare" })),
    button("Restore everything", () => change(NO_CHANGES)),
  );
  const effect = makeEffect(context, (head) => oneHead.show(head));
  effect.node.prepend(undo);
  const source = makeSourceChanges(context, change);
  const oneHead = makeOneHead(context, change);
  body.append(
    results,
    problems,
    boardNode,
    effect.node,
    el("div", { class: "hu hu-off-more" }, effect.attention, oneHead.node, ...heads.nodes, ...source.nodes),
  );
  container.append(el("div", { class: "hu hu-live-form" }, requests.problem, requests.waiting), body);
  const board = switchboardView(boardNode, ({ off }) => change({ off: off || null }));
  /** @type {Changed | null} */
  let changed = null;
  let frame = 0; // before what is below is drawn

  const field = (name) => context.params().get(name) ?? "";

  function draw() {
    heads.draw();
    requests.send({
      model: context.model,
      text: context.text,
      ...context.decoding(),
      ...changeFields(context),
      other: source.hasPatch() ? field("other") : "",
    });
    if (changed) drawParts();
  }

  function show(bytes) {
    const { header, parts } = unpack(bytes);
    const [original, forced = null] = header.sides.map((description, side) =>
      unpackTrace(description, (name) => parts.get(`${side}.${name}`))
    );
    changed = { ...header, original, forced };
    const length = Math.max(original.srcTokens.length, original.tgtTokens.length);
    body.hidden = length > MAX_TOKENS;
    requests.problem.textContent = length > MAX_TOKENS ? fill(TOO_LONG, { length, limit: MAX_TOKENS }) : "";
    if (!body.hidden) drawParts();
  }

  // The translations and the heads at once; what is below them after the next frame, as it takes longer.
  function drawParts() {
    results.replaceChildren(...translationNodes(changed, context.modelInfo));
    problems.replaceChildren(...changed.problems.map((text) => el("p", { class: "hu-live-problem" }, text)));
    setExactNames(field("exact") === "1");
    board.show(switchboard(changed.original, field("off")));
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => setTimeout(drawRest));
  }

  function drawRest() {
    setExactNames(field("exact") === "1");
    for (const part of [effect, source, oneHead]) part.draw(changed);
  }

  function change(fields) {
    context.write(fields);
    draw();
  }
  return { draw };
}

/** @param {Changed} changed @param {{ languages: string[] }} modelInfo */
function translationNodes({ original, forced, altered }, { languages }) {
  const block = (title, text, finished) =>
    el(
      "section",
      {},
      el("h2", {}, title),
      el(
        "p",
        { lang: languages[1] || null, translate: "no" },
        text || "(empty)",
        finished ? "" : " … (stopped at the maximum length)",
      ),
    );
  const before = block("With all heads", original.text, true);
  const note = el("p", { class: "hu-live-note" });
  if (!altered) {
    const hint = el("h2", {}, "Switch off a head below to change the translation.");
    return [before, el("section", {}, hint, el("p", { "aria-hidden": "true" }, "…")), el("section", {}, note)];
  }
  const isSame = altered.text === original.text;
  note.append(
    isSame ? "The translation stays the same. " : "The translation has changed. ",
    ...changeNodes(original, forced, languages[1]),
  );
  return [before, block("After the change", altered.text, altered.finished), el("section", {}, note)];
}

// What switches off several heads at once, and what undoes all changes.
function makeHeadControls(context, change) {
  const { ablations } = context.site;
  const ablation = el(
    "select",
    {},
    ...Object.entries(ablations).map(([value, label]) => el("option", { value }, label)),
  );
  const slider = el("input", { type: "range", min: 0, max: 0, value: 0 });
  const note = el("p", { class: "hu-live-note", role: "status" });
  const details = el(
    "details",
    { class: "hu-off-part" },
    el("summary", {}, "Switch off the least important heads first"),
    el("label", { class: "hu-live-field" }, el("span", { class: "hu-label" }, "Heads switched off"), slider),
    note,
  );
  const kinds = el(
    "details",
    { class: "hu-off-part hu-off-ablation" },
    el("summary", {}, "Kind of ablation"),
    el("p", { class: "hu-live-note" }, ABLATION_HELP),
    el("label", { class: "hu-live-check" }, "Kind of ablation ", ablation),
  );
  /** @type {string[]} */
  let order = []; // codes of all heads, the least important first
  let measured = ""; // the sentence whose heads are in this order

  async function measure() {
    const key = JSON.stringify([context.model, context.text, context.decoding()]);
    if (!details.open || measured === key) return;
    measured = key;
    note.textContent = "Measuring how much less probable the translation is without each head …";
    try {
      const losses = await context.ask("importance", {
        model: context.model,
        text: context.text,
        ...context.decoding(),
      });
      if (!losses || measured !== key) return;
      order = losses.sort(([, a], [, b]) => a - b).map(([code]) => code);
      note.textContent = fill(ORDER_NOTE, { least: nameOf(order[0]), most: nameOf(order.at(-1)) });
      draw();
    } catch (error) {
      [measured, note.textContent] = ["", error.message];
    }
  }

  function draw() {
    ablation.value = ablationOf(context);
    const off = new Set((context.params().get("off") ?? "").split(",").filter(Boolean));
    const isPrefix = order.slice(0, off.size).every((code) => off.has(code));
    slider.max = String(order.length);
    slider.value = String(isPrefix ? off.size : 0);
    slider.disabled = !order.length;
    measure();
  }

  details.addEventListener("toggle", measure);
  slider.addEventListener("input", () => {
    change({ off: order.slice(0, Number(slider.value)).join(",") || null, ablation: null });
  });
  ablation.addEventListener("change", () => {
    change({ ablation: ablation.value === Object.keys(ablations)[0] ? null : ablation.value });
  });
  return { nodes: [details, kinds], draw };
}

const ABLATION_HELP =
  "Zero ablation: the output of the head is 0. Uniform attention: it attends to all tokens equally. Mean ablation: its output is its mean over the example sentences.";
const ORDER_NOTE =
  "Ordered by how much less probable this translation is without the head, one at a time (Michel et al. 2019): {least} matters least, {most} most. How many can go before the translation changes?";

// A head as in the address, with its layer and head counted from 1, such as "C6·H1".
/** @param {string} code */
function nameOf(code) {
  const { kind, layer, head } = headOfCode(code);
  return `${LETTERS[kind].toUpperCase()}${layer + 1}·H${head + 1}`;
}
