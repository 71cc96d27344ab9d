// Drawing and export of the comparison of two sides.

import { el } from "../../common/base.js";
import { drawTable } from "../../common/cells.js";
import { divergingLevel, MIN_SCALE_END } from "./compare-tables.js";
import { makeBar, paintScale } from "../../common/legend.js";
import { hatchPath, LABEL_SIZE } from "../../common/token-labels.js";
import { maxOfRow, shade } from "../../common/matrix.js";
import { paintPixels } from "../../common/thumbnail.js";

/** @param {Pen} pen @param {any} layout @param {Matrix} m @param {Context} ctx @param {any} cell */
export function paintSide(pen, layout, m, { state, theme }, cell) {
  const rowMaxima = m.rows.map((_, r) => maxOfRow(m, r));
  const colour = (r, c) => shade(m.values[r * m.nColumns + c], state.scale, rowMaxima[r]);
  drawTable(pen, m, layout, theme, colour, { cell });
}

// The greatest difference in each row and in the table.
/** @param {Matrix} m */
function maxDifferences(m) {
  const rows = m.rows.map(() => MIN_SCALE_END);
  m.values.forEach((value, i) => {
    const row = Math.floor(i / m.nColumns);
    if (Math.abs(value) > rows[row]) rows[row] = Math.abs(value);
  });
  return { rows, table: rows.reduce((limit, value) => Math.max(limit, value), MIN_SCALE_END) };
}

/** @param {Pen} pen @param {any} layout @param {any} tables @param {Context} ctx @param {any} cell */
export function paintDifferences(pen, layout, { m, rows, columns }, { state, theme }, cell) {
  const maxima = maxDifferences(m);
  const colour = (r, c) =>
    divergingLevel(m.values[r * m.nColumns + c], state.scale, state.scale === "row" ? maxima.rows[r] : maxima.table);
  paintUnpaired(pen, layout, rows, columns, theme);
  drawTable(pen, m, layout, theme, colour, { ramp: theme.diverging, css: theme.divergingCss, cell });
}

// Rows and columns that only one side has are hatched, to distinguish them from a difference of zero.
/** @param {Pen} pen @param {Theme} theme */
function paintUnpaired(pen, layout, rows, columns, theme) {
  const isUnpaired = (pair) => pair.includes(null);
  if (![...rows, ...columns].some(isUnpaired)) return;
  const [width, height] = [layout.right - layout.left, layout.bottom - layout.top];
  pen.save();
  pen.beginPath();
  rows.forEach((pair, r) =>
    isUnpaired(pair) && pen.rect(layout.left, layout.top + r * layout.cellHeight, width, layout.cellHeight)
  );
  columns.forEach((pair, c) =>
    isUnpaired(pair) && pen.rect(layout.left + c * layout.cellWidth, layout.top, layout.cellWidth, height)
  );
  hatchPath(pen, layout.left, layout.top, width, height, theme.line);
  pen.restore();
}

// Draw a thumbnail of differences on its canvas.
/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} maxDifference @param {Theme} theme */
export function paintDifferenceThumb(canvas, values, height, width, maxDifference, theme) {
  paintPixels(canvas, Math.max(height, 1), Math.max(width, 1), (row, column) => {
    const level = divergingLevel(values[row * width + column] ?? NaN, "sqrt", maxDifference);
    return level < 0 ? 0 : theme.diverging[level];
  });
}

// Ticks of the difference scale: [position from 0 to 1, text].
function differenceTicks(scale, maxDifference) {
  const position = (share) =>
    0.5 + 0.5 * Math.sign(share) * (scale === "sqrt" ? Math.sqrt(Math.abs(share)) : Math.abs(share));
  const tickShare = scale === "sqrt" ? 0.25 : 0.5;
  const digits = maxDifference < 0.1 ? 3 : 2;
  const shares = [-1, -tickShare, 0, tickShare, 1];
  return shares.map((share) => {
    const size = Math.abs(share);
    const number = scale === "row" ? `${size} × max` : (size * maxDifference).toFixed(digits);
    return [
      position(share),
      share === 0 ? "0" : `${share < 0 ? "−" : "+"}${scale === "row" && size === 1 ? "max" : number}`,
    ];
  });
}

