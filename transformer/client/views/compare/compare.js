// The Compare view: one head for two sentences, two checkpoints or a forced token, and the difference over the
// common tokens.

import { button, clampIndex, el } from "../../common/base.js";
import {
  cellNames,
  fullSpan,
  isSameCell,
  layoutCells,
  listenForCells,
  neighbourCell,
  showCellTooltip,
} from "../../common/cells.js";
import {
  compareFigure,
  compareTable,
  makeDifferenceLegend,
  paintDifferences,
  paintDifferenceThumb,
  paintSide,
} from "./compare-drawing.js";
import { commonDimensions, compareTables, headDifferences, piecePairs } from "./compare-tables.js";
import { makeLegend } from "../../common/legend.js";
import { makeChip } from "../../common/measures.js";
import { headGrid } from "../grids/all-heads.js";
import { sideGrid } from "../grids/grid-data.js";
import { headName, shortName } from "../../common/naming.js";
import { showWeight } from "../../common/numbers.js";
import { KINDS } from "../../common/head-codes.js";
import { makeStage } from "../../common/stage.js";

const LISTED_HEADS = 8; // number of listed heads
const MIN_SHOWN_DIFFERENCE = 0.00005; // smaller differences are shown as 0.0000
const NO_COMPARISON = "Choose something to compare with above: a second sentence, for example.";
const ALL_HIDDEN = "Nothing to compare: all tokens of one side are hidden.";

