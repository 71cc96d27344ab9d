// What a mark of the student shows. It is compared with a correct run, which has the same seed: it proves the mistake, it
// shows that something is wrong but not what, or a correct model looks like this.

import { withoutEnds } from "../trainer/outputs.js";
import { headWeights } from "../trainer/heads.js";
import { accuracyPoints, thinned } from "../trainer/curves.js";
import { fill } from "../../common/sentences.js";

/** @typedef {import("../../training/protocol.d.ts").Example} Example */
/** @typedef {{ rows: string[], columns: string[], at: (row: number, column: number) => number }} Head a row and column have their tokens */
/** @typedef {{ examples: Example[], writings: string[][], records: any[], evaluations: any[] }} Observed a trained model as the page shows it; `writings` are its outputs for each example, written several times */
/** @typedef {{ view: string, model?: number, example?: number, layer?: number, head?: number, row?: number, column?: number }} Mark of a head: a cell, or with a row or a column alone all of it */
/** @typedef {{ verdict: "proof" | "vague" | "normal", text: string }} Judgement */

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

const TOLERANCE = 0.1; // weights that differ by at most this are the same, as are curves on average
const AS_WRITTEN = 0.005; // the same if it cannot be seen; a row or column like this proves nothing
const VISIBLE = 0.015; // a weight that is not written as .00 or .01
const EQUAL = 0.001; // a difference of weights that are computed from the same numbers
const ALIKE = 0.02; // a difference of rows that cannot be told apart; those of a correct model differ by more
const SATURATED = 0.98;
const CURVE_POINTS = 24;

const range = (count) => Array.from({ length: count }, (_, i) => i);
export const shortWeight = (weight) => weight.toFixed(2).replace(/^0/, "");
const rowSum = ({ columns, at }, row) => columns.reduce((sum, _, column) => sum + at(row, column), 0);
const greatest = ({ columns, at }, row) => Math.max(...columns.map((_, column) => at(row, column)));

// Whether two columns of one token have the same weights in every row that sees both, and more than one row does.
const areTwins = ({ rows, columns, at }, [one, other], seesBoth) => {
  const seen = range(rows.length).filter((row) => seesBoth(row));
  return one !== other && columns[one] === columns[other] && seen.length > 1 &&
    seen.some((row) => at(row, one) >= VISIBLE) &&
    seen.every((row) => Math.abs(at(row, one) - at(row, other)) < EQUAL);
};

