// One head: its weights before and after the change, a row of it replaced, and its cells blanked one at a time.

import { button, download, el, indices, wordsNode } from "../../common/base.js";
import { csvOf } from "../../common/csv.js";
import { KINDS } from "../../common/head-codes.js";
import { axisLabels, displayNumber, exportName, headName, pieceNames } from "../../common/naming.js";
import { numberText } from "../../common/numbers.js";
import { fill, fillNodes } from "../../common/sentences.js";
import { readRow, writeRow } from "../../trace/changes.js";
import { rankCorrelation } from "../../trace/effect.js";
import { labelsOf } from "../../trace/words.js";
import { contributionsView } from "../../views/inside/contributions.js";

/** @typedef {import("./off.js").Changed} Changed */
/** @typedef {import("../../trace/packed-trace.js").ViewTrace} ViewTrace */
/** @typedef {{ kind: Kind, layer: number, head: number }} OneHead */

const MAX_CELL_TOKENS = 48; // blanking every cell takes a pass each
const BLANKING =
  "The weight is the share of attention; the norm ‖α·f(x)‖ is the length of the vector that is added. Blanking sets one weight to 0, leaves the rest unchanged, and measures the change in log-probability. If weights were explanations, all three would rank the cells in the same order.";
const CELL_SENTENCE =
  "{row} → {column}: weight {weight}, norm {norm}; blanked, the translation's log-probability changes by {effect} nats. Without this cell the translation is {ratio} times as probable; the effect is greatest for “{token}” ({most} nats).";
const EDITED_NOTE = "A row of {kind}, {head}, is edited already; an edit here replaces it.";
const RANK_SENTENCE =
  "Over the {count} cells of this head, Spearman's rank correlation with the effect of blanking is {weight} for weights and {norm} for norms; 1 is the same order, 0 no relation. One cell is blanked at a time, in one sentence: effects that other heads compensate for are not measured (Kobayashi et al. 2020; Jain and Wallace 2019; Wiegreffe and Pinter 2019).";

export function makeOneHead(context, change) {
  const pickers = makeHeadPickers(
    (head) => change({ ...headFields(head), row: null, column: null }),
    () => context.openDepth("heads", { view: "heatmap" }),
  );
  const before = makePair(context, change);
  const row = makeRowEditor(context, change);
  const cells = makeCells(context, change);
  const node = el(
    "details",
    { class: "hu-off-part hu-off-head" },
    el("summary", {}, "One head: its weights, and what each of them does"),
    pickers.node,
    before.node,
    row.node,
    cells.node,
  );

  /** @type {Changed | null} */
  let shown = null;

  /** @param {Changed} changed */
  function draw(changed) {
    shown = changed;
    if (LINKED_CELL.some((name) => context.params().has(name))) node.open = true;
    if (!node.open) return;
    const head = headIn(context.params(), changed.original);
    pickers.draw(head, changed.original);
    before.node.hidden = !changed.forced;
    if (changed.forced) before.draw(changed.original, head, beforeAndAfter(changed, head), ["before", "after"]);
    row.draw(changed, head);
    cells.draw(changed, head);
  }

  /** @param {OneHead} head */
  function show(head) {
    node.open = true;
    change({ ...headFields(head), row: null, column: null });
    node.scrollIntoView({ block: "nearest" });
  }
  node.addEventListener("toggle", () => node.open && shown && draw(shown));
  return { node, draw, show };
}

const LINKED_CELL = ["row", "column", "edited_row"]; // fields of an address that shows a head here
const headFields = ({ kind, layer, head }) => ({ kind, layer: String(layer), head: String(head) });

// The head of the address, or the nearest that the model has.
/** @param {URLSearchParams} params @param {ViewTrace} trace @returns {OneHead} */
function headIn(params, trace) {
  const kind = /** @type {Kind} */ (Object.hasOwn(KINDS, params.get("kind")) ? params.get("kind") : "cross");
  const number = (name, count) => Math.min(Math.max(Number(params.get(name) ?? 0) || 0, 0), count - 1);
  return { kind, layer: number("layer", trace.depths[kind]), head: number("head", trace.n_heads) };
}

/** @param {Changed} changed @param {OneHead} head */
function beforeAndAfter({ original, forced }, head) {
  const [before, after] = [weightsOfHead(original, head), weightsOfHead(forced, head)];
  return [
    { name: "before", title: "Before", values: before, max: 1 },
    { name: "after", title: "After", values: after, max: 1 },
    { name: "change", title: "Change", values: after.map((value, i) => value - before[i]), signed: true },
  ].map((quantity) => ({ label: quantity.name, unit: "weight", ...quantity }));
}

