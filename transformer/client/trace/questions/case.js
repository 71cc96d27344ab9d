// A lesson's sentence as one model translates it, and how a question names tokens, words and heads. Texts are
// Markdown.

import { indices } from "../../common/base.js";
import { matrixOf } from "../../common/matrix.js";
import { axisLabels, headName, isControl, pieceName, setExactNames, tokenName } from "../../common/naming.js";
import { HeadWeights } from "../head-weights.js";
import { unpackTrace } from "../packed-trace.js";
import { markText } from "../marks.js";
import { quantize, unpack } from "../packing.js";
import { labelsOf, mergeWords, plainWords, wordNumbers } from "../words.js";

/**
 * @typedef {Pick<import("../packed-trace.js").ViewTrace,
 *   "source" | "text" | "srcTokens" | "tgtTokens" | "predictedTokens" | "steps"> & {
 *   config: { n_layers: number, n_heads: number }, weights(kind: string, layer: number): HeadWeights,
 *   sites: Record<string, { shape: number[], values: any }>,
 * }} Trace a trace of the model in this browser, or one that Python has packed
 */
/** @typedef {{ label: string, feedback: string }} Option */
/**
 * Numbers from 0 to 1, such as attention between words, drawn with the question. Until it is answered, `hidden` cells and,
 * if `rowNamesHidden`, the names of the rows are drawn as "?", and only the first `rowsBefore` rows are drawn. Then the
 * `marked` cells, [row, column, text], have a frame, and these and the `noted` cells have the numbers that the answer
 * names.
 * @typedef {{ weights: number[][], rows: string[], columns: string[], caption: string, hidden: number[][],
 *   marked: [number, number, string?][], noted?: [number, number, string][], rowsBefore?: number, rowNamesHidden?: boolean }} Picture
 */
/**
 * A question about one sentence. If the answer is to be found in the view, it has no `options`; `verdicts` then tell for
 * every head, [kind][layer][head], whether it is right, and why; or the view has to show another translation than
 * `unchanged`.
 * @typedef {{ answer: string, options: Option[], correct: number, exhibit: string, startFields: any, answerFields: any,
 *   verdicts: Record<string, [boolean, string][][]> | null, unchanged: string, picture: Picture | null }} Question
 */

// The sentence does not show what the lesson is about; the message says why.
export class LessonUnavailable extends Error {}

/** @param {string} label @param {string} [feedback] @returns {Option} */
export const option = (label, feedback = "") => ({ label, feedback });

/** @param {Partial<Question> & { answer: string }} parts @returns {Question} */
export const question = (parts) => ({
  options: [],
  correct: 0,
  exhibit: "",
  startFields: {},
  answerFields: {},
  verdicts: null,
  unchanged: "",
  picture: null,
  ...parts,
});

export class LessonCase {
  /**
   * @param {Trace} trace the greedy translation
   * @param {{ aligner?: any, exact?: boolean, translate?: (text: string) => string | Promise<string> }} more `exact`:
   *   whether to name tokens as the model does; `translate` gives the greedy translation of another text
   */
  constructor(trace, { aligner = null, exact = false, translate = null } = {}) {
    if (trace.predictedTokens.at(-1) !== "</s>") throw new LessonUnavailable("its translation does not end");
    setExactNames(exact);
    this.exact = exact;
    this.trace = trace;
    this.text = trace.source;
    this.aligner = aligner;
    this.translate = translate;
    this.words = new TraceWords(trace);
  }

  // The names of a sentence's tokens.
  /** @param {string[]} tokens */
  names(tokens) {
    return namesOf(tokens);
  }

  // Some tokens of a sentence, each formatted as code.
  /** @param {string[]} tokens */
  tokens(tokens) {
    return namesOf(tokens).map(code).join(" ");
  }

  // One token of a sentence, formatted as by `tokens`.
  /** @param {string[]} tokens @param {number} position */
  token(tokens, position) {
    return code(namesOf(tokens)[position]);
  }

  headName(layer, head) {
    return headName({ layer, head });
  }

  // What the explorer draws of one head.
  /** @param {{ kind: string, layer: number, head: number, exact?: boolean, word_row?: string }} fields */
  table(fields) {
    return new HeadTable(this.trace, { exact: this.exact, ...fields });
  }
}

// The table of one head as the explorer draws it: its rows and columns are words or tokens, and its weights have the
// digits that packing preserves. Cells are named by the positions of tokens in them.
export class HeadTable {
  /** @param {Trace} trace @param {{ kind: string, layer: number, head: number, exact: boolean, word_row?: string }} fields */
  constructor(trace, { kind, layer, head, exact, word_row = "output" }) {
    const [src, tgt, predicted] = [trace.srcTokens, trace.tgtTokens, trace.predictedTokens].map(labelsOf);
    const { shape, values } = trace.weights(kind, layer);
    const size = shape[1] * shape[2];
    const levels = quantize("", { shape, values: values.subarray(head * size, (head + 1) * size) });
    const weights = Float32Array.from(levels.values, (level) => (level / levels.top) ** 2);
    const side = {
      labels: () => axisLabels({ src, tgt, predicted }, kind),
      weights: () => ({ values: weights, top: levels.top }),
    };
    const state = {
      kind,
      layer,
      head,
      exact: Number(exact),
      word_row,
      special: "shown",
      combine: "one",
      renormalise: 0,
    };
    this.matrix = matrixOf(/** @type {any} */ (side), /** @type {any} */ (state));
  }

  get rows() {
    return this.matrix.rows;
  }

  get columns() {
    return this.matrix.columns;
  }

  // The first positions of all rows or columns.
  /** @param {"rows" | "columns"} axis */
  positions(axis) {
    return this[axis].map(({ members }) => members[0]);
  }