// What shows a mistake in a cell of a head: `isShown` says whether it does, and `reason` why, in a sentence. `along` is the
// kind of line, row or column, that may be marked as a whole. `correct` is a head of the correct run.
/** @type {Record<string, { along: "row" | "column" | "any", isShown: (head: Head, row: number, column: number, correct: Head, view: string) => boolean, reason: (head: Head, row: number, column: number, correct: Head) => string }>} */
export const SIGNS = {
  later: {
    along: "any",
    isShown: ({ at }, row, column) => column > row && at(row, column) >= VISIBLE,
    reason: ({ at }, row, column) =>
      fill("Row {row} gives {weight} to a later token; in the correct run it gives 0 to all of them.", {
        row: row + 1,
        weight: shortWeight(at(row, column)),
      }),
  },
  "row token": {
    along: "row",
    isShown: ({ rows }, row, _column, correct) => rows[row] !== correct.rows[row],
    reason: ({ rows }, row, _column, correct) =>
      fill("Row {row} is {token}; in the correct run it is {right}.", {
        row: row + 1,
        token: rows[row],
        right: correct.rows[row],
      }),
  },
  "column token": {
    along: "column",
    isShown: ({ columns }, _row, column, correct) => columns[column] !== correct.columns[column],
    reason: ({ columns }, _row, column, correct) =>
      fill("Column {column} is {token}; in the correct run it is {right}.", {
        column: column + 1,
        token: columns[column],
        right: correct.columns[column] ?? "(none)",
      }),
  },
  "same columns": {
    along: "column",
    isShown: (head, _row, column, _correct, view) =>
      head.columns.some((_, other) =>
        areTwins(head, [column, other], (row) => view !== "decoder" || row >= Math.max(column, other))
      ),
    reason: ({ columns }, _row, column) =>
      fill("Two columns of {token} have exactly the same weights; in the correct run they have not.", {
        token: columns[column],
      }),
  },
  "same rows of a token": {
    along: "row",
    isShown: ({ rows, columns, at }, row) =>
      rows.some((token, other) =>
        other !== row && token === rows[row] &&
        columns.every((_, column) => Math.abs(at(row, column) - at(other, column)) < EQUAL)
      ),
    reason: ({ rows }, row) =>
      fill("Two rows of {token} have exactly the same weights; in the correct run they have not.", {
        token: rows[row],
      }),
  },
  "same rows": {
    along: "any",
    isShown: (head, _row, _column, _correct, view) =>
      head.rows.every((_, row) => {
        const seen = range(view === "decoder" ? row + 1 : head.columns.length);
        const last = head.rows.length - 1;
        const total = seen.reduce((sum, column) => sum + head.at(last, column), 0);
        return seen.every((column) => Math.abs(head.at(row, column) - head.at(last, column) / total) < ALIKE);
      }),
    reason: () =>
      "All rows of this head are the same, as far as they see the same keys; in the correct run they are not.",
  },
  saturated: {
    along: "row",
    // The first row of the decoder has only one key.
    isShown: (head, row) => row > 0 && greatest(head, row) >= SATURATED,
    reason: (head, row) =>
      fill("Row {row} gives {weight} to one key; in the correct run no row of these heads gives so much.", {
        row: row + 1,
        weight: shortWeight(greatest(head, row)),
      }),
  },
  "row sum": {
    along: "any",
    isShown: (head, row) => Math.abs(rowSum(head, row) - 1) >= TOLERANCE,
    reason: (head, row) =>
      fill("Row {row} adds up to {sum}; in the correct run every row adds up to 1.", {
        row: row + 1,
        sum: rowSum(head, row).toFixed(2),
      }),
  },
};

