// Run by Python tests with deno: applies the browser's model to the cases that Python has written into a folder, and
// prints the results as JSON, for comparison with Python's. Example: `parity.js pieces FOLDER CHECKPOINT`.

import { siteNames, switchedOff, toMean, uniform } from "../../../transformer/client/model/hooks.js";
import { readSafetensors } from "../../../transformer/client/model/safetensors.js";
import { finish, Translator } from "../../../transformer/client/model/translator.js";
import { Vocabulary } from "../../../transformer/client/model/vocabulary.js";
import { changeHooks } from "../../../transformer/client/engine/changes.js";
import { LessonCase, unpackCase } from "../../../transformer/client/trace/questions/case.js";
import { questionOf, QUESTIONS } from "../../../transformer/client/trace/questions/questions.js";
import { unpackGlance } from "../../../transformer/client/views/glance/glance.js";
import { matrixOf } from "../../../transformer/client/common/matrix.js";
import { makeStore } from "../../../transformer/client/views/explorer/store.js";
import { startState } from "../../../transformer/client/trace/explorer-data.js";
import { measureNames } from "../../../transformer/client/trace/head-measures.js";
import { notices } from "../../../transformer/client/trace/sentence-heads.js";
import { unpackTrace } from "../../../transformer/client/trace/packed-trace.js";
import { markedCells, markSentences } from "../../../transformer/client/trace/marks.js";
import { headerOf } from "../../../transformer/client/trace/packing.js";
import { tokenRows, wordRows } from "../../../transformer/client/trace/step-table.js";

const [command, folder, checkpoint, products] = Deno.args;
const readJson = (file) => JSON.parse(Deno.readTextFileSync(file));
const HOOKS = { off: switchedOff, uniform, mean: toMean };

