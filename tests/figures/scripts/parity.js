// Run by test_browser_model.py with deno: what the model in the browser makes of what Python has written into a
// folder, as JSON on standard output: `parity.js pieces FOLDER CHECKPOINT`, for example.

import { siteNames, switchedOff, toMean, uniform } from "../../../transformer/figures/browser/model/hooks.js";
import { readSafetensors } from "../../../transformer/figures/browser/model/safetensors.js";
import { finish, Translator } from "../../../transformer/figures/browser/model/translator.js";
import { Vocabulary } from "../../../transformer/figures/browser/model/vocabulary.js";
import { LessonCase, NotShown } from "../../../transformer/figures/browser/questions/case.js";
import { CHECKS, QUESTIONS } from "../../../transformer/figures/browser/questions/questions.js";
import { explorerData, explorerPart } from "../../../transformer/figures/browser/trace/explorer-data.js";
import { glanceData } from "../../../transformer/figures/browser/trace/glance-data.js";
import { wordAlternatives } from "../../../transformer/figures/browser/trace/alternatives.js";

const [what, folder, checkpoint, products] = Deno.args;
const json = (file) => JSON.parse(Deno.readTextFileSync(file));
const HOOKS = { off: switchedOff, uniform, mean: toMean };

const run = {
  // Ids of every text, and the text of every list of ids.
  pieces() {
    const vocabulary = new Vocabulary(Deno.readFileSync(`${checkpoint}/vocabulary.model`));
    const { texts, lists } = json(`${folder}/cases.json`);
    return { ids: texts.map((text) => vocabulary.encode(text)), texts: lists.map((ids) => vocabulary.decode(ids)) };
  },

  // Of each case the ids, the steps, the tree, and how far each site is from Python's, at most.
  traces() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(json(`${checkpoint}/config.json`), parts[0], parts[1], products === "fast");
    return json(`${folder}/cases.json`).map(({ text, options, heads, how }, i) => {
      const names = siteNames(translator.model.config);
      const plain = how === "mean" ? finish(translator.trace(text)).sites : null;
      const hooks = how ? HOOKS[how](heads, plain) : null;
      const trace = finish(translator.trace(text, { ...options, hooks, names }));
      const expected = readSafetensors(Deno.readFileSync(`${folder}/${i}.safetensors`));
      const differences = Object.fromEntries(Object.entries(expected).map(([name, tensor]) => [name, farthest(tensor, trace.sites[name])]));
      const { ids, text: output, score, logProbability, steps, tree } = trace;
      return { ids, text: output, score, logProbability, steps, tree, differences };
    });
  },

  // The question of every lesson about every text, or why there is none, and the answers to some checks.
  async questions() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(json(`${checkpoint}/config.json`), parts[0], parts[1]);
    const { texts, aligner, checks } = json(`${folder}/cases.json`);
    const headsOf = (off) => off.split(",").filter(Boolean).flatMap((one) => Array.from({ length: 8 }, (_, head) => ({ kind: "cross", layer: Number(one[1]), head })));
    const translate = (text, off = "") => finish(translator.trace(text, { hooks: off ? switchedOff(headsOf(off)) : null })).text;
    const found = [];
    for (const text of texts) {
      const lesson = new LessonCase(finish(translator.trace(text)), { aligner, translate });
      const questions = {};
      for (const [name, build] of Object.entries(QUESTIONS)) {
        try {
          questions[name] = await build(lesson);
        } catch (error) {
          if (!(error instanceof NotShown)) throw error;
          questions[name] = error.message;
        }
      }
      const checked = [];
      for (const [name, fields] of checks) checked.push(await CHECKS[name](lesson, fields));
      found.push({ questions, checked });
    }
    return found;
  },

  // What the views are given, of each text: the explorer's bytes in base 64, the glance with its alternatives.
  views() {
    const parts = ["model.safetensors", "vocabulary.model"].map((file) => Deno.readFileSync(`${checkpoint}/${file}`));
    const translator = new Translator(json(`${checkpoint}/config.json`), parts[0], parts[1]);
    const { texts, fixed, aligner } = json(`${folder}/cases.json`);
    const traces = texts.map((text) => finish(translator.trace(text)));
    return traces.map((trace, i) => {
      const both = [trace, traces[(i + 1) % traces.length]];
      const bytes = explorerData(both, { fixed, start: {}, visit: 3, secondKind: "other", model: "m", id: String(i) });
      const measured = explorerData([trace], { fixed, start: {}, visit: 3, model: "m", id: "a", aligner });
      const later = ["0.weights.cross.2", "1.weights.decoder.0", "0.scores.encoder.1.3", "1.value.cross.0.1"].map((name) => explorerPart(both, name));
      return {
        explorer: bytes.toBase64(), measured: measured.toBase64(), later: later.map((part) => ({ ...part, values: [...part.values] })),
        glance: glanceData(trace, { alternatives: wordAlternatives(translator, trace), taken: 1 }),
        aligned: glanceData(trace, { aligner }),
      };
    });
  },
};

// The greatest difference of two tensors; null where they are not of one shape.
function farthest(a, b) {
  if (a.values.length !== b?.values.length) return null;
  return a.values.reduce((most, value, i) => Math.max(most, Math.abs(value - b.values[i])), 0);
}

console.log(JSON.stringify(await run[what]()));
