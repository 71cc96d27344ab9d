// The model in a worker, so that the page never freezes. It loads a model, answers the page's requests, and
// cancels requests that a newer one of the same kind replaces. A request is { id, kind, model, … }; the answer
// is { id, result } or { id, problem }, a sentence. While a model is loading it sends { loading: { model,
// loaded, bytes } }.

import { indices } from "../common/base.js";
import { LETTERS } from "../common/head-codes.js";
import { nextMessages } from "../model/next-messages.js";
import { headsOf, siteNames, siteOf, switchedOff } from "../model/hooks.js";
import { blankRow, importances } from "../model/interventions.js";
import { contributionNorms } from "../model/norms.js";
import { forcedPrefix, Translator } from "../model/translator.js";
import { symbolPieces } from "../model/vocabulary.js";
import { LessonCase } from "../trace/questions/case.js";
import { questionOf, QUESTIONS } from "../trace/questions/questions.js";
import { fitsStrip } from "../trace/glance-data.js";
import { packTrace, vectorPart, vectorParts } from "../trace/pack-trace.js";
import { pack, prefixed } from "../trace/packing.js";
import { wordAlternatives } from "../trace/alternatives.js";
import { changeHooks, changesOf, UNCHANGED } from "./changes.js";
import { fetchFile } from "./model-files.js";

const MAX_TRACES = 6;
const COURSE_FILE = "../../lessons.json"; // the lessons, and the questions that Python makes, by lesson and model
const NO_QUESTION = "only the full app can ask this question about this model";

/** @type {any} */
let site = null; // data from Python for all sentences: the models and their files, the explorer's fixed header
/** @type {Map<string, Promise<Translator>>} */
const translators = new Map();
/** @type {Map<string, import("../model/translator.js").Trace>} */
const traces = new Map(); // by request, the newest last
/** @type {Promise<any> | null} */
let course = null;
/** @type {Map<string, number>} */
const lastRequestIds = new Map(); // id of the last request of each kind

class Superseded extends Error {}
class LoadError extends Error {}

self.addEventListener("message", async ({ data }) => {
  if (data.site) {
    site = data.site;
    return;
  }
  lastRequestIds.set(data.kind, data.id);
  try {
    const { result, transfer = [] } = await handlers[data.kind](data);
    self.postMessage({ id: data.id, result }, { transfer });
  } catch (error) {
    if (error instanceof Superseded) self.postMessage({ id: data.id, superseded: true });
    else {self.postMessage({
        id: data.id,
        problem: error instanceof Error ? error.message : String(error),
        isLoadError: error instanceof LoadError,
      });}
  }
});

