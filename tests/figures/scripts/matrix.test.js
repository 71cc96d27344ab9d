// The table and the lines drawn from the weights of heads, compared with independent sums.

import assert from "node:assert/strict";
import { test } from "node:test";

import { weightsFromQueries, weightsToKeys } from "../../../transformer/client/views/heads/heads-chips.js";
import { hasUnevenSums, layoutCells } from "../../../transformer/client/common/cells.js";
import { spanOf } from "../../../transformer/client/views/explorer/heatmap.js";
import {
  headStyles,
  layoutLines,
  lineExponent,
  strongestLines,
  tokenAt,
} from "../../../transformer/client/views/heads/heads-lines.js";
import {
  combinedHeads,
  matrixOf,
  maxOfRow,
  parseHeads,
  shade,
  writeHeads,
} from "../../../transformer/client/common/matrix.js";
import { near, random, side, STATE } from "./fixtures.js";

const SIDE = side();
const weightAt = (kind, layer, head, r, c) => SIDE.weights(kind, layer, head).values[4 * r + c];

test("heads are written and parsed; those that the model lacks are ignored", () => {
  const all = combinedHeads(SIDE, { ...STATE, combine: "mean", layer: 1 });
  assert.equal(writeHeads(all), "1.0,1.1,1.2");
  assert.deepEqual(parseHeads(writeHeads(all), SIDE, "cross"), all);
  assert.deepEqual(parseHeads("9.0,0.2,1.7,", SIDE, "cross"), [{ layer: 0, head: 2 }]);
  assert.deepEqual(combinedHeads(SIDE, { ...STATE, combine: "max", heads: "1.2" }), [{ layer: 1, head: 2 }]);
});

test("several heads are combined by mean or maximum", () => {
  const mean = matrixOf(SIDE, { ...STATE, combine: "mean" });
  const max = matrixOf(SIDE, { ...STATE, combine: "max" });
  for (let r = 0; r < 4; r++) {
    for (let c = 0; c < 4; c++) {
      const heads = [0, 1, 2].map((head) => weightAt("cross", 0, head, r, c));
      assert.ok(near(mean.values[4 * r + c], (heads[0] + heads[1] + heads[2]) / 3));
      assert.equal(max.values[4 * r + c], Math.max(...heads));
    }
    assert.equal(maxOfRow(max, r), Math.max(...max.values.subarray(4 * r, 4 * r + 4)));
  }
});

test("a word's column sums its pieces, and its row is their mean", () => {
  for (
    const [kind, rows] of [["encoder", [[0], [1, 2], [3]]], ["cross", [[0], [1, 2], [3]]], ["decoder", [[0], [1], [
      2,
      3,
    ]]]]
  ) {
    const m = matrixOf(SIDE, { ...STATE, kind, exact: 0, layer: 1, head: 2 });
    const columns = kind === "decoder" ? [[0], [1], [2, 3]] : [[0], [1, 2], [3]];
    assert.deepEqual(m.rows.map(({ members }) => members), rows);
    rows.forEach((row, r) =>
      columns.forEach((column, c) => {
        const sum = row.flatMap((i) => column.map((j) => weightAt(kind, 1, 2, i, j))).reduce((a, b) => a + b);
        assert.ok(near(m.values[r * columns.length + c], sum / row.length));
      })
    );
    // Rows still sum to 1.
    rows.forEach((_, r) => assert.ok(near(m.values.subarray(3 * r, 3 * r + 3).reduce((a, b) => a + b), 1)));
  }
});

test("pinned tokens have the mean weights of their rows, and the sums of their columns", () => {
  const m = matrixOf(SIDE, { ...STATE, layer: 1, head: 2 });
  const at = (r, c) => weightAt("cross", 1, 2, r, c);
  weightsToKeys(m, [1, 3]).forEach((weight, c) => assert.ok(near(weight, (at(1, c) + at(3, c)) / 2)));
  weightsFromQueries(m, [0, 2]).forEach((weight, r) => assert.ok(near(weight, at(r, 0) + at(r, 2))));
});

