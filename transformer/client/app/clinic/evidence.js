// What counts as evidence of a mistake: cells of a head that show it, a curve, or an output.

import { headWeights } from "../trainer/heads.js";

/** @typedef {import("../../training/protocol.d.ts").Example} Example */
/** @typedef {{ rows: string[], columns: string[], at: (row: number, column: number) => number }} Head a row and column have their tokens */
/** @typedef {{ view: string, example?: number, layer?: number, head?: number, row?: number, column?: number, output?: number }} Mark */

export const VIEWS = {
  encoder: "a head of the encoder",
  decoder: "a head of the decoder's self-attention",
  cross: "a head of cross-attention",
  loss: "the curve of the loss",
  accuracy: "the curve of right outputs",
  rate: "the curve of the learning rate",
  norm: "the curve of the gradient's norm",
  outputs: "the outputs",
};

const VISIBLE = 0.1; // a weight
const EQUAL = 0.001; // a difference of weights
const SIMILAR = 0.1;
const SATURATED = 0.98;

/** @type {Record<string, (head: Head, row: number, column: number) => boolean>} */
export const PREDICATES = {
  "": () => false, // of curves and outputs
  later: ({ at }, row, column) => column > row && at(row, column) >= VISIBLE,
  unshifted: ({ rows }, row) => row === 0 && rows[0] !== "<s>",
  "own keys": ({ columns }, row, column) => columns[0] === "<s>" && column >= row,
  "same columns": ({ rows, columns, at }, _row, column) =>
    columns.some((token, other) =>
      other !== column && token === columns[column] &&
      rows.every((_, i) => Math.abs(at(i, other) - at(i, column)) < EQUAL)
    ),
  "same rows": ({ rows, columns, at }) =>
    columns.every((_, j) => {
      const weights = rows.map((_, i) => at(i, j));
      return Math.max(...weights) - Math.min(...weights) < SIMILAR;
    }),
  // The first row of the decoder has only one key.
  saturated: ({ columns, at }, row) => row > 0 && columns.some((_, j) => at(row, j) >= SATURATED),
  "row sum": ({ columns, at }, row) => Math.abs(columns.reduce((sum, _, j) => sum + at(row, j), 0) - 1) >= VISIBLE,
};

// The head of an example, as its picture shows it.
/** @param {Example} example @param {Kind} view @param {number} layer @param {number} head @returns {Head} */
export function headOf(example, view, layer, head) {
  const { values, columns } = headWeights(example, view, layer, head);
  return {
    rows: view === "encoder" ? example.src : example.tgt,
    columns: { encoder: example.src, decoder: example.tgt, cross: example.crossKeys }[view],
    at: (row, column) => values[row * columns + column],
  };
}

// Whether a mark of the student shows the mistake. `writings` are the outputs of each example, written several times.
/** @param {import("./case.js").Case} given @param {Mark} mark @param {Example[]} examples @param {string[][]} writings */
export function isEvidence({ evidence }, mark, examples, writings) {
  return evidence.some(({ view, cells }) => {
    if (view !== mark.view) return false;
    if (view === "outputs") return new Set(writings[mark.output]).size > 1;
    if (!cells) return true;
    return PREDICATES[cells](
      headOf(examples[mark.example], /** @type {Kind} */ (view), mark.layer, mark.head),
      mark.row,
      mark.column,
    );
  });
}
