// The model in a worker, so that the page never freezes. It loads a model, answers the page's requests, and
// cancels requests that a newer one of the same kind replaces.  A request is { id, kind, model, … }; the answer
// is { id, result } or { id, problem }, a sentence. While a model is loading it sends { loading: { model,
// loaded, bytes } }.

import { switchedOff, toMean, uniform } from "../model/hooks.js";
import { BadText, forcedPrefix, Translator } from "../model/translator.js";
import { LessonCase, NotShown } from "../questions/case.js";
import { CHECKS, QUESTIONS } from "../questions/questions.js";
import { explorerData, partOf } from "../trace/explorer-data.js";
import { glanceData } from "../trace/glance-data.js";
import { pack, pool, quantize } from "../trace/packing.js";
import { rivalWords } from "../trace/rivals.js";
import { fetchFile } from "./model-files.js";

const MAX_TRACES = 6;
const LETTERS = { e: "encoder", d: "decoder", c: "cross" };
const MAX_THUMBNAIL_CELLS = 24; // maximum height and width of a head's thumbnail
const CHANGES = { off: switchedOff, uniform, mean: toMean };

/** @type {any} */
let site = null; // data from Python for all sentences: the models and their files, names of kinds, the explorer's fixed header
/** @type {Map<string, Promise<Translator>>} */
const translators = new Map();
/** @type {Map<string, import("../model/translator.js").Trace>} */
const traces = new Map(); // by request, the newest last
/** @type {Map<string, number>} */
const newest = new Map(); // id of the last request of each kind

class Superseded extends Error {}

self.addEventListener("message", async ({ data }) => {
  if (data.site) { site = data.site; return; }
  newest.set(data.kind, data.id);
  try {
    const { result, transfer = [] } = await answers[data.kind](data);
    self.postMessage({ id: data.id, result }, { transfer });
  } catch (error) {
    if (error instanceof Superseded) self.postMessage({ id: data.id, superseded: true });
    else self.postMessage({ id: data.id, problem: error instanceof Error ? error.message : String(error), badText: error instanceof BadText });
  }
});

const answers = {
  async load(question) {
    await translator(question.model);
    return { result: true };
  },

  // The translation for the first page, with alternatives if they are requested.
  async glance(question) {
    const engine = await translator(question.model);
    const trace = await traced(engine, question);
    const rivals = question.rivals ? rivalWords(engine, trace) : [];
    const { aligner } = site.models[question.model];
    return { result: { ...glanceData(trace, { rivals, taken: question.prefix?.length ?? 0, aligner }), unknown: unknownWords(engine, question.text) } };
  },

  // The explorer's bytes, and why a token cannot be forced. A second side has another text, a forced token, or
  // changed heads.
  async explore(question) {
    const engine = await translator(question.model);
    const { sides, traces, versus, refused } = await tracedSides(engine, question);
    const names = traces.length > 1 ? sides[1].off ? ["as trained", "heads changed"] : ["A", "B"] : ["", ""];
    const bytes = explorerData(traces, {
      fixed: site.explorer, start: question.start, visit: question.visit, versus, names,
      model: question.model, id: JSON.stringify([question.model, sides, question.beam, question.how]), aligner: site.models[question.model].aligner,
    });
    return { result: { bytes, refused }, transfer: [bytes.buffer] };
  },

  // Weights of a layer or vectors of a head, for a view that needs them.
  async part(question) {
    const engine = await translator(question.model);
    const { traces } = await tracedSides(engine, question, "explore");
    return { result: partOf(traces, question.name) };
  },

  // The switchboard, and the translation with and without the changed heads.
  async heads(question) {
    const engine = await translator(question.model);
    const plain = await traced(engine, { ...question, off: "" });
    const altered = question.off ? await traced(engine, question) : plain;
    const summary = ({ text, score, finished }) => ({ text, score, finished });
    return { result: { board: switchboard(plain, question.off), plain: summary(plain), altered: summary(altered) } };
  },

  // A lesson's question about the first of these texts that shows its phenomenon, or why none does.
  async lesson(question) {
    let missing = "";
    for (const text of question.texts) {
      try {
        return { result: { text, question: await QUESTIONS[question.lesson](await lessonCase({ ...question, text })) } };
      } catch (error) {
        if (!(error instanceof NotShown)) throw error;
        missing ||= error.message;
      }
    }
    return { result: { missing } };
  },

  // Whether the selection in a view solves the lesson.
  async check(question) {
    const lesson = await lessonCase(question);
    const count = new Set(headsOf(question.fields.off, lesson.trace.config).map((head) => JSON.stringify(head))).size;
    return { result: await CHECKS[question.lesson](lesson, { ...question.fields, count }) };
  },
};

// A lesson's sentence with its translation; it can also translate other texts and switch heads off.
async function lessonCase(question) {
  const engine = await translator(question.model);
  const translate = async (text, off = "") => (await traced(engine, { ...question, text, off })).text;
  return new LessonCase(await traced(engine, question), { aligner: site.models[question.model].aligner, translate });
}

