// The Model view: thumbnails of all heads of all kinds, optionally with a number below each and sorted by it. A
// click enlarges a head.

import { el } from "../../common/base.js";
import { makeBar, paintScale } from "../../common/legend.js";
import { LABEL_SIZE, SMALL_LABEL_SIZE } from "../../common/token-labels.js";
import {
  chipColours,
  codeOfMeasure,
  formatMeasure,
  formatOffset,
  hasMeasure,
  makeChip,
  MEASURES,
  measureTexts,
  scaleEnd,
  valueOf,
} from "../../common/measures.js";
import { allHeads } from "../../common/matrix.js";
import { headGrid } from "../grids/all-heads.js";
import { sideGrid } from "../grids/grid-data.js";
import { paintThumb } from "../../common/thumbnail.js";
import { displayNumber, headName, sentenceCase, shortName } from "../../common/naming.js";
import { KINDS } from "../../common/head-codes.js";

const PREVIEW_PIXELS = 168; // pixels of the preview next to a head

/** @param {Context} ctx @returns {View} */
function modelView(ctx) {
  const stage = el("div", { class: "hu-stage" });
  const grid = headGrid(stage, {
    role: "radio",
    heading: "h3",
    help: "Choose a layer and a head",
    hasTooltip: false,
    onMove: (head) => ctx.set(head),
    onClick: (head) => {
      preview(null);
      ctx.set(ctx.staysInView() ? head : { ...head, view: "heatmap" });
    },
    onPoint: preview,
  });
  const pictures = grid.node;
  const previewBox = el("div", { class: "hu-tip hu-preview", "aria-hidden": "true", hidden: "" }); // the buttons have the same text
  const bar = makeBar();
  const legendText = el("span", {});
  const legend = el("div", { class: "hu-legend" }, bar.node, legendText);
  stage.append(previewBox);
  const node = el("div", { class: "hu-model" }, stage, legend);

  function draw() {
    const { side, state, theme } = ctx;
    const scaleMax = scaleEnd(side, state.measure);
    const hasCaptions = side.kinds.some((kind) => hasMeasure(side, kind, state));
    grid.show({
      ...sideGrid(side, side.kinds),
      describe: ({ kind, layer, head }) => measureTexts(side, kind, layer, head).join(", "),
      caption: hasCaptions ? (head) => captionOf(head, scaleMax) : null,
      order: (kind) => sortedHeads(side, kind, state),
      selected: state,
      theme,
    });
    drawLegend(scaleMax);
  }

  function captionOf({ kind, layer, head }, scaleMax) {
    const { side, state, theme } = ctx;
    if (!hasMeasure(side, kind, state)) return null;
    const value = valueOf(side, kind, state.measure, layer, head);
    const lines = [makeChip(formatMeasure(value), value / scaleMax, theme)];
    const { offset } = MEASURES[state.measure];
    if (offset) lines.push(el("span", {}, formatOffset(valueOf(side, kind, offset, layer, head))));
    if (state.order === "measure") lines.unshift(el("span", { class: "hu-head-name" }, shortName({ layer, head })));
    const fragment = document.createDocumentFragment();
    fragment.append(...lines);
    return fragment;
  }

  function drawLegend(scaleMax) {
    const { side, state, theme } = ctx;
    const measure = MEASURES[state.measure];
    bar.node.hidden = !measure;
    if (!measure) {
      legendText.textContent =
        "All heads of the model for this sentence: one row per query, one column per key, darker for more attention.";
      return;
    }
    bar.draw(theme.ramp, measureTicks(scaleMax));
    const values = side.kinds.filter((kind) => hasMeasure(side, kind, state))
      .flatMap((kind) => side.measures[kind][state.measure].flat());
    const range = `${formatMeasure(Math.min(...values))} to ${formatMeasure(Math.max(...values))} ${
      measure.unit || "(share)"
    }`;
    const nameNote = state.order === "measure" ? " “L3·H2” is layer 3, head 2." : "";
    legendText.replaceChildren(el("strong", {}, `${measure.label}, here ${range}. `), measure.note + nameNote);
  }

  // Show the head under the pointer or with the focus next to its button; null hides the preview.
  function preview(place, button = null) {
    previewBox.hidden = !place;
    if (!place) return;
    const { kind, layer, head } = place;
    const { side, theme } = ctx;
    previewBox.replaceChildren(
      previewPicture(side.thumb(kind, layer, head), kind, theme),
      el("strong", {}, sentenceCase(headName({ layer, head }))),
      ...measureTexts(side, kind, layer, head).map((line) => el("span", {}, line)),
    );
    placeNextTo(previewBox, button.getBoundingClientRect(), pictures.getBoundingClientRect());
  }
  pictures.addEventListener("keydown", (event) => event.key === "Escape" && preview(null));

  return {
    node,
    draw,
    kinds: false,
    get options() {
      return ctx.state.measure === "none" ? ["measure"] : ["measure", "order"];
    },
    keys: [["arrow keys", "move between heads"], ["Enter", "enlarge the head"], [
      "Tab",
      "move to the next kind of attention",
    ]],
    title: () => `All ${ctx.side.kinds.reduce((sum, kind) => sum + ctx.side.depths[kind] * ctx.side.n_heads, 0)} heads`,
    code: () => codeOfMeasure(ctx.state.measure),
    note: () => "",
    figure: () => modelFigure(ctx),
    table: () => modelTable(ctx),
  };
}

