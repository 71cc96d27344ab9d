// Questions about heads: patterns, attention sinks, the mask, reordering, and what the matrix of cross-attention is.

import { argmax } from "../../common/base.js";
import {
  argsortDescending,
  bold,
  code,
  escaped,
  firstFour,
  headsOf,
  layersOf,
  LessonUnavailable,
  option,
  question,
  rowsOf,
} from "./case.js";
import { CLEAR } from "../sentence-heads.js";
import { meanOfHeads, tablePicture, withBold } from "./first-questions.js";
import { alignment } from "../alignment.js";
import { isControl } from "../../common/naming.js";
import { markText, writeMarks } from "../marks.js";
import { hasLetterOrDigit } from "../words.js";

/** @typedef {import("./case.js").LessonCase} LessonCase */

const CROSS_VERDICT =
  "The selected head belongs to cross-attention, where no word has a previous one. Choose the encoder above the picture.";
const STACKS = { encoder: "encoder", decoder: "decoder", cross: "cross-attention" };
const ALMOST = 0.35; // minimum share of a head that nearly attends to the previous word
const MIN_SINK_SHARE = 0.4; // minimum mean weight of a sink token in the head that the lesson shows
const MIN_SINK_RATIO = 3; // minimum ratio of this weight to that of uniform attention

// Find a head that attends to the previous word.
/** @param {LessonCase} lesson */
export function previousWord(lesson) {
  const shares = previousWordShares(lesson);
  const flatShares = Object.fromEntries(Object.entries(shares).map(([kind, layers]) => [kind, layers.flat()]));
  const top = (kind) => Math.max(0, ...flatShares[kind]);
  const kind = top("decoder") > top("encoder") ? "decoder" : "encoder";
  if (top(kind) < CLEAR) throw new LessonUnavailable("none of its heads attends to the previous word on most words");
  const { n_heads } = lesson.trace.config;
  const headOf = (number) => ({ layer: Math.floor(number / n_heads), head: number % n_heads });
  const [best, weakest] = [argmax(flatShares[kind]), argmax(flatShares[kind].map((share) => -share))].map(headOf);
  const all = Object.values(flatShares).flat();
  const count = all.filter((share) => share >= CLEAR).length;
  return question({
    answer:
      `${count} of the ${all.length} heads in encoder and decoder give the previous word more than half of their ` +
      `attention. The clearest is ${lesson.headName(best.layer, best.head)} of the ${STACKS[kind]}, with ${
        markText(top(kind))
      } on average: the mean of the marked cells. It was not programmed: training found it useful. With so few words some heads may match by chance; the page Research measures a whole corpus.`,
    startFields: { view: "model", kind, ...weakest },
    answerFields: {
      view: "heatmap",
      kind,
      ...best,
      marks: writeMarks(previousWordCells(lesson.table({ kind, ...best }))),
    },
    verdicts: {
      ...Object.fromEntries(
        Object.entries(shares).map(([stack, layers]) => [
          stack,
          layers.map((heads, layer) => heads.map((share, head) => verdictOf(lesson, stack, layer, head, share))),
        ]),
      ),
      cross: layersOf(lesson.trace).map(() => headsOf(lesson.trace).map(() => [false, CROSS_VERDICT])),
    },
  });
}

// Whether this head attends to the previous word, and an explanation.
/** @param {LessonCase} lesson @returns {[boolean, string]} */
function verdictOf(lesson, kind, layer, head, share) {
  const text = `The selected head (${STACKS[kind]}, ${lesson.headName(layer, head)}) gives the previous word ${
    markText(share)
  } of its attention on average`;
  if (share >= CLEAR) return [true, `${text}.`];
  return share >= ALMOST
    ? [false, `Almost. ${text}. The clearest heads give it more than half.`]
    : [false, `${text}; look for more than half.`];
}

