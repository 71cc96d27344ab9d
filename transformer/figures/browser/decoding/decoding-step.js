// One decoding step: its attention and its candidates, in one panel per translation, the original and the one
// with a forced token.

import { ARROWS, clampIndex, el, setIfChanged, tokenText } from "../common/base.js";
import { drawRowLabel, shorten } from "../common/token-labels.js";
import { shade } from "../common/matrix.js";
import { headName, pieceName, tokenName } from "../common/naming.js";
import { percentText, showWeight } from "../common/numbers.js";
import { KINDS } from "../common/options.js";

// The candidates of a step, best first; a chosen token that is not among them comes last.
/** @param {Side} side @param {number} step */
export function candidatesOf(side, step) {
  const { candidates, chosen } = side.steps[step];
  const candidateList = candidates.map(([token, id, p]) => ({ token, id, p, isChosen: id === chosen[1] }));
  if (!candidateList.some(({ isChosen }) => isChosen)) {
    candidateList.push({ token: chosen[0], id: chosen[1], p: chosen[2], isChosen: true });
  }
  return candidateList.map((candidate) => ({ ...candidate, token: pieceName(candidate.token) }));
}

const ROW_NAMES = {
  decoder: "Decoder self-attention: over the tokens written so far",
  cross: "Cross-attention: over the source",
  encoder: "Encoder self-attention: of the source token with the greatest weight",
};

// The head shown of each kind: the selected head of the selected kind, the clearest of the others.
/** @param {Context} ctx @param {Kind} kind @returns {Head} */
export function stepHead({ side, state }, kind) {
  if (kind === state.kind) return { layer: state.layer, head: state.head };
  const [layer, head] = side.clearest[kind];
  return { layer, head };
}

// The rows of attention of a step, each of its own head: { kind, row, visibleKeys, weights, top, tokens, layer,
// head }. `visibleKeys` is the number of keys that the row may attend to; `weights` is null while loading. The last
// row is that of the source token with the greatest weight.
/** @param {Context} ctx @param {Side} side @param {number} step */
export function rowsOf(ctx, side, step) {
  let strongestSource = null;
  /** @type {Kind[]} */
  const kinds = ["decoder", "cross", "encoder"];
  return kinds.filter((kind) => side.kinds.includes(kind)).map((kind) => {
    const { layer, head } = stepHead(ctx, kind);
    const headWeights = layer < side.depths[kind] && head < side.n_heads ? side.weights(kind, layer, head) : null;
    const { names: tokens } = side.labels(kind).columns;
    const row = kind === "encoder" ? strongestSource : step;
    const weightRow = {
      kind,
      layer,
      head,
      row,
      tokens,
      visibleKeys: kind === "decoder" ? step + 1 : tokens.length,
      weights: null,
      top: 0,
    };
    if (headWeights && row !== null) {
      weightRow.weights = headWeights.values.subarray(row * tokens.length, (row + 1) * tokens.length);
      weightRow.top = headWeights.top;
      if (kind === "cross") strongestSource = weightRow.weights.indexOf(Math.max(...weightRow.weights));
    }
    return weightRow;
  });
}

// `force(step, id)` is called for "choose this instead"; null where no new translation is possible.
/** @param {Context} ctx */
export function makeStepPanel(ctx, force) {
  const name = el("h3", { class: "hu-panelname" });
  const list = el("div", { class: "hu-candidates" });
  const rows = new Map();
  const attention = el("div", { class: "hu-rows" });
  const ended = el("p", { class: "hu-label" }, "This translation ended before this step.");
  const heading = el("h3", {});
  const node = el("section", { class: "hu-panel" }, name, ended, heading, list, attention);

  // `note` names the translation; `forced` is whether the token of this step was forced.
  function draw(side, step, note, forced) {
    name.textContent = note;
    name.hidden = !note;
    heading.textContent = force && !note
      ? "Next-token candidates: click one to continue from it"
      : "Next-token candidates";
    const hasEnded = step >= side.steps.length;
    ended.hidden = !hasEnded;
    heading.hidden = list.hidden = attention.hidden = hasEnded;
    if (hasEnded) return;
    fillCandidates(side, step, forced);
    const weightRows = rowsOf(ctx, side, step);
    attention.replaceChildren(...weightRows.map((row) => {
      if (!rows.has(row.kind)) rows.set(row.kind, makeWeightRow(ctx, row.kind));
      rows.get(row.kind).draw(side, row);
      return rows.get(row.kind).node;
    }));
  }

  function fillCandidates(side, step, forced) {
    const focused = [...list.children].indexOf(list.getRootNode().activeElement);
    list.replaceChildren(
      ...candidatesOf(side, step).map((candidate) =>
        candidateRow(candidate, forced, force && (() => force(step, candidate.id)))
      ),
    );
    if (focused >= 0) list.children[Math.min(focused, list.children.length - 1)].focus();
  }

  return { node, draw };
}