// The model, loaded once; a failed attempt can be repeated.
/** @param {string} name */
function translator(name) {
  if (!translators.has(name)) {
    const loading = loadTranslator(name);
    loading.catch(() => translators.delete(name));
    translators.set(name, loading);
  }
  return translators.get(name);
}

async function loadTranslator(name) {
  const { config, files } = site.models[name];
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const loaded = files.map(() => 0);
  let [stored, failed] = [true, false];
  const parts = await Promise.all(files.map(async (file, i) => {
    const download = await fetchFile(file, (count) => {
      loaded[i] = count;
      if (!failed) self.postMessage({ loading: { model: name, bytes, loaded: loaded.reduce((a, b) => a + b) } });
    }).catch((error) => {
      failed = true; // progress of the other file would hide the reason
      throw error;
    });
    stored &&= download.stored;
    return download.bytes;
  }));
  const engine = new Translator(config, parts[0], parts[1]);
  self.postMessage({ loading: { model: name, bytes, loaded: bytes, ready: true, stored } });
  return engine;
}

// The trace for a request: cached, or computed step by step, with a check for messages between steps.
/** @param {Translator} engine @param {any} question @param {string} kind whose newer questions end this one */
async function traced(engine, question, kind = question.kind) {
  const { model, text, prefix = [], beam = 1, off = "", how = "off" } = question;
  const key = JSON.stringify([model, text, prefix, beam, off, off && how]);
  if (!traces.has(key)) {
    const heads = headsOf(off, engine.model.config);
    let hooks = null;
    if (heads.length) {
      const mean = how === "mean" ? (await traced(engine, { ...question, off: "" }, kind)).sites : {};
      hooks = CHANGES[how](heads, mean);
    }
    const steps = engine.trace(text, { prefix, beamSize: beam, hooks });
    for (;;) {
      const { done, value } = steps.next();
      if (done) {
        traces.set(key, /** @type {any} */ (value));
        break;
      }
      await nextMessages();
      if (kind === question.kind && newest.get(kind) !== question.id) throw new Superseded();
    }
  }
  const cached = traces.get(key);
  traces.delete(key);
  traces.set(key, cached); // most recently used
  for (const old of [...traces.keys()].slice(0, -MAX_TRACES)) traces.delete(old);
  return cached;
}

// The traces that the explorer shows: the sentence, and the one to compare with.
/** @param {Translator} engine @param {any} question @param {string} kind */
async function tracedSides(engine, question, kind = question.kind) {
  const { text, other, off, force = "" } = question;
  const first = { text, off: "" };
  const traces = [await traced(engine, { ...question, ...first }, kind)];
  const second = force ? { text, off: "", prefix: [] } : other ? { text: other, off: "" } : off ? { text, off } : null;
  if (!second) return { sides: [first], traces, versus: "", refused: "" };
  if ("prefix" in second) {
    try {
      second.prefix = forcedPrefix(traces[0], force);
    } catch (error) {
      return { sides: [first], traces, versus: "refused", refused: `That token cannot be forced: ${error.message}` };
    }
  }
  traces.push(await traced(engine, { ...question, ...second }, kind));
  return { sides: [first, second], traces, versus: "prefix" in second ? "force" : "other", refused: "" };
}

// Waits until pending messages have been handled.
const channel = new MessageChannel();
function nextMessages() {
  return new Promise((done) => {
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });
}

// Heads as in the address, "e3.2,c5": encoder layer 3, head 2, and all heads of cross-attention layer 5.
function headsOf(off, { n_layers, n_heads }) {
  return off.split(",").filter(Boolean).flatMap((one) => {
    const [layer, head] = one.slice(1).split(".").map(Number);
    const numbers = head === undefined ? Array.from({ length: n_heads }, (_, i) => i) : [head];
    const known = one[0] in LETTERS && layer < n_layers;
    return known ? numbers.filter((number) => number < n_heads).map((number) => ({ kind: LETTERS[one[0]], layer, head: number })) : [];
  });
}

// The data of switchboard.js.
function switchboard(trace, off) {
  const { n_layers, n_heads } = trace.config;
  const kinds = Object.entries(LETTERS).map(([letter, name]) => ({ name, letter, label: site.kinds[name] }));
  const parts = kinds.map(({ name }) => {
    const small = Array.from({ length: n_layers }, (_, layer) => pool(trace.weights(name, layer), MAX_THUMBNAIL_CELLS));
    const values = new Float32Array(small.reduce((sum, one) => sum + one.values.length, 0));
    small.forEach((one, i) => values.set(one.values, i * one.values.length));
    return quantize(`thumbs.${name}`, { shape: [n_layers, ...small[0].shape], values }, 255);
  });
  return pack({ kinds, n_layers, n_heads, off, moved: false, chosen: null, large: false, exact: false }, parts);
}

// Words with unknown tokens.
/** @param {Translator} engine @param {string} text */
function unknownWords({ vocabulary }, text) {
  const words = [...new Set(text.split(/\s+/u))].filter(Boolean);
  return words.filter((word) => vocabulary.encode(word).includes(vocabulary.unknown)).slice(0, 5);
}