const handlers = {
  async load(request) {
    await getTranslator(request.model);
    return { result: { languages: [], facts: [], symbols: null } };
  },

  // The translation for the first page, with alternatives if they are requested.
  async glance(request) {
    const translator = await getTranslator(request.model);
    const trace = await getTrace(translator, request);
    const heads = headsOf(request.off ?? "", translator.model.config);
    const alternatives = request.with_alternatives
      ? await runWhileCurrent(wordAlternatives(translator, trace, heads.length ? switchedOff(heads) : null), request)
      : [];
    const original = request.off ? await getTrace(translator, { ...request, ...UNCHANGED }) : null;
    const { description, parts } = packTrace(trace, { kinds: ["cross"] });
    const header = {
      trace: description,
      alternatives: alternatives.map((ofWord) =>
        ofWord.map(({ text, first, step, ids }) => ({ text, p: first, step, ids }))
      ),
      original: original && packTrace(original, { kinds: [] }).description,
      unknown: unknownWords(translator, request.text),
      has_strip: fitsStrip(trace),
    };
    return { result: pack(header, parts) };
  },

  // The explorer's bytes, and why a token cannot be forced. A second side has another text, a forced token, or
  // changed heads.
  async explore(request) {
    const translator = await getTranslator(request.model);
    const { sides, traces, secondKind, refused } = await getTraces(translator, request);
    const isChanged = changesOf(sides.at(-1)).length > 0;
    const models = sides.map(({ model = request.model }) => model);
    const isOtherModel = models.length > 1 && models[0] !== models[1];
    const names = traces.length < 2
      ? ["", ""]
      : isChanged
      ? ["as trained", "changed"]
      : isOtherModel
      ? models
      : ["A", "B"];
    const id = JSON.stringify([models, sides, decodingFields(request), request.ablation]);
    const packed = traces.map((trace, i) => packTrace(trace, { name: names[i], model: models[i], id: `${id}.${i}` }));
    const header = {
      ...site.explorer,
      sides: packed.map(({ description }) => description),
      start: request.start,
      visit: request.visit,
      second_kind: secondKind,
      aligner: site.models[request.model].aligner,
      has_notices: true,
      later: traces.flatMap((trace, side) => prefixed(vectorParts(trace), side)),
    };
    const bytes = pack(header, packed.flatMap(({ parts }, side) => prefixed(parts, side)));
    return { result: { bytes, refused }, transfer: [bytes.buffer] };
  },

  // Vectors of a head, for a view that needs them, by a name such as "0.query.cross.5.2".
  async part(request) {
    const translator = await getTranslator(request.model);
    const { traces } = await getTraces(translator, request, "explore");
    return { result: vectorPart(traces[Number(request.name[0])], request.name.slice(2)) };
  },

  // The sentence as it is and, if something is changed, with the changes: the original's tokens under the changed
  // model, and what that model writes itself.
  async change(request) {
    const translator = await getTranslator(request.model);
    const { original, donor, hooks, problems } = await changesIn(translator, request);
    const sides = [original];
    let altered = null;
    if (hooks) {
      const { text } = request;
      const search = searchOf(translator, request);
      sides.push(await runWhileCurrent(translator.trace(text, { target: original.ids, hooks }), request));
      altered = await runWhileCurrent(translator.trace(text, { ...search, hooks, names: [] }), request);
    }
    const packed = sides.map((trace) => packTrace(trace, { model: request.model }));
    const header = {
      sides: packed.map(({ description }) => description),
      altered: altered && { text: altered.text, ids: altered.ids, finished: altered.finished },
      problems,
      sites: siteNames(translator.model.config),
      donor: { src: donor.srcTokens, tgt: donor.tgtTokens },
    };
    return { result: pack(header, packed.flatMap(({ parts }, side) => prefixed(parts, side))) };
  },

  // How much less probable the translation, or the token of one step, is without each head, in nats, by the head's code.
  async importance(request) {
    const translator = await getTranslator(request.model);
    const trace = await getTrace(translator, { ...request, ...UNCHANGED });
    const losses = await runWhileCurrent(importances(translator, trace, request.step ?? -1), request);
    return {
      result: losses.map(({ head: { kind, layer, head }, loss }) => [`${LETTERS[kind]}${layer}.${head}`, loss]),
    };
  },

  // Of one head: the norm of what every cell adds, and for the cells of a row what blanking each changes.
  async cells(request) {
    const translator = await getTranslator(request.model);
    const { head, row } = request;
    const trace = await getTrace(translator, { ...request, ...UNCHANGED });
    const norms = contributionNorms(translator.model, trace, head);
    const effects = row < 0 ? [] : await runWhileCurrent(blankRow(translator, trace, head, row), request);
    return { result: { norms: [...norms.values], effects } };
  },

  async translate(request) {
    const { text } = await getTrace(await getTranslator(request.model), request);
    return { result: { text } };
  },

  async lessons() {
    const { lessons, end } = await getCourse();
    return { result: { lessons, end } };
  },

  // A lesson's question about the first of these texts that shows its phenomenon, or why none does.
  async lesson(request) {
    if (!Object.hasOwn(QUESTIONS, request.lesson)) {
      const { questions } = await getCourse();
      return { result: questions[request.lesson]?.[request.model] ?? { missing: NO_QUESTION } };
    }
    let missing = "";
    for (const text of request.texts) {
      const lesson = await lessonCase({ ...request, text });
      const reply = await questionOf(request.lesson, lesson);
      if (reply.question) return { result: { text, question: reply.question } };
      missing ||= reply.missing;
    }
    return { result: { missing } };
  },
};

// The content of COURSE_FILE; a failed attempt can be repeated.
function getCourse() {
  course ??= fetch(new URL(COURSE_FILE, import.meta.url)).then((response) => response.json()).catch(() => {
    course = null;
    throw new Error("The lessons could not be fetched: check the connection, and reload the page.");
  });
  return course;
}

// Makes a lesson's sentence with its translation; it can also translate other texts.
async function lessonCase(request) {
  const translator = await getTranslator(request.model);
  const translate = async (text) => (await getTrace(translator, { ...request, text })).text;
  const trace = await getTrace(translator, request);
  const { aligner } = site.models[request.model];
  return () => new LessonCase(trace, { aligner, exact: request.exact, translate });
}

// The model, loaded once; a failed attempt is reported to the page and can be repeated.
/** @param {string} name */
function getTranslator(name) {
  if (!translators.has(name)) {
    const loading = loadTranslator(name).catch((error) => {
      translators.delete(name);
      self.postMessage({ loading: { model: name, problem: error.message } });
      throw new LoadError(error.message);
    });
    translators.set(name, loading);
  }
  return translators.get(name);
}

