// Run by test_browser_model.py with deno: what the model in the browser makes of what Python has written into a
// folder, as JSON on standard output. `parity.js pieces FOLDER`, `parity.js traces FOLDER`.

import { siteNames, switchedOff, toMean, uniform } from "../../../transformer/figures/browser/model/hooks.js";
import { readSafetensors } from "../../../transformer/figures/browser/model/safetensors.js";
import { finish, Translator } from "../../../transformer/figures/browser/model/translator.js";
import { Vocabulary } from "../../../transformer/figures/browser/model/vocabulary.js";

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
};

// The greatest difference of two tensors; null where they are not of one shape.
function farthest(a, b) {
  if (a.values.length !== b?.values.length) return null;
  return a.values.reduce((most, value, i) => Math.max(most, Math.abs(value - b.values[i])), 0);
}

console.log(JSON.stringify(run[what]()));
