// Questions about one sentence: word alignment, weights that sum to 1, decoding steps, softmax.

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
  mean,
  option,
  question,
  rowsOf,
} from "./case.js";
import { CLEAR } from "../sentence-heads.js";
import { alignment } from "../alignment.js";
import { markText, writeMarks } from "../marks.js";
import { wordNumbers } from "../words.js";
import { percentText } from "../../common/numbers.js";

/** @typedef {import("./case.js").LessonCase} LessonCase */

const OTHER_OWNER = { her: "his", his: "her" };

// Which source word does the aligner head link to the translation's possessive?
/** @param {LessonCase} lesson */
export async function umbrella(lesson) {
  const { words, text } = lesson;
  const owner = words.source.findIndex((word) => Object.hasOwn(OTHER_OWNER, word));
  if (owner < 0 || owner + 1 >= words.source.length) {
    throw new LessonUnavailable("its sentence has no “her” or “his” with a word after it");
  }
  for (const { layer, head, to } of aligners(lesson)) {
    const weights = words.crossHeads(to)[layer][head];
    if (!weights.length) break;
    const targetWord = argmax(weights.map((row) => row[owner]));
    const row = weights[targetWord];
    const table = lesson.table({ kind: "cross", layer, head, word_row: lesson.exact ? "output" : to });
    const queryRow = words.firstRow(targetWord) + Number(to === "input");
    const isClear = table.weight(queryRow, words.column(owner)) >= CLEAR;
    if (argmax(row) !== owner || row[owner] < CLEAR || !isClear) continue;
    const options = firstFour([owner, owner + 1, ...argsortDescending(row)], words.source);
    const cells = options.map((n) => /** @type {[number, number]} */ ([queryRow, words.column(n)]));
    const share = (n) => table.text(queryRow, words.column(n));
    return question({
      exhibit: `${escaped(text)}  →  ${withBold(words.target, targetWord)}`,
      options: options.map((n) =>
        option(escaped(words.source[n]), `This head gives ${bold(words.source[n])} ${share(n)} there.`)
      ),
      correct: options.indexOf(owner),
      answer:
        `The head (${lesson.headName(layer, head)}) links ${bold(words.target[targetWord])} to ${
          bold(words.source[owner])
        } with ` +
        `${share(owner)} of its attention. ${await otherOwnerNote(lesson, words.source[owner])}`,
      answerFields: { view: "heads", kind: "cross", layer, head, marks: writeMarks(cells), word_row: to },
      picture: tablePicture(table, queryRow, [words.column(owner)], { noted: cells }),
    });
  }
  throw new LessonUnavailable("its aligner head links no word of the translation to the owner");
}

// The model's measured aligner head; for a model without one, all heads, sorted by how clearly they align this sentence.
/** @param {LessonCase} lesson */
function aligners({ aligner, words }) {
  if (aligner) return [{ layer: aligner.layer, head: aligner.head, to: aligner.weights_to }];
  return ["output", "input"].flatMap((to) => {
    const layers = words.crossHeads(to);
    const { shares } = alignment(layers.flat());
    return shares.map((share, i) => ({
      share,
      layer: Math.floor(i / layers[0].length),
      head: i % layers[0].length,
      to,
    }));
  }).sort((a, b) => b.share - a.share || a.layer - b.layer || a.head - b.head || (a.to < b.to ? -1 : 1));
}

// What the model writes if the owner changes.
/** @param {LessonCase} lesson */
async function otherOwnerNote({ text, trace, translate }, owner) {
  const translation = await translate(text.replaceAll(` ${owner} `, ` ${OTHER_OWNER[owner]} `));
  const change = `Replace ${bold(owner)} by ${bold(OTHER_OWNER[owner])}, and the translation`;
  return translation === trace.text
    ? `${change} stays the same: in this language the possessive does not name the owner.`
    : `${change} changes: ${escaped(translation)}`;
}