const CURVE_REASONS = {
  rate: "The rate begins at its highest value; in the correct run it begins near 0.",
  norm: "The norm grows; in the correct run it shrinks.",
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

// What a mark shows of the model with the mistake, `ill`; `correct` is the correct run.
/** @param {import("./case.js").Case} given @param {Mark} mark @param {Observed} ill @param {Observed} correct @returns {Judgement} */
export function judge(given, mark, ill, correct) {
  if (["encoder", "decoder", "cross"].includes(mark.view)) return judgeCells(given, mark, ill, correct);
  const isProof = given.evidence.some(({ view }) => view === mark.view);
  if (mark.view === "outputs") return judgeOutputs(isProof, ill.writings[mark.example], correct.writings[mark.example]);
  if (isSameCurve(curveOf(ill, mark.view), curveOf(correct, mark.view))) {
    return { verdict: "normal", text: "In the correct run this curve is the same." };
  }
  return isProof
    ? { verdict: "proof", text: CURVE_REASONS[mark.view] }
    : { verdict: "vague", text: "In the correct run this curve looks different." };
}

/** @param {boolean} isProof @param {string[]} written @param {string[]} right @returns {Judgement} */
function judgeOutputs(isProof, written, right) {
  if (isProof && new Set(written).size > 1) {
    return { verdict: "proof", text: "One input has several outputs; in the correct run it always has the same." };
  }
  if (String(written) === String(right)) return { verdict: "normal", text: "The correct run writes the same." };
  return { verdict: "vague", text: fill("The correct run writes {output}.", { output: right[0] }) };
}

/** @param {import("./case.js").Case} given @param {Mark} mark @param {Observed} ill @param {Observed} correct @returns {Judgement} */
function judgeCells(given, mark, ill, correct) {
  const kind = /** @type {Kind} */ (mark.view);
  const head = headOf(ill.examples[mark.example], kind, mark.layer, mark.head);
  const example = correct.examples[mark.example];
  const others = range(example.heads).map((number) => headOf(example, kind, mark.layer, number));
  const cells = cellsOf(mark, head);
  const lines = cellsOf({}, head).filter(([row, column]) => row === mark.row || column === mark.column);
  const isAsCorrect = others.some((other) => isSame(head, other, lines, AS_WRITTEN));
  for (const { view, cells: sign } of given.evidence) {
    if (view !== mark.view || isAsCorrect) continue;
    const { along, isShown, reason } = SIGNS[sign];
    if ((along === "row" && mark.row === undefined) || (along === "column" && mark.column === undefined)) continue;
    const cell = cells.find(([row, column]) => isShown(head, row, column, others[0], view));
    if (cell) return { verdict: "proof", text: reason(head, cell[0], cell[1], others[0]) };
  }
  const same = others.findIndex((other) => isSame(head, other, cells, TOLERANCE));
  if (same >= 0) return { verdict: "normal", text: thereText(cells, others[same], same) };
  return {
    verdict: "vague",
    text: cells.length > 1 ? "No head of this layer of the correct run has these weights." : hereText(),
  };

  function hereText() {
    const [[row, column]] = cells;
    return fill("The weight is {weight}; in the correct run, the heads of this layer have {others} here.", {
      weight: shortWeight(head.at(row, column)),
      others: others.map((other) => shortWeight(other.at(row, column) || 0)).join(", "),
    });
  }
}

/** @param {number[][]} cells @param {Head} other @param {number} number */
const thereText = (cells, other, number) =>
  cells.length > 1
    ? fill("Head {head} of the correct run has these weights.", { head: number + 1 })
    : fill("Head {head} of the correct run has {weight} here.", {
      head: number + 1,
      weight: shortWeight(other.at(cells[0][0], cells[0][1])),
    });

// The cells of a mark: one, or those of a row or a column.
/** @param {{ row?: number, column?: number }} mark @param {Head} head @returns {number[][]} */
const cellsOf = ({ row, column }, { rows, columns }) =>
  range(rows.length).flatMap((i) => range(columns.length).map((j) => [i, j]))
    .filter(([i, j]) => i === (row ?? i) && j === (column ?? j));

// Whether these cells have the same tokens in both heads, and weights that differ by at most `tolerance`.
/** @param {Head} head @param {Head} other @param {number[][]} cells @param {number} tolerance */
const isSame = (head, other, cells, tolerance) =>
  cells.every(([i, j]) =>
    head.rows[i] === other.rows[i] && head.columns[j] === other.columns[j] &&
    Math.abs(head.at(i, j) - other.at(i, j)) <= tolerance
  );

// A curve as means of equal parts.
/** @param {Observed} observed @param {string} view @returns {number[]} */
function curveOf({ records, evaluations }, view) {
  const points = view === "accuracy"
    ? accuracyPoints(/** @type {any} */ ({ evaluations }))
    : records.map((record) => [record.step, record[view === "norm" ? "gradientNorm" : view]]);
  return thinned(points, CURVE_POINTS).map(([, value]) => value);
}

/** @param {number[]} curve @param {number[]} other */
function isSameCurve(curve, other) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  return curve.length === other.length &&
    sum(curve.map((value, i) => Math.abs(value - other[i]))) <= TOLERANCE * sum(other);
}

// A mark in words.
/** @param {Mark} mark @param {string} place the head's name @param {Head | null} head */
export function markText({ view, row, column }, place, head) {
  if (!head) return view === "outputs" ? fill("the outputs for {input}", { input: place }) : VIEWS[view];
  const values = { place, row: row + 1, column: column + 1, query: head.rows[row], key: head.columns[column] };
  if (row === undefined) return fill("{place}, column {column} ({key})", values);
  if (column === undefined) return fill("{place}, row {row} ({query})", values);
  return fill("{place}, row {row} ({query}), column {column} ({key}): {weight}", {
    ...values,
    weight: shortWeight(head.at(row, column)),
  });
}

/** @param {string[]} tokens */
export const spaced = (tokens) => withoutEnds(tokens).join(" ");