/** @param {ViewTrace} trace @param {OneHead} head */
function weightsOfHead(trace, { kind, layer, head }) {
  const { shape: [, queries, keys], values } = trace.weights(kind, layer);
  return values.slice(head * queries * keys, (head + 1) * queries * keys);
}

/** @param {ViewTrace} trace @param {Kind} kind */
function axisNames(trace, kind) {
  const sentence = {
    src: labelsOf(trace.srcTokens),
    tgt: labelsOf(trace.tgtTokens),
    predicted: labelsOf(trace.predictedTokens),
  };
  const { rows, columns, writes } = axisLabels(sentence, kind);
  return { rows: pieceNames(rows), columns: pieceNames(columns), writes: writes && pieceNames(writes) };
}

// Two tables of one head with a common selected cell, which is in the address.
function makePair(context, change) {
  const node = el("div");
  const view = contributionsView(node, ({ row, column }) => {
    change({ row: row < 0 ? null : String(row), column: column < 0 ? null : String(column) });
  });

  /** @param {ViewTrace} trace @param {OneHead} head @param {any[]} quantities @param {string[]} shown */
  function draw(trace, head, quantities, shown) {
    const { rows, columns, writes } = axisNames(trace, head.kind);
    const header = {
      id: JSON.stringify([context.model, trace.source, trace.ids, head]),
      kind: head.kind,
      rows,
      columns,
      writes,
      languages: context.modelInfo.languages,
      shown,
      cell: cellIn(context.params(), rows.length, columns.length),
      quantities: quantities.map(({ name, label, title, unit, signed = false, max, values }) => ({
        name,
        label,
        title,
        unit,
        signed,
        max_abs: max ?? values.reduce((greatest, value) => Math.max(greatest, Math.abs(value)), 0),
      })),
    };
    const shape = [rows.length, columns.length];
    const parts = new Map();
    for (const { name, values } of quantities) parts.set(name, { shape, values: Float32Array.from(values) });
    view.show({ header, parts });
  }
  return { node, draw };
}

/** @param {URLSearchParams} params @returns {[number, number] | null} */
function cellIn(params, rows, columns) {
  const [row, column] = ["row", "column"].map((name) => Number(params.get(name) ?? -1));
  return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
}

function makeHeadPickers(choose, open) {
  const [kind, layer, head] = ["Attention", "Layer", "Head"].map((label) => [label, el("select")]);
  const selects = [kind, layer, head].map(([, select]) => select);
  const node = el(
    "div",
    { class: "hu-line" },
    ...[kind, layer, head].map(([label, select]) => el("label", { class: "hu-live-check" }, `${label} `, select)),
    button("Open this head", open),
  );
  const setOptions = (select, entries) => {
    if (select.options.length !== entries.length) {
      select.replaceChildren(...entries.map(([value, label]) => el("option", { value }, label)));
    }
  };

  /** @param {OneHead} chosen @param {ViewTrace} trace */
  function draw(chosen, trace) {
    setOptions(selects[0], Object.entries(KINDS));
    setOptions(selects[1], indices(trace.depths[chosen.kind]).map((i) => [i, displayNumber(i)]));
    setOptions(selects[2], indices(trace.n_heads).map((i) => [i, displayNumber(i)]));
    [selects[0].value, selects[1].value, selects[2].value] = Object.values(headFields(chosen));
  }
  for (const select of selects) {
    select.addEventListener(
      "change",
      () => choose({ kind: selects[0].value, layer: Number(selects[1].value), head: Number(selects[2].value) }),
    );
  }
  return { node, draw };
}