/** @param {Thumb} thumb @param {Kind} kind @param {Theme} theme */
function previewPicture(thumb, kind, theme) {
  const canvas = el("canvas");
  paintThumb(canvas, thumb, kind === "decoder", theme.ramp);
  const maxSide = Math.max(thumb.width, thumb.height);
  canvas.style.width = `${(PREVIEW_PIXELS * thumb.width) / maxSide}px`;
  canvas.style.height = `${(PREVIEW_PIXELS * thumb.height) / maxSide}px`;
  return canvas;
}

// Place a node at the right or left of a box in an area, without covering the neighbours above and below.
function placeNextTo(node, box, area) {
  const fitsRight = box.right + 12 + node.offsetWidth <= area.right;
  const left = fitsRight ? box.right - area.left + 12 : box.left - area.left - 12 - node.offsetWidth;
  const top = box.top - area.top + box.height / 2 - node.offsetHeight / 2;
  node.style.left = `${Math.min(Math.max(left, 0), Math.max(area.width - node.offsetWidth, 0))}px`;
  node.style.top = `${Math.min(Math.max(top, 0), Math.max(area.height - node.offsetHeight, 0))}px`;
}

// The heads of a kind sorted by the measure, greatest first; null for the order of layers.
/** @param {Side} side @param {Kind} kind @param {State} state */
function sortedHeads(side, kind, state) {
  if (state.order !== "measure" || !hasMeasure(side, kind, state)) return null;
  const measureOf = ({ layer, head }) => valueOf(side, kind, state.measure, layer, head);
  return allHeads(side, kind).sort((a, b) => measureOf(b) - measureOf(a));
}

// Ticks of the scale: [position from 0 to 1, text].
const measureTicks = (scaleMax) => [[0, "0"], [0.5, formatMeasure(scaleMax / 2)], [1, formatMeasure(scaleMax)]];

// The thumbnails as on screen, each kind with its name above, for export.
const EXPORT_LAYOUT = { side: 48, gap: 6, label: 22, kindGap: 36, line: 14 };

/** @param {Context} ctx */
function modelFigure(ctx) {
  const { side, state, theme } = ctx;
  const { side: cell, gap, label, kindGap, line } = EXPORT_LAYOUT;
  const measure = MEASURES[state.measure];
  const linesBelow = 1 + Number(Boolean(measure?.offset)) + Number(state.order === "measure");
  const lines = (kind) => hasMeasure(side, kind, state) ? linesBelow : 0;
  const gridWidth = label + side.n_heads * (cell + gap);
  const gridHeight = Math.max(...side.kinds.map((kind) => side.depths[kind] * (cell + gap + line * lines(kind))));
  return {
    title: measure ? `All heads: ${measure.label} (${measure.unit || "share"})` : "All heads",
    width: theme.size * (side.kinds.length * (gridWidth + kindGap) - kindGap),
    height: theme.size * (44 + gridHeight + (measure ? 40 : 0)),
    paint: (pen) => {
      side.kinds.forEach((kind, i) => {
        pen.save();
        pen.scale(theme.size, theme.size);
        pen.translate(i * (gridWidth + kindGap), 0);
        paintKind(pen, ctx, kind, cell + gap + line * lines(kind));
        pen.restore();
      });
      const ticks = measureTicks(scaleEnd(side, state.measure));
      if (measure) paintScale(pen, theme, theme.css, ticks, theme.size * label, theme.size * (52 + gridHeight));
    },
  };
}