// By kind the mean weight of every head on the previous word, [layer][head]; 0 if there are fewer than two words.
/** @param {LessonCase} lesson @returns {Record<string, number[][]>} */
function previousWordShares(lesson) {
  const shareOf = (fields) => {
    const table = lesson.table(fields);
    const cells = previousWordCells(table);
    return cells.length ? table.mean(cells) : 0;
  };
  const sharesOf = (kind) =>
    layersOf(lesson.trace).map((layer) => headsOf(lesson.trace).map((head) => shareOf({ kind, layer, head })));
  return { encoder: sharesOf("encoder"), decoder: sharesOf("decoder") };
}

// The cells of a word and the word before it, in a table of self-attention.
/** @param {import("./case.js").HeadTable} table @returns {[number, number][]} */
function previousWordCells(table) {
  const isWord = table.rows.map(({ text }) => !isControl(text) && hasLetterOrDigit(text));
  const [rows, columns] = [table.positions("rows"), table.positions("columns")];
  return rows.flatMap((row, i) => i && isWord[i] && isWord[i - 1] ? [[row, columns[i - 1]]] : []);
}

// Which token is the attention sink of a head? The sink is a token without letters, such as </s> or a full stop.
/** @param {LessonCase} lesson */
export function attentionSink(lesson) {
  const { trace } = lesson;
  const tokens = trace.srcTokens;
  const wordTokens = tokens.map((_, n) => n).filter((n) => !/^<.*>$/.test(tokens[n]) && /\p{L}/u.test(tokens[n]));
  if (wordTokens.length < 3) throw new LessonUnavailable("its sentence is shorter than three words");
  let sink = { share: 0, kind: "encoder", layer: 0, head: 0, column: 0 };
  for (const kind of ["encoder", "cross"]) {
    for (const layer of layersOf(trace)) {
      for (const head of headsOf(trace)) {
        const table = lesson.table({ kind, layer, head });
        for (const { members } of table.columns) { // a full stop at the end of a word is drawn as a part of the word
          const share = members.some((n) => wordTokens.includes(n)) ? 0 : meanOfColumn(table, members[0]);
          if (share > sink.share) sink = { share, kind, layer, head, column: members[0] };
        }
      }
    }
  }
  const { share, kind, layer, head, column } = sink;
  const table = lesson.table({ kind, layer, head });
  const columns = table.positions("columns");
  const means = columns.map((position) => meanOfColumn(table, position));
  const [at, uniform] = [argmax(means), 1 / columns.length];
  if (columns[at] !== column || share < Math.max(MIN_SINK_SHARE, MIN_SINK_RATIO * uniform)) {
    throw new LessonUnavailable("none of its heads gives most of its attention to one such token");
  }
  const names = table.names("columns");
  const labels = names.map(code);
  const isWord = table.columns.map(({ members }) => wordTokens.includes(members[0]));
  const longest = argmax(names.map((name, n) => isWord[n] ? [...name].length : 0));
  const options = firstFour([at, longest, isWord.indexOf(true), ...argsortDescending(means)], labels);
  const rows = table.positions("rows");
  return question({
    exhibit: labels.join(" "),
    options: options.map((n) => option(labels[n], `${labels[n]} gets less: the marked column has the most.`)),
    correct: options.indexOf(at),
    answer: `${labels[at]}: ${markText(share)} of this head's attention, the mean of the marked column; a head ` +
      `without a preference would give each of the ${columns.length} columns the same. The token says little about the sentence. A row ` +
      "has to sum to 1, so a head that finds nothing useful still has to give its weight to some token: an **attention sink**.",
    answerFields: { view: "heatmap", kind, layer, head, marks: writeMarks(rows.map((row) => [row, column])) },
    picture: {
      weights: [...rows.map((row) => table.row(row)), means],
      rows: [...table.names("rows"), "mean"],
      columns: names,
      caption: "One head: how much each word (row) attends to each word of the sentence (column)",
      hidden: [...rows, column].flatMap((_, i) => columns.map((_, n) => [i, n])),
      marked: [...rows.map((row) => table.text(row, column)), markText(share)].map((text, i) => [i, at, text]),
    },
  });
}