test("a row of cross-attention is labelled by the output or the input word", () => {
  const [output, input] = ["output", "input"].map((row) =>
    matrixOf(SIDE, { ...STATE, kind: "cross", exact: 0, word_row: row })
  );
  const { rows, writes } = SIDE.labels("cross");
  assert.deepEqual(output.rows.map(({ text }) => text), writes.word_labels);
  assert.deepEqual(input.rows.map(({ text }) => text), rows.word_labels);
  // The same rows, grouped differently.
  assert.deepEqual(input.rows.flatMap(({ members }) => members), output.rows.flatMap(({ members }) => members));
  const exact = ["output", "input"].map((row) => matrixOf(SIDE, { ...STATE, kind: "cross", exact: 1, word_row: row }));
  assert.deepEqual(exact[0].rows, exact[1].rows); // a piece's row is labelled with both
});

test("hidden tokens are removed, and rows can be renormalised to sum to 1", () => {
  const hidden = matrixOf(SIDE, { ...STATE, kind: "encoder", special: "hidden" });
  assert.deepEqual(hidden.columns.map(({ text }) => text), ["▁the", "▁ca", "ts"]);
  const renormalised = matrixOf(SIDE, { ...STATE, kind: "encoder", special: "hidden", renormalise: 1 });
  for (let r = 0; r < 3; r++) {
    const [partial, whole] = [hidden, renormalised].map(({ values }) => values.subarray(3 * r, 3 * r + 3));
    const sum = partial.reduce((a, b) => a + b);
    assert.ok(sum < 1);
    whole.forEach((weight, c) => assert.ok(near(weight, partial[c] / sum)));
  }
  const dimmed = matrixOf(SIDE, { ...STATE, kind: "encoder", special: "dimmed" });
  assert.deepEqual(dimmed.columns.map(({ dim }) => dim), [false, false, false, true]);
});

test("the decoder is masked, and its rows name the token written next", () => {
  const m = matrixOf(SIDE, { ...STATE, kind: "decoder" });
  for (let r = 0; r < 4; r++) for (let c = 0; c < 4; c++) assert.equal(m.masked(r, c), c > r);
  assert.deepEqual(m.rows.map(({ written }) => written), ["▁les", "▁chat", "s", "</s>"]);
});

test("a colour scale rises from 0 to 255 monotonically", () => {
  for (const scale of ["sqrt", "linear", "row"]) {
    const levels = Array.from({ length: 101 }, (_, i) => shade(i / 100, scale, 1));
    assert.deepEqual([levels[0], levels[100]], [0, 255]);
    assert.ok(levels.every((level, i) => !i || level >= levels[i - 1]));
  }
  assert.equal(shade(0.25, "sqrt", 1), Math.round(255 / 2));
  assert.equal(shade(0.25, "row", 0.5), Math.round(255 / 2));
  assert.equal(shade(0, "row", 0), 0);
});

test("the strongest lines equal those of a full sort", () => {
  const draw = random(5);
  for (const limit of [1, 7, 40, 1000]) {
    const ms = [0, 1].map(() => ({
      nColumns: 6,
      values: Float32Array.from({ length: 36 }, () => (draw() < 0.2 ? 0 : draw() ** 4)),
    }));
    const all = ms.flatMap(({ values }) => [...values]).filter((weight) => weight > 0).sort((a, b) => b - a);
    const { lines, omitted, maxOmitted } = strongestLines(ms, limit);
    assert.deepEqual(lines.map(({ weight }) => weight).reverse(), all.slice(0, limit));
    assert.equal(omitted, Math.max(all.length - limit, 0));
    assert.ok(lines.every(({ head, row, column, weight }) => ms[head].values[row * 6 + column] === weight));
    if (omitted) assert.ok(maxOmitted >= all[limit] && maxOmitted <= all[limit - 1]);
  }
});