const UNPAIRED_NOTE = "Hatched rows and columns are tokens that only A or only B has; they cannot be compared.";

/** @param {Context} ctx @param {any} tables */
function differenceCaption({ state }, { m, rows, columns }) {
  const scale = {
    sqrt: "colour by square root",
    linear: "linear colour scale",
    row: "colour relative to the row maximum",
  }[state.scale];
  const hasUnpaired = [...rows, ...columns].some((pair) => pair.includes(null));
  const pairing = m.kind === "cross"
    ? ` Rows are paired by ${state.exact ? "the token read" : "the word written"}.`
    : "";
  const punctuationNote = state.exact ? "" : " Punctuation at the end of a word is ignored.";
  return `B − A: blue where B attends more, orange where A does; ${scale}.${pairing}${punctuationNote}${
    hasUnpaired ? ` ${UNPAIRED_NOTE}` : ""
  }`;
}

export function makeDifferenceLegend() {
  const bar = makeBar();
  const caption = el("span", {});
  const node = el("div", { class: "hu-legend" }, bar.node, caption);
  function draw(ctx, tables) {
    bar.draw(ctx.theme.diverging, differenceTicks(ctx.state.scale, maxDifferences(tables.m).table));
    caption.textContent = differenceCaption(ctx, tables);
  }
  return { node, draw };
}

// The three panels in a row, each with its heading, and the difference scale below the last.
/** @param {Context} ctx */
export function compareFigure(ctx, tables, panels) {
  const { theme, state } = ctx;
  const [headingHeight, gap, legendHeight] = [30, 28, 48].map((length) => length * theme.size);
  const figures = panels.map((panel) => panel.stage.figure());
  const starts = figures.map((_, i) => figures.slice(0, i).reduce((sum, { width }) => sum + width + gap, 0));
  const height = Math.max(...figures.map(({ height }) => height));
  return {
    title: `${ctx.title()}: A, B and B − A`,
    width: starts[2] + figures[2].width,
    height: headingHeight + height + legendHeight,
    paint: (pen) => {
      figures.forEach((figure, i) => {
        pen.save();
        pen.translate(starts[i], 0);
        pen.font = `600 ${LABEL_SIZE * theme.size}px ${theme.font}`;
        pen.textBaseline = "middle";
        pen.fillStyle = theme.text;
        pen.fillText(panels[i].heading.textContent, 0, 12 * theme.size);
        pen.translate(0, headingHeight);
        figure.paint(pen);
        pen.restore();
      });
      const ticks = differenceTicks(state.scale, maxDifferences(tables.m).table);
      paintScale(pen, theme, theme.divergingCss, ticks, starts[2] + 30, headingHeight + height + 12 * theme.size);
    },
  };
}

// A table of every cell that A or B has, with both weights.
/** @param {Context} ctx @param {any} tables */
export function compareTable(ctx, { m, inA, inB }) {
  const digits = m.top > 255 ? 4 : 2;
  const number = (value) => (Number.isNaN(value) ? "" : value.toFixed(digits));
  const tableRows = [];
  m.rows.forEach((row, r) =>
    m.columns.forEach((column, c) => {
      const index = r * m.nColumns + c;
      if (Number.isNaN(inA[index]) && Number.isNaN(inB[index])) return;
      const writes = row.written === null ? "" : row.written;
      tableRows.push([row.text, writes, column.text, number(inA[index]), number(inB[index]), number(m.values[index])]);
    })
  );
  return {
    caption: `${ctx.title()}: A and B`,
    columns: ["query", "writes", "key", "A", "B", "B − A"],
    rows: tableRows,
  };
}
