// Translates text and returns everything the model computed.

import { beamSearch, lengthPenalty } from "./beam.js";
import { combineHooks, recordInto, siteNames, siteOf } from "./hooks.js";
import { Kernels } from "./kernels.js";
import { readSafetensors } from "./safetensors.js";
import { forced, greedy } from "./search.js";
import { Transformer } from "./transformer.js";
import { Vocabulary } from "./vocabulary.js";

const MAX_SOURCE_TOKENS = 512; // maximum number of pieces
const EXTRA_LENGTH = 50; // an output may be 50 pieces longer than its input (section 6.1)

/**
 * A translation and what the model computed for it: `sites` has the tensors by the names of siteNames.
 * @typedef {{
 *   source: string, text: string, srcTokens: string[], tgtTokens: string[], predictedTokens: string[],
 *   srcIds: number[], ids: number[], finished: boolean, logProbability: number, score: number,
 *   steps: { candidates: Candidate[], chosen: Candidate }[], tree: any, caches: any[],
 *   config: any, sites: Record<string, import("./tensor.js").Tensor>,
 *   weights(kind: string, layer: number): import("./tensor.js").Tensor,
 * }} Trace
 * @typedef {{ token: string, id: number, probability: number }} Candidate
 */

export class Translator {
  /** @param {any} config of the checkpoint @param {Uint8Array} weights model.safetensors @param {Uint8Array | import("./vocabulary.js").Piece[]} vocabulary vocabulary.model, or its pieces @param {boolean} fast use SIMD if the browser supports it */
  constructor(config, weights, vocabulary, fast = true) {
    this.vocabulary = new Vocabulary(vocabulary);
    const kernels = fast ? kernelsIfSupported(3.1 * weights.length) : null; // float16 and float32
    this.model = new Transformer(
      config,
      readSafetensors(weights, kernels && ((count, Type) => kernels.allocate(count, Type))),
    );
    if (this.vocabulary.pieces.length !== this.model.config.vocab_size) {
      throw new Error(
        `The model needs a vocabulary of ${this.model.config.vocab_size} pieces; this one has ${this.vocabulary.pieces.length}.`,
      );
    }
  }

  // The ids of a text; throws an Error with the reason if it cannot be translated.
  /** @param {string} text */
  encode(text) {
    const ids = this.vocabulary.encode(text);
    const { positions, max_len } = this.model.config;
    const limit = positions === "learned" ? Math.min(MAX_SOURCE_TOKENS, max_len) : MAX_SOURCE_TOKENS;
    if (ids.length === 1) throw new Error("Type a few words to translate.");
    if (ids.length > limit) {
      throw new Error(
        `The text has ${ids.length} tokens; at most ${limit} can be translated at once. Split it into sentences.`,
      );
    }
    return ids;
  }

  // Translate, then run one more pass over the finished output and record every site.
  /**
   * @param {string} text
   * @param {{ prefix?: number[], target?: number[], maxLen?: number, beamSize?: number, alpha?: number, candidates?: number, hooks?: any, names?: string[] }} [options]
   * @returns {Generator<number[], Trace>} yields the ids so far
   */
  *trace(
    text,
    { prefix = [], target, maxLen = Infinity, beamSize = 1, alpha = 0.6, candidates = 8, hooks = null, names } = {},
  ) {
    const { model, vocabulary } = this;
    const { config } = model;
    const srcIds = this.encode(text);
    const maxPositions = config.positions === "learned" ? config.max_len : Infinity;
    const limit = Math.min(maxLen, srcIds.length + EXTRA_LENGTH, maxPositions);
    /** @type {Record<string, import("./tensor.js").Tensor>} */
    const sites = {};
    const recording = combineHooks(
      hooks,
      recordInto(sites, names ?? siteNames(config).filter((name) => name !== "hook_logits")),
    );
    const start = model.start(model.encode(srcIds, recording), recording);
    yield [];
    /** @type {(model: Transformer, cache: any, options: any) => Generator<number[], import("./search.js").Decoded>} */
    const search = target ? forced : beamSize > 1 ? beamSearch : greedy;
    const result = yield* search(model, start, { limit, prefix, target, beamSize, alpha, candidates, hooks });
    const { ids } = result;
    const tgtIds = [config.bos_id, ...ids.slice(0, -1)];
    const finalPass = model.decode(tgtIds, start, recording);
    if (names?.includes("hook_logits")) model.project(finalPass.states, recording);
    const logProbability = result.logProbabilities.reduce((a, b) => a + b, 0);
    const candidateOf = (id, probability) => ({ token: vocabulary.pieces[id].text, id, probability });
    return {
      source: text,
      text: vocabulary.decode(ids),
      srcIds,
      ids,
      srcTokens: vocabulary.tokens(srcIds),
      tgtTokens: vocabulary.tokens(tgtIds),
      predictedTokens: vocabulary.tokens(ids),
      finished: ids.at(-1) === config.eos_id,
      logProbability,
      score: logProbability / lengthPenalty(ids.length, alpha),
      steps: result.candidates.map((row, i) => ({
        candidates: row.ids.map((id, j) => candidateOf(id, row.probabilities[j])),
        chosen: candidateOf(ids[i], Math.exp(result.logProbabilities[i])),
      })),
      tree: result.tree ? { ...result.tree, token: vocabulary.tokens(result.tree.id) } : null,
      caches: result.caches,
      config,
      sites,
      weights: (kind, layer) => sites[siteOf(kind, layer, "weights")],
    };
  }
}

/** @param {number} bytes */
function kernelsIfSupported(bytes) {
  try {
    return new Kernels(bytes);
  } catch { // without SIMD, or without the memory
    return null;
  }
}

// The prefix that forces a token at one step: `force` is "step:id".
/** @param {Trace} trace @param {string} force @returns {number[]} */
export function forcedPrefix({ ids, config }, force) {
  const [step, id] = force.split(":").map(Number);
  if (!(step < ids.length)) {
    throw new Error(`There is no step ${step} to change; the last one is ${ids.length - 1}.`);
  }
  if (!(id < config.vocab_size)) throw new Error(`Prefix id ${id} is not from 0 to ${config.vocab_size - 1}.`);
  if (id === config.pad_id || id === config.bos_id) {
    throw new Error(`Prefix id ${id} at position ${step} is a control token.`);
  }
  return [...ids.slice(0, step), id];
}

// Runs a generator to the end.
/** @template T @param {Generator<unknown, T>} steps @returns {T} */
export function finish(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return /** @type {T} */ (value);
  }
}