// What do the weights of a row sum to?
/** @param {LessonCase} lesson */
export function row(lesson) {
  const { words } = lesson;
  if (words.target.length < 2) throw new LessonUnavailable("its translation is shorter than two words");
  // A row whose largest weight is about one half, so that the others matter for the sum.
  let closest = { distance: Infinity, layer: 0, head: 0, targetWord: 0 };
  words.cross.forEach((heads, layer) =>
    heads.forEach((rows, head) =>
      rows.forEach((weights, targetWord) => {
        const distance = Math.abs(Math.max(...weights) - 0.5);
        if (distance < closest.distance) closest = { distance, layer, head, targetWord };
      })
    )
  );
  const { layer, head, targetWord } = closest;
  const table = lesson.table({ kind: "cross", layer, head });
  const queryRow = words.firstRow(targetWord);
  const weights = table.row(queryRow);
  const best = argmax(weights);
  const names = table.names("columns").map(code);
  const listed = weights.map((weight, n) => `${names[n]} ${n === best ? "?" : markText(weight)}`);
  const columns = table.positions("columns");
  return question({
    exhibit: `One head, writing ${bold(words.target[targetWord])}: ${listed.join(" · ")}`,
    options: [
      option("The number of words", "A longer sentence does not add attention: the same total is divided further."),
      option(
        "More for important words, less for others",
        "Every row has the same total. Rows differ only in how they divide it.",
      ),
      option("100%, in every row of every head"),
    ],
    correct: 2,
    answer: `The weights of every row of every head sum to 100%. So the missing number is ${
      markText(weights[best])
    }: weight given to one token is taken from the others.`,
    answerFields: {
      view: "heatmap",
      kind: "cross",
      layer,
      head,
      marks: writeMarks(columns.map((column) => [queryRow, column])),
    },
    picture: tablePicture(table, queryRow, columns, { hidden: [columns[best]] }),
  });
}

// The table of a head in which one row, or some of its columns, is hidden until the answer marks cells of it with their
// weights. Cells are positions of tokens.
/**
 * @param {import("./case.js").HeadTable} table @param {number} row @param {number[]} columns of the marked cells
 * @param {{ hidden?: number[], noted?: [number, number][] }} [more] hidden: columns; noted: cells with their weights
 * @returns {import("./case.js").Picture}
 */
export function tablePicture(table, row, columns, { hidden = table.positions("columns"), noted = [] } = {}) {
  const at = (axis, position) => table[axis].findIndex(({ members }) => members.includes(position));
  /** @type {(row: number, column: number) => [number, number, string]} */
  const cell = (i, j) => [at("rows", i), at("columns", j), table.text(i, j)];
  return {
    weights: table.positions("rows").map((position) => table.row(position)),
    rows: table.names("rows"),
    columns: table.names("columns"),
    caption: "One head: how much each word of the translation (row) attends to each source word (column)",
    hidden: hidden.map((column) => [at("rows", row), at("columns", column)]),
    marked: columns.map((column) => cell(row, column)),
    noted: noted.filter(([i, j]) => i !== row || !columns.includes(j)).map(([i, j]) => cell(i, j)),
  };
}

// How many decoder steps does a translation take?
/** @param {LessonCase} lesson */
export function steps(lesson) {
  const tokens = lesson.trace.predictedTokens;
  const count = tokens.length - 1;
  if (count < 2) throw new LessonUnavailable("its translation is shorter than two tokens");
  const end = percentText(lesson.trace.steps[count].chosen.probability);
  const written = lesson.tokens(tokens.slice(0, -1));
  const wordCount = wordNumbers(tokens)[count] + 1; // with the end token
  const joined = wordCount <= count && !lesson.exact
    ? ` A table in whole words joins these steps into ${wordCount} rows; *Show tokens* shows all ${count + 1}.`
    : "";
  return question({
    exhibit: `${escaped(lesson.text)}  →  ${written}`,
    options: [
      option("Once: all of it at the same time", "Each token depends on those before it."),
      option(
        `${count} times, once for each token`,
        "Then nothing would have ended the translation: stopping is a choice, too.",
      ),
      option(`${count + 1} times, once more than there are tokens`),
    ],
    correct: 2,
    answer:
      `${count + 1} times: ${written} and then ${
        lesson.token(tokens, count)
      }, the token that ends a sentence. The model chooses it like any ` +
      `other token, when it is the most probable one: here with ${end}, in the marked row.${joined}`,
    answerFields: { marks: writeMarks([[count, 0]]) },
    picture: {
      weights: meanOfHeads(lesson.trace, "cross").map((row, i) => [...row, lesson.trace.steps[i].chosen.probability]),
      rows: lesson.names(tokens),
      columns: [...lesson.names(lesson.trace.srcTokens), "probability"],
      caption: "The mean of all heads: a row for each step, with the token that it writes and its probability",
      hidden: [],
      marked: [[count, lesson.trace.srcTokens.length, end]],
      rowsBefore: count,
    },
  });
}