  /** @param {number} row @param {number} column positions of tokens */
  weight(row, column) {
    const { rows, columns, values, nColumns } = this.matrix;
    const at = (entries, position) => entries.findIndex(({ members }) => members.includes(position));
    return values[at(rows, row) * nColumns + at(columns, column)];
  }

  /** @param {number} row @param {number} column */
  text(row, column) {
    return markText(this.weight(row, column));
  }

  // The weights of a row, of all columns.
  /** @param {number} row */
  row(row) {
    return this.positions("columns").map((column) => this.weight(row, column));
  }

  // The mean of some cells.
  /** @param {[number, number][]} cells */
  mean(cells) {
    return mean(cells.map(([row, column]) => this.weight(row, column)));
  }

  // The names of rows or columns.
  /** @param {"rows" | "columns"} axis */
  names(axis) {
    return this[axis].map(({ text, written }) => tokenName(written ?? text));
  }
}

// The words of a trace and the cross-attention between them; tokens without letters or digits are left out.
class TraceWords {
  /** @param {Trace} trace */
  constructor(trace) {
    this.trace = trace;
    this.sourceWords = plainWords(trace.srcTokens);
    this.targetWords = plainWords(trace.predictedTokens);
    this.sourcePositions = numbersWithLabel(this.sourceWords.labels);
    this.targetPositions = numbersWithLabel(this.targetWords.labels);
    this.source = this.sourcePositions.map((n) => this.sourceWords.labels[n]);
    this.target = this.targetPositions.map((n) => this.targetWords.labels[n]);
    this.cross = this.crossHeads("output");
  }

  // Weights of every head, [layer][head][target word][source word]. If `to` is "input", the weights of a
  // token are those of the next row, where the decoder reads the token.
  /** @param {string} to @returns {number[][][][]} */
  crossHeads(to) {
    return layersOf(this.trace).map((layer) => {
      const weights = this.trace.weights("cross", layer);
      const [heads, rows] = weights.shape;
      const shiftedWeights = new HeadWeights(weights.shape, weights.values.slice());
      if (to === "input") {
        for (let h = 0; h < heads; h++) {
          for (let i = 0; i + 1 < rows; i++) shiftedWeights.row(h * rows + i).set(weights.row(h * rows + i + 1));
        }
      }
      const merged = mergeWords(shiftedWeights, this.targetWords.numbers, this.sourceWords.numbers);
      const [, count] = merged.shape;
      return Array.from(
        { length: heads },
        (_, h) => this.targetPositions.map((i) => this.sourcePositions.map((j) => merged.row(h * count + i)[j])),
      );
    });
  }

  // The row of the cross-attention that writes the first token of a target word.
  firstRow(word) {
    return this.targetWords.numbers.indexOf(this.targetPositions[word]);
  }

  // The column of the first token of a source word.
  column(word) {
    return this.sourceWords.numbers.indexOf(this.sourcePositions[word]);
  }

  // The rows of all tokens of a target word, as the explorer's address writes them.
  rows(word) {
    const number = this.targetPositions[word];
    return this.targetWords.numbers.flatMap((other, row) => (other === number ? [`q${row}`] : [])).join(",");
  }
}

// Makes the case that Python has packed for a lesson (api/answers.py).
/**
 * @param {Uint8Array} bytes @param {(text: string) => Promise<string>} translate
 * @param {boolean} exact whether to name tokens as the model does
 */
export function unpackCase(bytes, translate, exact) {
  const { header, parts } = unpack(bytes);
  return () => {
    const trace = {
      ...unpackTrace(header.trace, (name) => parts.get(name)),
      config: { n_layers: header.trace.depths.cross, n_heads: header.trace.n_heads },
      sites: Object.fromEntries(parts),
    };
    return new LessonCase(trace, { aligner: header.aligner, exact, translate });
  };
}

const numbersWithLabel = (labels) => labels.map((_, n) => n).filter((n) => labels[n]);

/** @param {string[]} tokens */
function namesOf(tokens) {
  const words = wordNumbers(tokens);
  const begins = (i) => i === 0 || words[i] !== words[i - 1];
  return tokens.map((token, i) => isControl(token) ? tokenName(token) : pieceName(token, begins(i)));
}

export const code = (name) => `\`${name.replaceAll("`", "ˋ")}\``;

export const layersOf = (trace) => indices(trace.config.n_layers);
export const headsOf = (trace) => indices(trace.config.n_heads);

// The weights of one head, a row for each query.
/** @param {Trace} trace @param {string} kind @returns {Float32Array[]} */
export function rowsOf(trace, kind, layer, head) {
  const weights = trace.weights(kind, layer);
  const [, rows] = weights.shape;
  return Array.from({ length: rows }, (_, i) => weights.row(head * rows + i));
}

// Markdown that shows `text` literally.
/** @param {string} text */
export const escaped = (text) => text.replace(/[\\`*_{}[\]<>()#+\-.!|$~:]/g, "\\$&");
/** @param {string} text */
export const bold = (text) => `**${escaped(text)}**`;

/** @param {ArrayLike<number>} values positions by descending value; equal values keep their order */
export const argsortDescending = (values) =>
  Array.from(values, (_, i) => i).sort((a, b) => values[b] - values[a] || a - b);
// The first four of these positions with different labels, in sentence order: a word can occur twice.
/** @param {number[]} positions @param {string[]} labels of all positions */
export const firstFour = (positions, labels) =>
  positions.filter((position, i) => positions.findIndex((other) => labels[other] === labels[position]) === i)
    .slice(0, 4).sort((a, b) => a - b);
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
