// What a change does: a sentence, the probability of each token before and after, and the attention of all heads.

import { button, download, el, indices, wordsNode } from "../../common/base.js";
import { csvOf } from "../../common/csv.js";
import { KINDS } from "../../common/head-codes.js";
import { exportName, headName, pieceName } from "../../common/naming.js";
import { percentText, wholePercent } from "../../common/numbers.js";
import { fill, fillNodes } from "../../common/sentences.js";
import { movedAttention, probabilityChanges } from "../../trace/effect.js";
import { headgridView } from "../../views/grids/headgrid.js";

/** @typedef {import("./off.js").Changed} Changed */
/** @typedef {import("../../trace/packed-trace.js").ViewTrace} ViewTrace */

const SMALL = 0.005; // changes below half a percentage point are not mentioned
const SENTENCES = {
  falls: "The probability of “{token}” falls from {before} to {after}, more than that of any other token.",
  rises: "The probability of “{token}” rises from {before} to {after}, which changes more than any other.",
  none: "Every token's probability changes by less than 0.5 percentage points.",
};
const GREATEST =
  "{kind}, {head}: {share} of its weight has moved, averaged over its rows, more than in any other head.";
const UNMOVED = "The change affects no other head's attention.";
const GRID_NOTE =
  "In percent; click a head to see it below. Measured as total variation, ½ Σ |a − b|, along the original translation.";

// `open(head)` shows the head that was clicked.
export function makeEffect(context, open) {
  const table = el("table", { class: "hu-before-after" });
  const gridNode = el("div");
  const gridNote = el("p", { class: "hu-live-note" });
  const exports = el("div", { class: "hu-line" });
  const node = el("section", { class: "hu hu-off-effect", hidden: "" }, table);
  const attention = el(
    "details",
    { class: "hu-off-part", hidden: "" },
    el("summary", {}, "Change in the attention of every head"),
    gridNode,
    gridNote,
    exports,
  );
  const grid = headgridView(gridNode, open);

  /** @param {Changed} changed */
  function draw(changed) {
    node.hidden = attention.hidden = !changed.forced;
    if (!changed.forced) return;
    const rows = probabilityChanges(changed.original, changed.forced);
    const moved = movedAttention(changed.original, changed.forced);
    drawProbabilities(table, rows, context.modelInfo.languages[1]);
    grid.show(gridData(moved, context.params()));
    gridNote.textContent = `${greatestSentence(moved)} ${GRID_NOTE}`;
    exports.replaceChildren(
      button("Probabilities (.csv)", () =>
        save("probabilities", changed, {
          columns: ["position", "token", "before", "after"],
          rows: rows.map(({ token, before, after }, position) => [position, token, before, after]),
        })),
      button("Attention changes (.csv)", () =>
        save("attention-moved", changed, {
          columns: ["kind", "layer", "head", "moved"],
          rows: moved.map(({ kind, layer, head, share }) => [kind, layer, head, share]),
        })),
    );
  }

  function save(content, { original }, csv) {
    download(csvOf(csv), `${exportName(`altered-${content}`, context.model, original.source)}.csv`);
  }
  return { node, attention, draw };
}

// The probabilities of each token as the table and the sentence write them.
/** @param {ReturnType<typeof probabilityChanges>} rows */
export const probabilityTexts = (rows) =>
  rows.map(({ token, before, after }) => ({
    token: pieceName(token),
    before: percentText(before),
    after: percentText(after),
  }));

// The sentence about the token that changes most, and what is in its placeholders.
/** @param {ReturnType<typeof probabilityChanges>} rows @returns {[string, { token: string, before: string, after: string }]} */
export function greatestChange(rows) {
  const size = ({ before, after }) => Math.abs(after - before);
  const greatest = rows.reduce((best, row) => size(row) > size(best) ? row : best);
  const { none, falls, rises } = SENTENCES;
  const sentence = size(greatest) < SMALL ? none : greatest.after < greatest.before ? falls : rises;
  return [sentence, probabilityTexts(rows)[rows.indexOf(greatest)]];
}

/** @param {ViewTrace} original @param {ViewTrace} forced @param {string} lang */
export function changeNodes(original, forced, lang) {
  const [sentence, texts] = greatestChange(probabilityChanges(original, forced));
  return fillNodes(sentence, { ...texts, token: wordsNode(texts.token, lang) });
}

// Two bars from 0 to 100 % for every token of the original translation.
/** @param {HTMLElement} table @param {ReturnType<typeof probabilityChanges>} rows @param {string} lang */
function drawProbabilities(table, rows, lang) {
  const texts = probabilityTexts(rows);
  const bar = (name, i) =>
    el(
      "td",
      { title: `${name}: ${texts[i][name]}` },
      el("span", { class: `hu-share hu-share-${name}`, style: `--share: ${rows[i][name].toFixed(4)}` }),
      el("span", { class: "hu-share-number" }, texts[i][name]),
    );
  table.replaceChildren(
    el(
      "caption",
      {},
      "Probability of each token of the original translation, given the tokens before it. Bold: another token is now the most probable.",
    ),
    el("thead", {}, el("tr", {}, ...["Token", "Before", "After"].map((name) => el("th", { scope: "col" }, name)))),
    el(
      "tbody",
      {},
      ...rows.map(({ isOther }, i) =>
        el(
          "tr",
          { class: isOther ? "hu-other" : null },
          el("th", { scope: "row" }, wordsNode(texts[i].token, lang)),
          bar("before", i),
          bar("after", i),
        )
      ),
    ),
  );
}

/** @param {ReturnType<typeof movedAttention>} moved @param {URLSearchParams} params */
export function gridData(moved, params) {
  const kinds = Object.entries(KINDS).map(([kind, label]) => {
    const heads = moved.filter((head) => head.kind === kind);
    const layers = indices(1 + Math.max(...heads.map(({ layer }) => layer)));
    const rows = layers.map((layer) => heads.filter((head) => head.layer === layer));
    return [kind, {
      levels: rows.map((row) => row.map(({ share }) => Math.sqrt(share))),
      marks: rows.map((row) => row.map(({ share }) => share >= SMALL ? wholePercent(share).replace("%", "") : "")),
      descriptions: rows.map((row) => row.map((head) => `${label}, ${headName(head)}: ${wholePercent(head.share)}`)),
    }];
  });
  return {
    kinds: Object.fromEntries(kinds),
    legend: "Share of the head's attention that moved to other tokens; colour by square root.",
    ticks: [[0, "0%"], [0.5, "25%"], [1, "100%"]],
    selected: {
      kind: params.get("kind") ?? "cross",
      layer: Number(params.get("layer") ?? -1),
      head: Number(params.get("head") ?? -1),
    },
    large: false,
  };
}

/** @param {ReturnType<typeof movedAttention>} moved */
export function greatestSentence(moved) {
  const greatest = moved.reduce((best, head) => head.share > best.share ? head : best);
  if (greatest.share < SMALL) return UNMOVED;
  return fill(GREATEST, {
    kind: KINDS[greatest.kind],
    head: headName(greatest),
    share: wholePercent(greatest.share),
  });
}