function candidateRow({ token, id, p, isChosen }, forced, chooseToken) {
  const share = el("span", { class: "hu-share" });
  share.style.width = `${100 * Math.min(p, 1)}%`;
  const note = isChosen ? (forced ? "yours" : "chosen") : chooseToken ? "choose this instead" : "";
  const row = el(
    chooseToken && !isChosen ? "button" : "div",
    {
      class: isChosen ? "hu-candidate hu-chosen" : "hu-candidate",
      "data-id": id,
      title: chooseToken || isChosen ? null : "To continue from this token, open this sentence in the app.",
    },
    el("span", { class: "hu-name" }, tokenText(token)),
    el("span", { class: "hu-track" }, share),
    el("span", { class: "hu-number" }, percentText(p)),
    el("span", { class: "hu-candidate-note" }, note),
  );
  if (chooseToken && !isChosen) {
    row.type = "button";
    row.addEventListener("click", chooseToken);
  } else {
    row.tabIndex = -1; // keeps the focus when its last button disappears
  }
  return row;
}

// One row of attention: each key coloured by its weight, with the number if there is space.
/** @param {Context} ctx @param {Kind} kind */
function makeWeightRow(ctx, kind) {
  const title = el("h3", {});
  const readout = el("span", { class: "hu-read", role: "status" });
  const openButton = el("button", { type: "button", class: "hu-link" }, "open in the heatmap");
  const cells = el("div", { class: "hu-weights", role: "group" });
  const loading = el("p", { class: "hu-label" }, "loading …");
  const node = el(
    "div",
    { class: "hu-weightrow" },
    el("div", { class: "hu-rowhead" }, title, readout, openButton),
    loading,
    cells,
  );
  let builtSideId = "";
  let drawnRow = null;
  let cellParts = []; // [cell, block, number] of each key
  openButton.addEventListener(
    "click",
    () =>
      ctx.set({
        view: "heatmap",
        kind,
        special: "shown",
        combine: "one",
        layer: drawnRow.layer,
        head: drawnRow.head,
        row: drawnRow.row,
        column: strongestOf(drawnRow),
      }),
  );

  function draw(side, row) {
    drawnRow = row;
    loading.hidden = Boolean(row.weights);
    cells.hidden = openButton.hidden = !row.weights;
    title.replaceChildren(
      ROW_NAMES[kind],
      ...(kind === "encoder" && row.row !== null ? [", “", tokenText(side.src.names[row.row]), "”"] : []),
      el("span", { class: "hu-row-head" }, ` · ${headName(row)}`),
    );
    if (!row.weights) return;
    if (builtSideId !== side.id) build(row.tokens);
    builtSideId = side.id;
    cells.setAttribute("aria-label", ROW_NAMES[kind]);
    openButton.setAttribute("aria-label", `${KINDS[kind]} in the heatmap`);
    const [maxWeight, best] = [Math.max(...row.weights.subarray(0, row.visibleKeys)), strongestOf(row)];
    const focused = cells.getRootNode().activeElement;
    const focusedIndex = cells.contains(focused) ? cellParts.findIndex(([cell]) => cell === focused) : -1;
    // A long row has many cells, so only changes are written.
    cellParts.forEach(([cell, block, number], j) => {
      cell.hidden = j >= row.visibleKeys;
      if (cell.hidden) return;
      const weight = row.weights[j];
      setIfChanged(cell, "tabindex", j === (focusedIndex >= 0 ? focusedIndex : best) ? "0" : "-1");
      setIfChanged(cell, "class", j === best ? "hu-weight hu-most" : "hu-weight");
      setIfChanged(cell, "aria-label", `${tokenName(row.tokens[j])}: ${showWeight(weight, row.top)}`);
      setIfChanged(block, "style", `background: ${ctx.theme.css(shade(weight, ctx.state.scale, maxWeight))}`);
      const weightText = weight >= 0.005 ? weight.toFixed(2) : "";
      if (number.textContent !== weightText) number.textContent = weightText;
    });
    showReadout(focusedIndex >= 0 ? focusedIndex : -1);
  }

  function build(tokens) {
    cellParts = tokens.map((token, j) => {
      const [block, number] = [el("span", { class: "hu-block" }), el("span", { class: "hu-number" })];
      const cell = el(
        "div",
        { class: "hu-weight", role: "img" },
        el("span", { class: "hu-name" }, tokenText(token)),
        block,
        number,
      );
      cell.addEventListener("pointerenter", () => showReadout(j));
      cell.addEventListener("focus", () => showReadout(j));
      return [cell, block, number];
    });
    cells.replaceChildren(...cellParts.map(([cell]) => cell));
  }
  const showReadout = (j) =>
    readout.replaceChildren(
      ...(j < 0 || j >= drawnRow.visibleKeys
        ? []
        : [tokenText(drawnRow.tokens[j]), ` ${showWeight(drawnRow.weights[j], drawnRow.top)}`]),
    );
  cells.addEventListener("pointerleave", () => showReadout(-1));
  cells.addEventListener("focusout", () => showReadout(-1));
  cells.addEventListener("keydown", (event) => {
    const index = [...cells.children].indexOf(event.target);
    const step = event.key in ARROWS ? ARROWS[event.key][0] : 0;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    event.target.tabIndex = -1;
    const next = cells.children[clampIndex(index + step, drawnRow.visibleKeys)];
    next.tabIndex = 0;
    next.focus();
  });

  return { node, draw };
}