/** @param {import("./case.js").HeadTable} table @param {number} column position of a token */
const meanOfColumn = (table, column) =>
  table.mean(table.positions("rows").map((row) => /** @type {[number, number]} */ ([row, column])));

// How much attention can a later word get?
/** @param {LessonCase} lesson */
export function laterWord(lesson) {
  const { trace, words } = lesson;
  if (words.target.length < 3) throw new LessonUnavailable("its translation is shorter than three words");
  const largest = largestLater(trace);
  if (largest > 0) throw new LessonUnavailable("its decoder attends to later tokens");
  const [row, column] = [words.firstRow(2), words.firstRow(2) + 1];
  const table = lesson.table({ kind: "decoder", layer: 0, head: 0 });
  if (table.weight(row, column) > 0) throw new LessonUnavailable("its third word is written together with the second");
  return question({
    exhibit: withBold(words.target, 1),
    options: [
      option("None"),
      option(
        "A little, and less the further away it is",
        "Then training would teach it to copy the word that it has to predict.",
      ),
      option("As much as earlier words", "In training the whole translation is there, but the mask hides later words."),
    ],
    answer: `None: the weight of the marked cell, on a later word, is ${markText(largest)}, and so it is above the ` +
      "diagonal of every decoder head. The causal mask sets those scores to −∞ before the softmax, and e to the power of −∞ is zero.",
    answerFields: { view: "heatmap", kind: "decoder", layer: 0, head: 0, marks: writeMarks([[row, column]]) },
    picture: {
      weights: meanOfHeads(trace, "decoder"),
      rows: lesson.names(trace.tgtTokens),
      columns: lesson.names(trace.tgtTokens),
      caption: "The mean of all decoder heads: how much each token (row) attends to each token (column)",
      hidden: trace.tgtTokens.flatMap((_, i) => trace.tgtTokens.slice(i + 1).map((_, n) => [i, i + 1 + n])),
      marked: [[row, column, markText(largest)]],
    },
  });
}

// The largest weight of any decoder head on a later position.
/** @param {import("./case.js").Trace} trace */
function largestLater(trace) {
  const later = layersOf(trace).flatMap((layer) =>
    headsOf(trace).flatMap((head) =>
      rowsOf(trace, "decoder", layer, head).flatMap((row, i) => Array.from(row.subarray(i + 1)))
    )
  );
  return later.reduce((largest, weight) => Math.max(largest, weight), 0);
}

// Two neighbouring words of the translation whose source words are in the opposite order.
/** @param {LessonCase} lesson */
export function crossingWords(lesson) {
  const { words, trace } = lesson;
  if (Math.min(words.target.length, words.source.length) < 3) {
    throw new LessonUnavailable("its sentence or its translation is shorter than three words");
  }
  const heads = words.cross.flat();
  const { shares, pairs } = alignment(heads);
  for (const number of argsortDescending(shares)) {
    const weights = heads[number];
    const best = weights.map(argmax);
    const isClear = (word) =>
      pairs.some(([i, j]) => i === word && j === best[word]) && weights[word][best[word]] >= CLEAR;
    const targetWord = words.target.findIndex((_, word) =>
      word > 0 && isClear(word) && isClear(word - 1) && best[word] < best[word - 1]
    );
    if (targetWord > 0) {
      return reorderingQuestion(
        lesson,
        weights,
        Math.floor(number / trace.config.n_heads),
        number % trace.config.n_heads,
        targetWord,
      );
    }
  }
  throw new LessonUnavailable("no head shows two neighbouring words in the opposite order");
}