// A row of the head with other weights: the keys that get weight, and how much.
function makeRowEditor(context, change) {
  const query = el("select");
  const keys = el("div", { class: "hu-row-weights" });
  const note = el("p", { class: "hu-live-note" });
  const undo = button("Undo this edit", () => change({ edited_row: null }), { hidden: "" });
  const node = el(
    "details",
    {},
    el("summary", {}, "Edit a row of weights"),
    el("label", { class: "hu-live-field" }, el("span", { class: "hu-label" }, "Row (query)"), query),
    note,
    keys,
    undo,
  );
  /** @type {OneHead | null} */
  let shown = null;
  let drawnKeys = "";

  const editedRow = () => readRow(context.params().get("edited_row") ?? "");
  const isOfHead = (row) => row && shown && JSON.stringify(headFields(row.head)) === JSON.stringify(headFields(shown));

  /** @param {Changed} changed @param {OneHead} head */
  function draw({ original }, head) {
    shown = head;
    const edited = editedRow();
    if (edited) node.open = true;
    const own = isOfHead(edited) ? edited : null;
    const { rows, columns, writes } = axisNames(original, head.kind);
    query.replaceChildren(
      ...rows.map((name, i) =>
        el("option", { value: i, translate: "no" }, `${displayNumber(i)} ${name}${writes ? ` → ${writes[i]}` : ""}`)
      ),
    );
    const chosen = own?.query ?? Math.max(Number(context.params().get("row") ?? 0), 0);
    query.value = String(Math.min(chosen, rows.length - 1));
    note.textContent = edited && !own
      ? fill(EDITED_NOTE, { kind: KINDS[edited.head.kind], head: headName(edited.head) })
      : "";
    undo.hidden = !edited;
    drawKeys(
      columns.slice(0, head.kind === "decoder" ? Number(query.value) + 1 : undefined),
      own?.weights ?? new Map(),
    );
  }

  /** @param {string[]} names @param {Map<number, number>} weights */
  function drawKeys(names, weights) {
    if (drawnKeys !== names.join("\n")) {
      drawnKeys = names.join("\n");
      keys.replaceChildren(...names.map((name, key) => {
        const slider = el("input", { type: "range", min: 0, max: 100, value: 0 });
        slider.addEventListener("change", () => setWeight(key, Number(slider.value)));
        return el("label", {}, el("span", { translate: "no" }, `${displayNumber(key)} ${name}`), slider, el("output"));
      }));
    }
    [...keys.children].forEach((label, key) => {
      const weight = weights.get(key) ?? 0;
      label.querySelector("input").value = String(weight);
      label.querySelector("output").textContent = `${weight}`;
    });
  }

  function setWeight(key, weight) {
    const own = isOfHead(editedRow()) ? editedRow() : null;
    const weights = new Map(own?.weights);
    if (weight > 0) weights.set(key, weight);
    else weights.delete(key);
    const row = { head: shown, query: Number(query.value), weights };
    change({ edited_row: writeRow(row) || null, row: query.value });
  }
  query.addEventListener("change", () => change({ row: query.value, column: null, edited_row: null }));
  return { node, draw };
}