const strongestOf = ({ weights, visibleKeys }) => {
  const visibleWeights = weights.subarray(0, visibleKeys);
  return visibleWeights.indexOf(Math.max(...visibleWeights));
};

// The step for exported pictures: blocks { height, paint } drawn below each other.
/** @param {Context} ctx @param {Side} side @param {number} step @param {number} width */
export function stepBlocks(ctx, side, step, note, width) {
  if (step >= side.steps.length) return [];
  const { theme } = ctx;
  const line = (text, strong) => ({
    height: 24,
    paint: (pen) => {
      pen.textBaseline = "middle";
      pen.font = `${strong ? 600 : 400} 13px ${theme.font}`;
      pen.fillStyle = strong ? theme.text : theme.muted;
      pen.fillText(shorten(pen, text, width), 0, 12);
    },
  });
  const bars = candidatesOf(side, step).map(({ token, p, isChosen }) => ({
    height: 22,
    paint: (pen) => {
      pen.textBaseline = "middle";
      pen.font = `${isChosen ? 600 : 400} 13px ${theme.font}`;
      drawRowLabel(pen, [token], 110, 11, 104, theme, isChosen);
      pen.fillStyle = theme.soft;
      pen.fillRect(118, 4, width - 200, 14);
      pen.fillStyle = isChosen ? theme.choice : theme.accent;
      pen.fillRect(118, 4, (width - 200) * Math.min(p, 1), 14);
      pen.fillStyle = theme.text;
      pen.fillText(percentText(p), width - 74, 11);
    },
  }));
  const rows = rowsOf(ctx, side, step).filter(({ weights }) => weights).flatMap((row) => [
    line(`${ROW_NAMES[row.kind]}${row.kind === "encoder" ? `, “${side.src.names[row.row]}”` : ""} · ${headName(row)}`),
    weightBlock(ctx, row, width),
  ]);
  return [line(note, true), ...bars, ...rows];
}

/** @param {Context} ctx @param {number} width */
function weightBlock(ctx, row, width) {
  const { theme, state } = ctx;
  const perLine = Math.max(Math.floor(width / 62), 1);
  const maxWeight = Math.max(...row.weights.subarray(0, row.visibleKeys));
  const paint = (pen) => {
    pen.textBaseline = "middle";
    for (let j = 0; j < row.visibleKeys; j++) {
      pen.save();
      pen.translate((j % perLine) * 62, Math.floor(j / perLine) * 56);
      pen.font = `12px ${theme.font}`;
      drawRowLabel(pen, [row.tokens[j]], 58, 10, 58, theme, false);
      pen.fillStyle = theme.css(shade(row.weights[j], state.scale, maxWeight));
      pen.fillRect(0, 20, 58, 12);
      pen.fillStyle = theme.muted;
      pen.textAlign = "right";
      pen.fillText(row.weights[j].toFixed(2), 58, 41);
      pen.restore();
    }
  };
  return { height: Math.ceil(row.visibleKeys / perLine) * 56, paint };
}