function reorderingQuestion(lesson, weights, layer, head, targetWord) {
  const { words } = lesson;
  const { source, target } = words;
  const [previousSourceWord, sourceWord] = [argmax(weights[targetWord - 1]), argmax(weights[targetWord])];
  const options = firstFour(
    [sourceWord, previousSourceWord, previousSourceWord + 1, previousSourceWord - 1, sourceWord - 1, sourceWord + 1, 0]
      .filter((n) => n >= 0 && n < source.length),
    source,
  );
  const table = lesson.table({ kind: "cross", layer, head });
  const [row, previousRow] = [words.firstRow(targetWord), words.firstRow(targetWord - 1)];
  const share = (n) => table.text(row, words.column(n));
  const cells = [[previousRow, words.column(previousSourceWord)], ...options.map((n) => [row, words.column(n)])];
  return question({
    exhibit: `${escaped(lesson.text)}  →  ${withBold(target, targetWord)}`,
    options: options.map((n) => option(escaped(source[n]), `${bold(source[n])} gets ${share(n)} there.`)),
    correct: options.indexOf(sourceWord),
    answer:
      `${bold(source[sourceWord])}, with ${share(sourceWord)} of the attention of ${lesson.headName(layer, head)}. ` +
      `For the word before, ${bold(target[targetWord - 1])}, it was ${bold(source[previousSourceWord])} with ${
        table.text(previousRow, words.column(previousSourceWord))
      }. The two languages order these words differently, so the lines cross. The model had no dictionary and no grammar: ` +
      "it learned both from pairs of sentences.",
    answerFields: {
      view: "heads",
      kind: "cross",
      layer,
      head,
      marks: writeMarks(/** @type {[number, number][]} */ (cells)),
    },
    picture: tablePicture(table, row, [words.column(sourceWord)], { noted: /** @type {[number, number][]} */ (cells) }),
  });
}

// Where do the queries of cross-attention come from?
/** @param {LessonCase} lesson */
export function memory(lesson) {
  const { rows: { length: rows }, columns: { length: columns } } = lesson.table({ kind: "cross", layer: 0, head: 0 });
  return question({
    options: [
      option("The keys come from the decoder", "The keys are computed from the output of the encoder."),
      option("The queries come from the decoder alone"),
      option(
        "The queries come from the memory alone",
        "The query belongs to the position that writes, in the decoder.",
      ),
    ],
    correct: 1,
    answer:
      `The queries come from the decoder alone: the ${rows} rows of the matrix belong to the decoder. Keys and values come from the memory: ` +
      `the ${columns} columns belong to the source. So every target position can attend to every source position.`,
    picture: crossPicture(lesson),
  });
}

// Is the decoder's second sublayer self-attention?
/** @param {LessonCase} lesson */
export function notSelf(lesson) {
  const { rows: { length: rows }, columns: { length: columns } } = lesson.table({ kind: "cross", layer: 0, head: 0 });
  const decoderLength = lesson.table({ kind: "decoder", layer: 0, head: 0 }).rows.length;
  return question({
    options: [
      option("*encoder's*: it attends to the decoder's output", "It does attend to the encoder's output, the memory."),
      option("*second*: it is the first", "The masked self-attention comes first."),
      option("*self*: queries and keys come from different sequences"),
    ],
    correct: 2,
    answer:
      `*self*. The matrix is ${rows} × ${columns}: a row for each of the ${rows} places of the decoder, a column for each of the ${columns} of the source. It is ` +
      "cross-attention. A self-attention matrix is always square, with the same tokens on both sides: that of the decoder is " +
      `${decoderLength} × ${decoderLength}, and empty above the diagonal because of the mask.`,
    picture: crossPicture(lesson),
  });
}

// The matrix of cross-attention, without the names of its rows until the answer is shown.
/** @param {LessonCase} lesson @returns {import("./case.js").Picture} */
function crossPicture(lesson) {
  const table = lesson.table({ kind: "cross", layer: 0, head: 0 });
  return {
    weights: table.positions("rows").map((row) => table.row(row)),
    rows: table.names("rows"),
    columns: table.names("columns"),
    caption: "One head of this sublayer: a row for each query, a column for each key",
    hidden: [],
    marked: [],
    rowNamesHidden: true,
  };
}