/** @param {Pen} pen @param {Context} ctx @param {Kind} kind @param {number} step */
function paintKind(pen, ctx, kind, step) {
  const { side, state, theme } = ctx;
  const { side: cell, gap, label } = EXPORT_LAYOUT;
  const order = sortedHeads(side, kind, state);
  const write = (text, x, y, colour = theme.muted) => {
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  };
  pen.textBaseline = "middle";
  pen.font = `600 ${LABEL_SIZE}px ${theme.font}`;
  write(KINDS[kind], label, 10, theme.text);
  pen.font = `${SMALL_LABEL_SIZE}px ${theme.font}`;
  pen.textAlign = "center";
  if (!order) {
    for (let head = 0; head < side.n_heads; head++) {
      write(displayNumber(head), label + head * (cell + gap) + cell / 2, 30);
    }
    for (let layer = 0; layer < side.depths[kind]; layer++) {
      write(displayNumber(layer), 8, 42 + layer * step + cell / 2);
    }
  }
  pen.imageSmoothingEnabled = false;
  (order || allHeads(side, kind)).forEach(({ layer, head }, i) => {
    const [x, y] = [label + (i % side.n_heads) * (cell + gap), 42 + Math.floor(i / side.n_heads) * step];
    const canvas = el("canvas");
    paintThumb(canvas, side.thumb(kind, layer, head), kind === "decoder", theme.ramp);
    pen.drawImage(canvas, x, y, cell, cell);
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.strokeRect(x, y, cell, cell);
    if (hasMeasure(side, kind, state)) paintMeasure(pen, ctx, { kind, layer, head }, x, y + cell);
  });
  pen.textAlign = "left";
}

/** @param {Pen} pen @param {Context} ctx @param {any} head @param {number} x @param {number} y */
function paintMeasure(pen, { side, state, theme }, { kind, layer, head }, x, y) {
  const { side: cell, line } = EXPORT_LAYOUT;
  const value = valueOf(side, kind, state.measure, layer, head);
  const [chipColour, textColour] = chipColours(value / scaleEnd(side, state.measure), theme);
  const name = state.order === "measure" ? [[shortName({ layer, head }), theme.text, null]] : [];
  const { offset: offsetName } = MEASURES[state.measure];
  const offset = offsetName ? [[formatOffset(valueOf(side, kind, offsetName, layer, head)), theme.muted, null]] : [];
  [...name, [formatMeasure(value), textColour, chipColour], ...offset].forEach(([text, colour, background], i) => {
    const middle = y + line * (i + 0.5);
    if (background) {
      pen.fillStyle = background;
      pen.fillRect(x, middle - line / 2, cell, line);
    }
    pen.fillStyle = colour;
    pen.fillText(text, x + cell / 2, middle + 0.5);
  });
}

/** @param {Context} ctx */
function modelTable({ side, state }) {
  const entries = Object.entries(MEASURES);
  const names = entries.flatMap(([name, { offset }]) => (offset ? [offset, name] : [name]));
  const units = Object.fromEntries(entries.map(([name, { unit }]) => [name, unit && ` (${unit})`]));
  const rows = side.kinds.flatMap((kind) =>
    (sortedHeads(side, kind, state) || allHeads(side, kind)).map(({ layer, head }) => [
      kind,
      layer,
      head,
      ...names.map((name) => (name in side.measures[kind] ? valueOf(side, kind, name, layer, head) : "")),
    ])
  );
  const columns = ["kind", "layer", "head", ...names.map((name) => `${name}${units[name] ?? ""}`)];
  return { caption: "What each head does", columns, rows };
}

/** @type {Tab} */
export const modelTab = { label: "Model", make: modelView };