const commands = {
  // Ids of every text, and the text of every list of ids.
  pieces() {
    const vocabulary = new Vocabulary(Deno.readFileSync(`${checkpoint}/vocabulary.model`));
    const { texts, lists } = readJson(`${folder}/cases.json`);
    return { ids: texts.map((text) => vocabulary.encode(text)), texts: lists.map((ids) => vocabulary.decode(ids)) };
  },

  // For each case the ids, the steps, the tree, and the greatest difference of each site from Python's.
  traces() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(readJson(`${checkpoint}/config.json`), parts[0], parts[1], products === "fast");
    return readJson(`${folder}/cases.json`).map(({ text, options, heads, how }, i) => {
      const names = siteNames(translator.model.config);
      const originalSites = how === "mean" ? finish(translator.trace(text)).sites : null;
      const hooks = how ? HOOKS[how](heads, how === "mean" ? [originalSites] : undefined) : null;
      const trace = finish(translator.trace(text, { ...options, hooks, names }));
      const expected = readSafetensors(Deno.readFileSync(`${folder}/${i}.safetensors`));
      const differences = Object.fromEntries(
        Object.entries(expected).map(([name, tensor]) => [name, maxDifference(tensor, trace.sites[name])]),
      );
      const { ids, text: output, score, logProbability, steps, tree } = trace;
      return { ids, text: output, score, logProbability, steps, tree, differences };
    });
  },

  // Why each of these changes of a text does not fit.
  async problems() {
    const translator = readTranslator();
    const { text, changes } = readJson(`${folder}/cases.json`);
    const trace = finish(translator.trace(text));
    const means = () => Promise.resolve([]);
    return await Promise.all(changes.map(async (change) => (await changeHooks(trace, trace, change, means)).problems));
  },

  // The question of every lesson about every text, or why there is none, by the model in the browser.
  async questions() {
    const translator = readTranslator();
    const { texts, aligner } = readJson(`${folder}/cases.json`);
    const translate = (text) => finish(translator.trace(text)).text;
    return await Promise.all(texts.map(async (text) => {
      const makeCase = () => new LessonCase(finish(translator.trace(text)), { aligner, translate });
      const questions = Object.keys(QUESTIONS).map(async (name) => [name, await questionOf(name, makeCase)]);
      return Object.fromEntries(await Promise.all(questions));
    }));
  },

  // The questions about the packed cases in a folder, as a lesson's view makes them.
  async lessons() {
    const files = Array.from(Deno.readDirSync(folder), ({ name }) => Number(name)).sort((a, b) => a - b);
    const replies = [];
    for (const file of files) {
      const bytes = Deno.readFileSync(`${folder}/${file}`);
      const { lesson, translations, exact } = headerOf(bytes);
      replies.push(await questionOf(lesson, unpackCase(bytes, (text) => Promise.resolve(translations[text]), exact)));
    }
    return replies;
  },

  // What the explorer marks and writes in the states of cases.json, each with the bytes in the file of its number: by
  // the numbers of rows and columns, and the sentences above the view.
  marks() {
    return readJson(`${folder}/cases.json`).map((fields, i) => {
      const store = makeStore(() => {});
      const { header } = store.load(Deno.readFileSync(`${folder}/${i}`));
      const exact = fields.view === "query-key" ? 1 : fields.exact ?? 0; // a view of tokens
      const state = startState(store.sides[0], { ...header.defaults, ...fields, exact }, () => []);
      const m = matrixOf(store.sides[0], state);
      return {
        cells: markedCells(m, fields.marks),
        sentences: markSentences(m, fields.marks),
        rows: m.rows.map(({ members }) => members),
        columns: m.columns.map(({ members }) => members),
      };
    });
  },

  // What the views derive from the bytes in a file: of the explorer, of the first page, and the table of steps.
  explorer() {
    const store = makeStore(() => {});
    const { header } = store.load(Deno.readFileSync(folder));
    const headNotices = notices(store.sides[0].trace, header.aligner);
    return {
      header,
      start: startState(store.sides[0], { ...header.defaults, ...header.start }, () => headNotices),
      notices: headNotices.map((headNotice) => ({
        ...headNotice,
        drawn: drawnMatrix(store.sides[0], header, headNotice),
      })),
      pairs: store.pairs,
      sides: store.sides.map((side) => ({
        src: side.src,
        tgt: side.tgt,
        predicted: side.predicted,
        clearest: { ...side.clearest },
        measures: { ...side.measures },
        measureNames: Object.fromEntries(side.kinds.map((kind) => [kind, measureNames(side.trace, kind)])),
        pins: Object.fromEntries(side.kinds.map((kind) => [kind, pinsOf(side.pinWeights[kind])])),
        thumbs: Object.fromEntries(side.kinds.map((kind) => [kind, thumbsOf(side, kind)])),
      })),
    };
  },
  glance: () => unpackGlance(Deno.readFileSync(folder), { prefix: readPrefix() }),
  table: () => tableOf(readJson(folder)),
};

function readTranslator() {
  const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
  return new Translator(readJson(`${checkpoint}/config.json`), parts[0], parts[1]);
}

// The table that the view of a notice draws: words, and weights by row.
function drawnMatrix(side, { defaults }, { state }) {
  const { rows, columns, nColumns, values } = matrixOf(side, { ...defaults, ...state, exact: 0 });
  return {
    rows: rows.map(({ text, members }) => ({ text, members })),
    columns: columns.map(({ text }) => text),
    weights: rows.map((_, r) => [...values.slice(r * nColumns, (r + 1) * nColumns)]),
  };
}

const readPrefix = () => Array(Number(checkpoint ?? 0)).fill(0);
const pinsOf = (pins) =>
  Object.fromEntries(
    Object.entries(pins).map(([way, { weights, others, words }]) => [way, {
      weights: [...weights],
      others: [...others],
      words,
    }]),
  );
const thumbsOf = (side, kind) =>
  Array.from({ length: side.depths[kind] }, (_, layer) =>
    Array.from({ length: side.n_heads }, (__, head) => {
      const { values, height, width } = side.thumb(kind, layer, head);
      return { values: [...values], height, width };
    }));

// The greatest difference of two tensors; null if their sizes differ.
function maxDifference(a, b) {
  if (a.values.length !== b?.values.length) return null;
  return a.values.reduce((max, value, i) => Math.max(max, Math.abs(value - b.values[i])), 0);
}

console.log(JSON.stringify(await commands[command]()));

// The rows of the table of decoding steps.
function tableOf(data) {
  const trace = unpackTrace(data.trace, null);
  return data.words ? wordRows(trace, data.alternatives, data) : tokenRows(trace, data);
}
