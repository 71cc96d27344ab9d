// The Decoding view: the table of decoding steps, in which another token can be forced, and the tree of a beam search.

import { button, el, tokenText, wordsNode } from "../../common/base.js";
import { makeTree } from "./decoding-tree.js";
import { hasExactNames, pieceName, TOKENS_NOTE } from "../../common/naming.js";
import { percentText } from "../../common/numbers.js";
import { fillNodes } from "../../common/sentences.js";
import { stepTable } from "./steps.js";
import { readMarks } from "../../trace/marks.js";
import { tokenRows, wordRows } from "../../trace/step-table.js";

const WORDS_NOTE =
  "The model chooses tokens, so each percentage is the probability of the first token in which a word differs from the chosen one. “Show tokens” shows every token.";

const LEAST_CERTAIN_STEP = "The model is least certain in step {step}: it writes {word} with a probability of {share}.";

const FORCED =
  "In step {step} you forced another token, and the model continued from it. The model's own translation: {text}";

const FIGURE_WIDTH = 760; // of the exported tree, in pixels

// The second translation, if it has the forced token.
/** @param {Context} ctx */
const alteredOf = (ctx) => (ctx.state.force && ctx.secondKind !== "other" && ctx.sides[1]) || null;

/** @param {Context} ctx @returns {View} */
function decodingView(ctx) {
  let drawnKey = "";
  const forcedNote = el("p", { class: "hu-forced", role: "status" });
  const forcedLine = el(
    "div",
    { class: "hu-callout hu-line hu-forcedline" },
    forcedNote,
    button("Back to the original", () => ctx.set({ force: "" })),
  );
  const least = el("p", { class: "hu-steps-least" });
  const table = el("div", { class: "hu-steptable" });
  const note = el("p", { class: "hu-note" });
  const tree = makeTree(ctx);
  const sections = [forcedLine, least, table, note, tree.node];
  const empty = el(
    "p",
    { class: "hu-empty" },
    "This trace contains only attention weights, so its decoding steps are unknown.",
  );
  const node = el("div", { class: "hu-decoding" }, ...sections);
  const force = ctx.canForce ? (step, id) => ctx.set({ force: `${step}:${id}`, step }) : null;

  function draw() {
    const [{ force: forced }, altered] = [ctx.state, alteredOf(ctx)];
    if (!ctx.side.steps.length) return node.replaceChildren(empty);
    if (empty.isConnected) node.replaceChildren(...sections);
    forcedLine.hidden = !forced || !(altered || ctx.canForce);
    if (!forcedLine.hidden) forcedNote.replaceChildren(...noteOn(ctx, altered));
    const key = [(altered ?? ctx.side).id, forced, Boolean(ctx.alternatives), ctx.state.marks, hasExactNames()].join();
    if (key !== drawnKey) { // an unchanged table keeps what the reader has expanded
      const rows = rowsOfSteps(ctx);
      least.replaceChildren(...leastNodes(rows, ctx.side.tgt.lang));
      note.textContent = hasExactNames() ? "" : ctx.alternatives ? WORDS_NOTE : TOKENS_NOTE;
      table.replaceChildren(
        stepTable(rows, {
          force,
          showAttention: altered ? null : showAttentionOf(ctx),
          lang: ctx.side.tgt.lang,
          marked: readMarks(ctx.state.marks).map(([step]) => step),
        }),
      );
    }
    drawnKey = key;
    tree.draw();
  }

  return {
    node,
    draw,
    options: [],
    kinds: false,
    keys: [["in the tree", "← parent, → best child, ↑ and ↓ others of the same step"]],
    marks: () => null,
    title: () => "Step by step",
    note: () => "",
    code: () => "trace.translation.steps",
    figure: () => {
      const figure = ctx.side.steps.length ? tree.figure(FIGURE_WIDTH) : null;
      return figure && { title: "Beam search", width: FIGURE_WIDTH, ...figure };
    },
    table: () => (ctx.side.steps.length ? decodingTable(ctx) : null),
  };
}

// The sentence about the row with the lowest probability.
/** @param {import("../../trace/step-table.js").TableRow[]} rows @param {string} lang */
function leastNodes(rows, lang) {
  const { step, chosen } = rows.reduce((least, row) => row.chosen.probability < least.chosen.probability ? row : least);
  const word = el("strong", {}, tokenText(chosen.token, lang));
  return fillNodes(LEAST_CERTAIN_STEP, { step: String(step), word, share: percentText(chosen.probability) });
}

/** @param {Context} ctx @param {Side | null} altered */
function noteOn({ side, secondKind, state }, altered) {
  if (altered) {
    const text = wordsNode(side.text, side.tgt.lang);
    return fillNodes(FORCED, { step: String(parseInt(state.force) + 1), text });
  }
  return secondKind === "refused"
    ? ["This token cannot be forced; the message above the tabs says why."]
    : ["Translating again with the token you chose …"];
}

// The rows of the table: whole words if their alternatives are known, else tokens with the names that the explorer shows.
/** @param {Context} ctx */
function rowsOfSteps(ctx) {
  const altered = alteredOf(ctx);
  const side = altered ?? ctx.side;
  const named = (candidate) => ({ ...candidate, token: pieceName(candidate.token) });
  const options = { live: true, forced: altered ? parseInt(ctx.state.force) : -1 };
  if (ctx.alternatives && !hasExactNames()) {
    return wordRows(side.trace, ctx.alternatives, options).map((row) => ({
      ...row,
      input: [side.tgt.names[0], ...row.input.slice(1)],
      ...(row.last ? { chosen: named(row.chosen), candidates: row.candidates.map(named) } : {}),
    }));
  }
  return tokenRows(side.trace, options).map((row, step) => ({
    ...row,
    input: side.tgt.names.slice(0, step + 1),
    candidates: row.candidates.map(named),
    chosen: named(row.chosen),
  }));
}

// Opens the row of a step in the heatmap; null where the heatmap is not shown.
/** @param {Context} ctx */
function showAttentionOf({ set, side, views }) {
  const kind = side.kinds.includes("cross") ? "cross" : "decoder";
  if (!views.includes("heatmap") || !side.kinds.includes(kind)) return null;
  const [layer, head] = side.clearest[kind];
  return (row) =>
    set({ view: "heatmap", kind, layer, head, combine: "one", special: "shown", row, column: -1, step: row });
}

/** @param {Context} ctx */
function decodingTable(ctx) {
  const candidates = rowsOfSteps(ctx).flatMap(({ step, candidates, chosen }) =>
    candidates.map(({ id, token, probability }) => [step, token, probability, id === chosen.id ? "chosen" : ""])
  );
  const { tree } = ctx.side;
  const branches = (tree?.token ?? []).map((token, i) => [
    tree.depth[i],
    token,
    tree.probability[i],
    `tree: node ${i}, parent ${tree.parent[i] ?? "none"}, score ${tree.score[i]}, ${tree.status[i]}`,
  ]);
  return {
    caption: "The candidates of every step",
    columns: ["step", "token", "probability", "note"],
    rows: [...candidates, ...branches],
  };
}

/** @type {Tab} */
export const decodingTab = { label: "Decoding", make: decodingView };