/** @param {Context} ctx @returns {View} */
function compareView(ctx) {
  let tables = null; // both tables and their difference; null if there is nothing to compare
  let cell = null; // selected by pointer or keyboard, in the combined table
  const statusLine = el("p", { class: "hu-waiting", role: "status" });
  const texts = el("div", { class: "hu-texts" });
  const list = el("div", { class: "hu-most" });
  const allHeads = el("div", { class: "hu-allheads" }, el("h3", {}, "B − A, all heads"));
  const selectHead = ({ layer, head }) => ctx.set({ layer, head });
  const grid = headGrid(allHeads, {
    role: "radio",
    help: "Choose a layer and a head to see its difference",
    onClick: selectHead,
    onMove: selectHead,
  });
  const panels = [0, 1, 2].map((panelIndex) => comparePanel(panelIndex));
  const panelRow = el("div", { class: "hu-panels" }, ...panels.map((panel) => panel.node));
  const legends = [makeLegend(), makeDifferenceLegend()];
  const legendRow = el("div", { class: "hu-legends" }, ...legends.map((legend) => legend.node));
  const overview = el(
    "div",
    { class: "hu-comparison" },
    allHeads,
    el("div", {}, texts, list),
  );
  const node = el("div", { class: "hu-compare" }, overview, statusLine, panelRow, legendRow);
  const cachedDifferences = { key: "", value: null };

  // Differences of all heads of a kind, cached because they read every thumbnail.
  function differences() {
    const key = [...ctx.sides.map((side) => side.id), ctx.state.kind].join(" ");
    if (cachedDifferences.key !== key) {
      Object.assign(cachedDifferences, { key, value: headDifferences(ctx.sides, ctx.pairs, ctx.state.kind) });
    }
    return { ...cachedDifferences.value, key };
  }

  function draw() {
    const problem = compareProblem(ctx);
    tables = problem ? null : comparison(ctx);
    overview.hidden = Boolean(problem);
    statusLine.textContent = problem || (tables ? "" : ALL_HIDDEN);
    statusLine.hidden = Boolean(tables);
    for (const part of [panelRow, legendRow]) part.hidden = !tables;
    if (problem) return;
    drawTexts();
    drawHeads();
    if (!tables) return;
    if (cell && (cell.row >= tables.m.nRows || cell.column >= tables.m.nColumns)) cell = null;
    for (const panel of panels) panel.draw();
    legends[0].draw(ctx.theme, ctx.state.scale);
    legends[1].draw(ctx, tables);
  }

  function drawTexts() {
    texts.replaceChildren(...ctx.sides.map((side, sideIndex) =>
      el(
        "div",
        {},
        el("h3", {}, sideTitle(side, sideIndex)),
        el("p", { dir: "auto", translate: "no", lang: side.src.lang || null }, side.source),
        el("p", { class: "hu-muted", dir: "auto", translate: "no", lang: side.tgt.lang || null }, side.text),
      )
    ));
  }

  function drawHeads() {
    const { state, theme, sides } = ctx;
    const { heads, height, width, maxDifference, key } = differences();
    const { depths, n_heads } = commonDimensions(sides, state.kind);
    const differenceOf = ({ layer, head }) => heads[layer * n_heads + head];
    grid.show({
      ...sideGrid(sides[0], [state.kind]),
      depth: (kind) => depths[kind],
      n_heads,
      paint: (canvas, place) =>
        paintDifferenceThumb(canvas, differenceOf(place).picture, height, width, maxDifference, theme),
      pictures: key,
      describe: (place) => `differs by ${showMean(differenceOf(place).mean)}`,
      selected: state,
      theme,
    });
    drawList();
  }

  // Buttons for the heads that differ most; kept across redraws so that they keep the focus.
  function drawList() {
    const { state, theme } = ctx;
    const { heads, pooled, key } = differences();
    if (list.dataset.drawn !== `${key} ${theme.key}`) {
      list.dataset.drawn = `${key} ${theme.key}`;
      const differing = heads.filter(({ mean }) => mean > MIN_SHOWN_DIFFERENCE).sort((a, b) => b.mean - a.mean);
      const sourceNote = pooled ? " (from the thumbnails)" : "";
      list.replaceChildren(
        el(
          "p",
          {},
          `${differing.length} of ${heads.length} heads differ`,
          differing.length ? `. Largest mean differences over the cells that both have${sourceNote}:` : ".",
        ),
        el(
          "div",
          { class: "hu-line" },
          ...differing.slice(0, LISTED_HEADS).map((entry) => headButton(entry, entry.mean / differing[0].mean)),
        ),
      );
    }
    for (const listed of list.querySelectorAll("button")) {
      const chosen = state.combine === "one" && listed.dataset.head === `${state.layer}.${state.head}`;
      listed.setAttribute("aria-pressed", String(chosen));
    }
  }

  function headButton({ layer, head, mean }, share) {
    const content = [`${shortName({ layer, head })} `, makeChip(showMean(mean), share, ctx.theme)];
    return button(content, () => ctx.set({ layer, head, combine: "one" }), {
      "data-head": `${layer}.${head}`,
      "aria-label": `${headName({ layer, head })}, differs by ${showMean(mean)}`,
    });
  }

  // One of the three panels: A, B and B − A.
  function comparePanel(panelIndex) {
    const table = () => [tables.a, tables.b, tables.m][panelIndex];
    const cellInPanel = (common) => common && panelIndex < 2 ? ownCell(tables, common, panelIndex) : common;
    const stage = makeStage({
      plan: (pen, width) => layoutCells(table(), fullSpan(table()), pen, width, ctx.theme, false),
      paint: (pen, layout) =>
        panelIndex < 2
          ? paintSide(pen, layout, table(), ctx, cellInPanel(cell))
          : paintDifferences(pen, layout, tables, ctx, cell),
    });
    const heading = el("h3", {});
    function paint() {
      stage.draw(
        `${heading.textContent}: ${table().nRows} rows, ${table().nColumns} columns. Use the arrow keys to read the weights.`,
      );
    }
    function draw() {
      heading.textContent = panelIndex < 2 ? sideTitle(ctx.sides[panelIndex], panelIndex) : "B − A";
      paint();
      stage.showTooltip(null);
    }
    function selectCell(next) {
      if (!tables || isSameCell(next, cell)) return;
      cell = next;
      for (const panel of panels) {
        panel.paint();
        panel.stage.showTooltip(null);
      }
      const panelCell = cellInPanel(cell);
      if (panelCell) showCellTooltip(stage, panelCell, describeDifference(tables, cell));
    }

    const selectInPanel = (panelCell) =>
      selectCell(panelCell && panelIndex < 2 ? commonCell(tables, panelCell, panelIndex) : panelCell);
    listenForCells(stage, {
      hover: selectInPanel,
      move: (key) => tables && selectInPanel(neighbourCell(key, cellInPanel(cell), table())),
      deselect: () => selectCell(null),
    });
    stage.canvas.addEventListener("blur", () => selectCell(null));
    return { node: el("figure", { class: "hu-head" }, heading, stage.node), stage, draw, paint, heading };
  }

  return {
    node,
    draw,
    get kinds() {
      return ctx.sides.length > 1;
    },
    get options() {
      return ctx.sides.length > 1 ? ["special", "combine", "scale"] : [];
    },
    title: () => (ctx.sides.length > 1 ? ctx.title() : "Two sides, one head"),
    keys: [["arrow keys", "read the weights of both, cell by cell"], ["Esc", "deselect the cell"]],
    note: () => (compareProblem(ctx) ? "" : clampedNote(ctx)),
    figure: () => tables && compareFigure(ctx, tables, panels),
    get table() {
      return tables ? () => compareTable(ctx, tables) : undefined;
    },
  };
}