// Is attention an explanation? Weight, norm and the effect of blanking, of the selected cell or of all cells.
function makeCells(context, change) {
  const pair = makePair(context, change);
  const readout = el("p", { role: "status" });
  const ranks = el("p", { class: "hu-live-note" });
  const all = button("Blank all cells", blankAll);
  const save = button("These cells (.csv)", saveCells, { hidden: "" });
  const node = el(
    "section",
    {},
    el("h3", {}, "Is attention an explanation?"),
    el("p", { class: "hu-live-note" }, BLANKING),
    pair.node,
    readout,
    el("div", { class: "hu-line" }, all, save),
    ranks,
  );
  let key = ""; // the sentence and head of the effects
  /** @type {Map<number, number[][]>} by row: of each key, the change of every token's log-probability */
  let effects = new Map();
  /** @type {number[]} */
  let norms = [];
  /** @type {{ original: ViewTrace, head: OneHead } | null} */
  let shown = null;

  /** @param {Changed} changed @param {OneHead} head */
  function draw({ original }, head) {
    shown = { original, head };
    const newKey = JSON.stringify([context.model, original.source, original.ids, head]);
    if (newKey !== key) {
      [key, effects, norms] = [newKey, new Map(), []];
      readout.textContent = ranks.textContent = "";
    }
    const longest = Math.max(original.srcTokens.length, original.tgtTokens.length);
    all.disabled = longest > MAX_CELL_TOKENS;
    all.title = all.disabled ? `All cells can be blanked for up to ${MAX_CELL_TOKENS} tokens.` : "";
    const rows = rowCount();
    const cell = cellIn(context.params(), rows, weightsOfHead(original, head).length / rows);
    load(cell?.[0] ?? -1).then((isLoaded) => isLoaded && drawCells(cell));
  }

  const rowCount = () => shown.original.weights(shown.head.kind, shown.head.layer).shape[1];

  // The norms, and the effects of the cells of a row if it is one; false if something newer is shown by then.
  async function load(row) {
    if (norms.length && (row < 0 || effects.has(row))) return true;
    const requested = key;
    const answer = await context.ask("cells", {
      model: context.model,
      text: context.text,
      ...context.decoding(),
      head: shown.head,
      row,
    }).catch((error) => (readout.textContent = error.isLoadError ? "" : error.message, null));
    if (!answer || requested !== key) return false;
    norms = answer.norms;
    if (row >= 0) effects.set(row, answer.effects);
    return true;
  }

  async function blankAll() {
    const requested = key;
    all.disabled = true;
    for (let row = 0; row < rowCount(); row++) {
      ranks.textContent = `Blanked ${row} of ${rowCount()} rows …`;
      if (!await load(row) || requested !== key) break;
    }
    all.disabled = false;
    ranks.textContent = "";
    if (requested === key) drawCells(null);
  }

  function drawCells(cell) {
    const { original, head } = shown;
    const weights = weightsOfHead(original, head);
    const keys = weights.length / rowCount();
    const isComplete = effects.size === rowCount();
    const quantities = [
      { name: "weight", label: "weight", title: "Weight α", unit: "share of the row", values: weights, max: 1 },
      { name: "norm", label: "norm", title: "Norm ‖α·f(x)‖", unit: "length of the vector", values: norms },
    ];
    if (isComplete) {
      const values = new Float32Array(weights.length);
      for (const { row, column, effect } of allCells()) values[row * keys + column] = effect;
      quantities.push(
        /** @type {any} */ ({
          name: "effect",
          label: "change when blanked, nats",
          title: "Effect of blanking",
          unit: "nats of the translation's log-probability",
          values,
          signed: true,
        }),
      );
    }
    pair.draw(original, head, quantities, ["weight", quantities.at(-1).name]);
    if (cell && effects.has(cell[0])) readout.replaceChildren(...cellSentence(cell));
    save.hidden = !isComplete;
    if (isComplete) ranks.textContent = rankSentence(allCells());
  }

  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // Every cell whose row was blanked, with its three numbers.
  function allCells() {
    const weights = weightsOfHead(shown.original, shown.head);
    const keys = weights.length / rowCount();
    return [...effects].flatMap(([row, byKey]) =>
      byKey.map((byToken, column) => ({
        row,
        column,
        weight: weights[row * keys + column],
        norm: norms[row * keys + column],
        effect: sum(byToken),
      }))
    );
  }

  function cellSentence([row, column]) {
    const byToken = effects.get(row)[column];
    if (!byToken) return ["This cell is masked: the query cannot attend to later tokens."];
    const { rows, columns } = axisNames(shown.original, shown.head.kind);
    const { weight, norm, effect } = allCells().find((cell) => cell.row === row && cell.column === column);
    const most = byToken.reduce((best, value, i) => Math.abs(value) > Math.abs(byToken[best]) ? i : best, 0);
    const [source, target] = context.modelInfo.languages;
    const { kind } = shown.head;
    return fillNodes(CELL_SENTENCE, {
      row: wordsNode(rows[row], kind === "encoder" ? source : target),
      column: wordsNode(columns[column], kind === "decoder" ? target : source),
      weight: weight.toFixed(3),
      norm: norm.toFixed(3),
      effect: numberText(effect, 3),
      ratio: numberText(Math.exp(effect), 3),
      token: wordsNode(pieceNames(labelsOf(shown.original.predictedTokens))[most], target),
      most: numberText(byToken[most], 3),
    });
  }

  function rankSentence(cells) {
    const sizes = cells.map(({ effect }) => Math.abs(effect));
    const rank = (name) => {
      const correlation = rankCorrelation(cells.map((cell) => cell[name]), sizes);
      return Number.isNaN(correlation) ? "–" : correlation.toFixed(2).replace("-", "−");
    };
    return fill(RANK_SENTENCE, { count: String(cells.length), weight: rank("weight"), norm: rank("norm") });
  }

  function saveCells() {
    const { original, head: { kind, layer, head } } = shown;
    const columns = ["query", "key", "weight", "norm", "total"];
    const rows = allCells().map(({ row, column, weight, norm, effect }) => [row, column, weight, norm, effect]);
    const name = exportName("cells", context.model, original.source, kind, `L${layer + 1}`, `H${head + 1}`);
    download(csvOf({ columns, rows }), `${name}.csv`);
  }
  return { node, draw };
}