async function loadTranslator(name) {
  const { config, files, symbols, safetensors } = site.models[name];
  if (safetensors) { // trained in this browser
    const translator = new Translator(config, safetensors, symbolPieces(symbols));
    self.postMessage({ loading: { model: name, ready: true, stored: true } });
    return translator;
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const loaded = files.map(() => 0);
  let failed = false;
  const downloads = await Promise.all(files.map((file, i) =>
    fetchFile(file, (count) => {
      loaded[i] = count;
      if (!failed) self.postMessage({ loading: { model: name, bytes, loaded: loaded.reduce((a, b) => a + b) } });
    }).catch((error) => {
      failed = true; // progress of the other file would hide the reason
      throw error;
    })
  ));
  const translator = new Translator(config, downloads[0].bytes, downloads[1].bytes);
  const stored = downloads.every((download) => download.stored);
  self.postMessage({ loading: { model: name, bytes, loaded: bytes, ready: true, stored } });
  return translator;
}

// The trace for a request: cached, or computed step by step, with a check for messages between steps.
/** @param {Translator} translator @param {any} request @param {string} kind the kind of request whose newer ones cancel this one */
async function getTrace(translator, request, kind = request.kind) {
  const { model, text, prefix = [] } = request;
  const changes = changesOf(request);
  const key = JSON.stringify([model, text, prefix, decodingFields(request), changes]);
  if (!traces.has(key)) {
    const { hooks } = changes.length ? await changesIn(translator, request, kind) : { hooks: null };
    traces.set(
      key,
      await runWhileCurrent(translator.trace(text, { prefix, ...searchOf(translator, request), hooks }), request, kind),
    );
  }
  const cached = traces.get(key);
  traces.delete(key);
  traces.set(key, cached); // most recently used
  for (const old of [...traces.keys()].slice(0, -MAX_TRACES)) traces.delete(old);
  return cached;
}

// How a request's sentence is translated, as options of `Translator.trace`.
/** @param {Translator} translator @param {any} request */
function searchOf({ vocabulary }, request) {
  const { method = "greedy", beam_size: beamSize = 4, length_penalty: alpha = 0.6, target = "" } = request;
  if (method === "beam") return { beamSize, alpha };
  if (method === "forced") return { target: vocabulary.encode(target) };
  if (method === "sample") throw new Error("Sampling needs the app with its server; choose another decoding method.");
  return {};
}

const decodingFields = ({ method, beam_size, length_penalty, target }) => [method, beam_size, length_penalty, target];

// The hooks of the changes that a request names, with the traces that they refer to.
/** @param {Translator} translator @param {any} request @param {string} kind */
async function changesIn(translator, request, kind = request.kind) {
  const original = await getTrace(translator, { ...request, ...UNCHANGED }, kind);
  const donor = await getTrace(translator, { ...request, ...UNCHANGED, text: request.other || request.text }, kind);
  const means = () => exampleTraces(translator, request, kind);
  return { original, donor, ...await changeHooks(original, donor, request, means) };
}

// The traces over which a mean ablation takes the mean: those of the model's examples.
/** @param {Translator} translator @param {any} request @param {string} kind */
async function exampleTraces(translator, request, kind) {
  const { config } = translator.model;
  const kinds = Object.keys(LETTERS);
  const names = kinds.flatMap((kind) => indices(config.n_layers).map((layer) => siteOf(kind, layer, "heads")));
  const traces = [];
  for (const text of site.models[request.model].examples) {
    traces.push(await runWhileCurrent(translator.trace(text, { names }), request, kind));
  }
  return traces;
}

// The value of a generator, which runs while no newer request of this kind arrives; it checks after every step.
/** @template T @param {Generator<unknown, T>} steps @param {any} request @param {string} kind @returns {Promise<T>} */
async function runWhileCurrent(steps, request, kind = request.kind) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return /** @type {T} */ (value);
    await nextMessages();
    if (kind === request.kind && lastRequestIds.get(kind) !== request.id) throw new Superseded();
  }
}

// The traces that the explorer shows: the sentence, and the one to compare with.
/** @param {Translator} translator @param {any} request @param {string} kind */
async function getTraces(translator, request, kind = request.kind) {
  const { text, force = "", other_model: otherModel = "" } = request;
  const [first, changes] = [{ ...UNCHANGED, text }, changesOf(request)];
  const traces = [await getTrace(translator, { ...request, ...first }, kind)];
  const other = request.patch ? "" : request.other ?? ""; // of a patch it is the sentence that activations come from
  // A forced translation belongs to the first sentence.
  const greedy = request.method === "forced" ? { method: "greedy" } : {};
  /** @type {any} */
  const second = force
    ? { ...first, prefix: [], ...greedy }
    : other || otherModel
    ? { ...first, text: other || text, ...(otherModel ? { model: otherModel } : {}), ...(other ? greedy : {}) }
    : changes.length
    ? Object.fromEntries(changes)
    : null;
  if (!second) return { sides: [first], traces, secondKind: "", refused: "" };
  if ("prefix" in second) {
    try {
      second.prefix = forcedPrefix(traces[0], force);
    } catch (error) {
      return {
        sides: [first],
        traces,
        secondKind: "refused",
        refused: `That token cannot be forced: ${error.message}`,
      };
    }
  }
  const secondTranslator = second.model ? await getTranslator(second.model) : translator;
  traces.push(await getTrace(secondTranslator, { ...request, ...second }, kind));
  return { sides: [first, second], traces, secondKind: "prefix" in second ? "force" : "other", refused: "" };
}

// Words with unknown tokens.
/** @param {Translator} translator @param {string} text */
function unknownWords({ vocabulary }, text) {
  const words = [...new Set(text.split(/\s+/u))].filter(Boolean);
  return words.filter((word) => vocabulary.encode(word).includes(vocabulary.unknown)).slice(0, 5);
}