// The reason why nothing can be shown, or "".
/** @param {Context} ctx */
function compareProblem({ sides, pairs, state }) {
  if (sides.length < 2 || !pairs) return NO_COMPARISON;
  return sides[1].kinds.includes(state.kind) ? "" : `B has no weights of this kind (${KINDS[state.kind]}).`;
}

// Null if no token is left.
/** @param {Context} ctx */
function comparison(ctx) {
  const [a, b] = ctx.sides.map((side) => ctx.matrix(side));
  if ([a, b].some((table) => !table.nRows || !table.nColumns)) return null;
  return compareTables(
    a,
    b,
    piecePairs(ctx.sides, ctx.pairs, ctx.state.kind, Boolean(ctx.state.exact) || ctx.state.word_row === "input"),
  );
}

// Clip the selection to a model with fewer layers or heads.
/** @param {Context} ctx */
function clampedNote({ sides, state }) {
  const [, b] = sides;
  const [layer, head] = [clampIndex(state.layer, b.depths[state.kind]), clampIndex(state.head, b.n_heads)];
  if (layer === state.layer && head === state.head) return "";
  return `B has ${b.depths[state.kind]} layers of ${b.n_heads} heads; its ${headName({ layer, head })} is shown.`;
}

/** @param {Side} side */
const sideTitle = (side, sideIndex) => {
  const letter = "AB"[sideIndex];
  return side.name && side.name !== letter ? `${letter}: ${side.name}` : letter;
};

// With many cells, as in long sentences, the mean is small.
const showMean = (mean) => mean.toFixed(mean < 0.01 ? 4 : 3);

// Converts a cell of the combined table to one of a side's table, null if the side lacks it; `commonCell` converts back.
function ownCell({ rows, columns }, { row, column }, sideIndex) {
  const cell = { row: rows[row][sideIndex], column: columns[column][sideIndex] };
  return cell.row === null || cell.column === null ? null : cell;
}
const commonCell = ({ rows, columns }, cell, sideIndex) => ({
  row: rows.findIndex((pair) => pair[sideIndex] === cell.row),
  column: columns.findIndex((pair) => pair[sideIndex] === cell.column),
});

function describeDifference({ m, inA, inB }, { row, column }) {
  const index = row * m.nColumns + column;
  const sideTexts = [inA[index], inB[index]].map((weight, i) =>
    `${"AB"[i]} ${Number.isNaN(weight) ? "has no such cell" : showWeight(weight, m.top)}`
  );
  const masked = m.masked(row, column);
  return [
    el("strong", {}, masked ? "masked" : `B − A ${showDifference(m.values[index], m.top)}`),
    ...(masked ? [] : sideTexts.map((line) => el("span", {}, line))),
    ...cellNames(m, { row, column }),
  ];
}

// With its sign and the digits that packing preserves.
function showDifference(difference, top) {
  if (Number.isNaN(difference)) return "none";
  const digits = Math.abs(difference).toFixed(top > 255 ? 4 : 2);
  const sign = Number(digits) === 0 ? "" : difference > 0 ? "+" : "−";
  return `${top > 255 ? "" : "≈ "}${sign}${digits}`;
}

/** @type {Tab} */
export const compareTab = { label: "Compare", make: compareView };