test("the visible span is within the table and contains the pinned cell", () => {
  for (const [nRows, nColumns] of [[1, 1], [3, 9], [40, 17]]) {
    const [rows, columns] = [nRows, nColumns].map((count) =>
      Array.from({ length: count }, (_, i) => ({ members: [i] }))
    );
    for (let zoom = 0; zoom <= 6; zoom++) {
      for (const [row, column] of [[-1, -1], [0, 0], [nRows - 1, nColumns - 1], [nRows >> 1, nColumns >> 1]]) {
        const span = spanOf({ nRows, nColumns, rows, columns }, { zoom, row, column });
        assert.ok(span.row >= 0 && span.row + span.rows <= nRows);
        assert.ok(span.column >= 0 && span.column + span.columns <= nColumns);
        if (row >= 0) {
          assert.ok(
            row >= span.row && row < span.row + span.rows && column >= span.column &&
              column < span.column + span.columns,
          );
        }
        if (zoom === 0) assert.deepEqual([span.rows, span.columns], [nRows, nColumns]);
      }
    }
  }
});

test("a token is found only on its own side, and heads that share a colour have different dashes", () => {
  const layout = { top: 20, step: 10, left: 100, right: 300 };
  const m = { nRows: 2, nColumns: 4 };
  assert.deepEqual(tokenAt(layout, m, 50, 25), { side: "q", index: 0 });
  assert.deepEqual(tokenAt(layout, m, 350, 55), { side: "k", index: 3 });
  for (const [x, y] of [[50, 45], [200, 25], [50, 10], [350, 61]]) assert.equal(tokenAt(layout, m, x, y), null);
  const theme = { series: ["#a", "#b"] };
  const heads = Array.from({ length: 8 }, (_, head) => ({ layer: 0, head }));
  assert.deepEqual(headStyles(heads.slice(1, 2), theme), [{ colour: "#b", dash: [], reuse: 0 }]);
  const styles = headStyles([...heads, { layer: 3, head: 0 }], theme);
  assert.equal(new Set(styles.map((style) => JSON.stringify(style))).size, 9);
  // A head keeps its colour, whichever others are shown.
  for (const [i, head] of heads.entries()) assert.equal(headStyles([head], theme)[0].colour, styles[i].colour);
  assert.deepEqual([0, 300, 3000, 1e6].map(lineExponent), [0.5, 0.5, 0.9, 0.9]);
});

test("the heading above short queries fits at the left edge", () => {
  const pen = {
    font: "",
    measureText(text) {
      return { width: text.length * Number.parseInt(/(\d+)px/.exec(this.font)[1], 10) * 0.6 };
    },
  };
  const entries = ["a", "b"].map((text) => ({ text, written: null, members: [0] }));
  const m = { rows: entries, columns: entries, nRows: 2, nColumns: 2 };
  for (const large of [false, true]) {
    const { left } = layoutLines(m, 1, /** @type {any} */ (pen), 366, { font: "x" }, large);
    assert.ok(left - 7 >= "attends from".length * (large ? 14 : 11) * 0.6, `${left}`);
  }
});

test("row sums are drawn if they are not all 1", () => {
  const [whole, part] = [
    matrixOf(SIDE, { ...STATE, kind: "encoder" }),
    matrixOf(SIDE, { ...STATE, kind: "encoder", special: "hidden" }),
  ];
  assert.equal(hasUnevenSums(whole), false);
  assert.equal(hasUnevenSums(part), true);
  const pen = { measureText: (text) => ({ width: 6 * text.length }) };
  const layoutOf = (m) =>
    layoutCells(m, { row: 0, column: 0, rows: m.nRows, columns: m.nColumns }, pen, 500, { size: 1, font: "f" }, true);
  assert.deepEqual([whole, part].map((m) => layoutOf(m).sums), [false, true]);
});