// The mean of all heads of a kind.
/** @param {import("./case.js").Trace} trace @param {string} kind @returns {number[][]} */
export function meanOfHeads(trace, kind) {
  const heads = layersOf(trace).flatMap((layer) => headsOf(trace).map((head) => rowsOf(trace, kind, layer, head)));
  return heads[0].map((row, i) => Array.from(row, (_, j) => mean(heads.map((rows) => rows[i][j]))));
}

// Which weight does the softmax give to the highest score?
/** @param {LessonCase} lesson */
export function meeting(lesson) {
  const { words, trace } = lesson;
  const { layer, head, targetWord } = headNear75Percent(lesson);
  const row = words.firstRow(targetWord);
  const { shape, values } = trace.sites[`decoder.layers.${layer}.cross_attn.hook_scores`];
  const start = (head * shape[1] + row) * shape[2];
  const scores = Array.from(values.subarray(start, start + shape[2]));
  const exponentials = scores.map((score) => Math.exp(score - Math.max(...scores)));
  const weights = exponentials.map((exponential) => exponential / exponentials.reduce((a, b) => a + b));
  const traceWeights = rowsOf(trace, "cross", layer, head)[row];
  if (weights.some((weight, n) => Math.abs(weight - traceWeights[n]) > 1e-4)) {
    throw new LessonUnavailable("its weights are not the softmax of its scores");
  }
  const [best, second] = argsortDescending(scores);
  const shown = scores.map((score) => score.toFixed(2));
  const listed = shown.map((score, n) => `${lesson.token(trace.srcTokens, n)} ${score.replace("-", "−")}`).join(" · ");
  const table = lesson.table({ kind: "cross", layer, head, exact: true }); // the view shows tokens
  const [share, next] = [best, second].map((column) => table.text(row, column));
  return question({
    exhibit: `Scores of one head, writing ${bold(words.target[targetWord])}: ${listed}`,
    options: [
      option(
        `${markText(1 / scores.length)}: the same as each of the ${scores.length} tokens`,
        "Then the scores would make no difference.",
      ),
      option(share),
      option(
        "100%: the highest score takes everything",
        "The softmax is never exactly zero: every token keeps a little weight.",
      ),
    ],
    correct: 1,
    answer:
      `${lesson.token(trace.srcTokens, best)} gets ${share}, and ${
        lesson.token(trace.srcTokens, second)
      }, which has the second highest score, ${next}. The softmax raises e to the power of each score and divides by ` +
      "the sum. All heads shows every step: query times key, division by √d_k, softmax.",
    answerFields: {
      view: "query-key",
      kind: "cross",
      layer,
      head,
      row,
      column: best,
      marks: writeMarks([[row, best], [row, second]]),
    },
    picture: {
      weights: [Array.from(traceWeights)],
      rows: [words.target[targetWord]],
      columns: lesson.names(trace.srcTokens),
      caption: "The weights of this row",
      hidden: trace.srcTokens.map((_, n) => [0, n]),
      marked: [[0, best, share], [0, second, next]],
    },
  });
}

// Layer, head and target word whose largest weight is on a word and closest to 75%.
/** @param {LessonCase} lesson */
function headNear75Percent({ trace, words }) {
  let closest = { distance: Infinity, layer: 0, head: 0, targetWord: 0 };
  for (const layer of layersOf(trace)) {
    for (const targetWord of words.target.keys()) {
      for (const head of headsOf(trace)) {
        const weights = rowsOf(trace, "cross", layer, head)[words.firstRow(targetWord)];
        const best = argmax(weights);
        if (!/^\p{L}+$/u.test(trace.srcTokens[best].replace(/^▁+|▁+$/g, ""))) continue;
        const distance = Math.abs(weights[best] - 0.75);
        const order =
          [distance - closest.distance, layer - closest.layer, head - closest.head, targetWord - closest.targetWord]
            .find((difference) => difference !== 0) ?? 0;
        if (order < 0) closest = { distance, layer, head, targetWord };
      }
    }
  }
  if (closest.distance > 0.2) {
    throw new LessonUnavailable("none of its heads gives a word between 55% and 95% of a row");
  }
  return closest;
}

// The translation with one of its words in bold.
/** @param {string[]} words */
export const withBold = (words, targetWord) =>
  words.map((word, n) => (n === targetWord ? bold(word) : escaped(word))).join(" ");
