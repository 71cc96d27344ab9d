// Run by Python tests with deno: applies the browser's model to the cases that Python has written into a folder, and
// prints the results as JSON, for comparison with Python's. Example: `parity.js pieces FOLDER CHECKPOINT`.

import { siteNames, switchedOff, toMean, uniform } from "../../../transformer/figures/browser/model/hooks.js";
import { readSafetensors } from "../../../transformer/figures/browser/model/safetensors.js";
import { finish, Translator } from "../../../transformer/figures/browser/model/translator.js";
import { Vocabulary } from "../../../transformer/figures/browser/model/vocabulary.js";
import { LessonCase, LessonUnavailable } from "../../../transformer/figures/browser/questions/case.js";
import { CHECKS, QUESTIONS } from "../../../transformer/figures/browser/questions/questions.js";
import { explorerData, explorerPart } from "../../../transformer/figures/browser/trace/explorer-data.js";
import { glanceData } from "../../../transformer/figures/browser/trace/glance-data.js";
import { wordAlternatives } from "../../../transformer/figures/browser/trace/alternatives.js";

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
      const hooks = how ? HOOKS[how](heads, originalSites) : null;
      const trace = finish(translator.trace(text, { ...options, hooks, names }));
      const expected = readSafetensors(Deno.readFileSync(`${folder}/${i}.safetensors`));
      const differences = Object.fromEntries(
        Object.entries(expected).map(([name, tensor]) => [name, maxDifference(tensor, trace.sites[name])]),
      );
      const { ids, text: output, score, logProbability, steps, tree } = trace;
      return { ids, text: output, score, logProbability, steps, tree, differences };
    });
  },

  // The question of every lesson about every text, or why there is none, and the answers to some checks.
  async questions() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(readJson(`${checkpoint}/config.json`), parts[0], parts[1]);
    const { texts, aligner, checks, checked: checkedTexts } = readJson(`${folder}/cases.json`);
    const headsOf = (off) =>
      off.split(",").filter(Boolean).flatMap((code) => {
        const [layer, head] = code.slice(1).split(".").map(Number);
        const heads = head === undefined ? [0, 1, 2, 3, 4, 5, 6, 7] : [head];
        return heads.map((head) => ({ kind: "cross", layer, head }));
      });
    const translate = (text, off = "") =>
      finish(translator.trace(text, { hooks: off ? switchedOff(headsOf(off)) : null })).text;
    const results = [];
    for (const text of texts) {
      const lesson = new LessonCase(finish(translator.trace(text)), { aligner, translate });
      const questions = {};
      for (const [name, build] of Object.entries(QUESTIONS)) {
        try {
          questions[name] = await build(lesson);
        } catch (error) {
          if (!(error instanceof LessonUnavailable)) throw error;
          questions[name] = error.message;
        }
      }
      const checked = [];
      for (const [name, fields] of checkedTexts.includes(text) ? checks : []) {
        checked.push(await CHECKS[name](lesson, fields));
      }
      results.push({ questions, checked });
    }
    return results;
  },

  // For each text the data of the views: the explorer's bytes in base 64, and the first page's with alternatives.
  views() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(readJson(`${checkpoint}/config.json`), parts[0], parts[1]);
    const { texts, fixed, aligner } = readJson(`${folder}/cases.json`);
    const traces = texts.map((text) => finish(translator.trace(text)));
    return traces.map((trace, i) => {
      const both = [trace, traces[(i + 1) % traces.length]];
      const bytes = explorerData(both, { fixed, start: {}, visit: 3, secondKind: "other", model: "m", id: String(i) });
      const measured = explorerData([trace], { fixed, start: {}, visit: 3, model: "m", id: "a", aligner });
      const later = ["0.weights.cross.2", "1.weights.decoder.0", "0.scores.encoder.1.3", "1.value.cross.0.1"].map((
        name,
      ) => explorerPart(both, name));
      return {
        explorer: bytes.toBase64(),
        measured: measured.toBase64(),
        later: later.map((part) => ({ ...part, values: [...part.values] })),
        glance: glanceData(trace, { alternatives: finish(wordAlternatives(translator, trace)), forcedPieces: 1 }),
        aligned: glanceData(trace, { aligner }),
      };
    });
  },
};

// The greatest difference of two tensors; null if their sizes differ.
function maxDifference(a, b) {
  if (a.values.length !== b?.values.length) return null;
  return a.values.reduce((max, value, i) => Math.max(max, Math.abs(value - b.values[i])), 0);
}

console.log(JSON.stringify(await commands[command]()));
