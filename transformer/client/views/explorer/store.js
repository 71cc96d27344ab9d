// The explorer's data: one packed trace or two, and what the views derive from them. Unpacks what figures/packing.py and
// figures/packed_trace.py pack.

import { axisLabels, hasExactNames, withNames } from "../../common/naming.js";
import { clearest, pinWeights, thumbnails } from "../../trace/explorer-data.js";
import { measuresOf } from "../../trace/head-measures.js";
import { layersOfKind, unpackTrace, VECTORS } from "../../trace/packed-trace.js";
import { unpack } from "../../trace/packing.js";
import { alignTokens } from "../../trace/token-diff.js";
import { labelsOf } from "../../trace/words.js";

// `laterParts` has, by name, functions that return a promise of an array, which is loaded on demand. `onArrive` is
// called when an array has been loaded.
export function makeStore(onArrive) {
  let sides = [];
  let pairs = null;
  const parts = new Map();
  const laterParts = new Map();

  // `languages`: codes of the source's and the target's language of every side.
  /** @param {Uint8Array} bytes @param {string[][]} [languages] */
  function load(bytes, languages = []) {
    const { header, parts: newParts } = unpack(bytes);
    const isSameTrace = sides.length === header.sides.length &&
      sides.every((side, i) => side.digest === header.sides[i].id);
    if (!isSameTrace) {
      parts.clear();
      laterParts.clear();
    }
    for (const [name, part] of newParts) parts.set(name, part);
    if (!isSameTrace) {
      sides = header.sides.map((sideHeader, number) => makeSide(sideHeader, number, part, languages[number] ?? []));
    }
    if (!isSameTrace) pairs = pairsOf(sides);
    return { header, isSameTrace };
  }

  // An array by name, or null while it is missing.
  function part(name) {
    if (parts.has(name)) return parts.get(name);
    if (laterParts.has(name)) {
      const fetchPart = laterParts.get(name);
      laterParts.delete(name);
      fetchPart().then((array) => {
        parts.set(name, array);
        onArrive();
      });
    }
    return null;
  }

  return {
    load,
    laterParts,
    get sides() {
      return sides;
    },
    get pairs() {
      return pairs;
    },
  };
}

// The tokens that two sides share; null for one side.
/** @param {Side[]} sides @returns {Pairs | null} */
function pairsOf([first, second]) {
  if (!second) return null;
  return {
    src_tokens: alignTokens(first.src.tokens, second.src.tokens),
    tgt_tokens: alignTokens(first.tgt.tokens, second.tgt.tokens),
  };
}

/** @param {any} description from the header @param {number} number @param {(name: string) => Part | null} part @param {string[]} languages @returns {Side} */
function makeSide(description, number, part, [sourceLang = "", targetLang = ""]) {
  const trace = unpackTrace(description, (name) => /** @type {any} */ (part(`${number}.${name}`)));
  const labels = (tokens, lang) => withNames({ ...labelsOf(tokens), lang });
  const src = labels(trace.srcTokens, sourceLang);
  const [tgt, predicted] = [trace.tgtTokens, trace.predictedTokens].map((tokens) => labels(tokens, targetLang));

  // { values: Float32Array(rows · columns), top } of one head.
  function weights(kind, layer, head) {
    const { shape: [, rows, columns], values } = trace.weights(kind, layer);
    const size = rows * columns;
    const { top } = part(`${number}.weights.${kind}.${layer}`);
    return { values: values.subarray(head * size, (head + 1) * size), top };
  }

  // { query, key, value, scores, heads } of one head, each { values, shape }; null if missing.
  function vectors(kind, layer, head) {
    const arrays = VECTORS.map((vectorName) => part(`${number}.${vectorName}.${kind}.${layer}.${head}`));
    return arrays.every(Boolean) ? Object.fromEntries(VECTORS.map((vectorName, i) => [vectorName, arrays[i]])) : null;
  }

  const layers = (kind) => layersOfKind(trace, kind);
  const thumbs = byKind(trace.kinds, (kind) => thumbnails(trace, kind));
  return {
    ...description,
    digest: description.id,
    trace,
    src,
    tgt,
    predicted,
    number,
    labels: (kind) => axisLabels({ src, tgt, predicted }, kind),
    weights,
    thumb: (kind, layer, head) => thumbs[kind][layer][head],
    pinWeights: byKind(trace.kinds, (kind) => pinWeights(trace, kind)),
    readPinWeights: byKind(trace.kinds, (kind) => pinWeights(trace, kind, true)),
    measures: byKind(trace.kinds, (kind) => byMeasure(layers(kind).map((layer) => measuresOf(trace, kind, layer)))),
    clearest: byKind(trace.kinds, (kind) => clearest(layers(kind).map((layer) => trace.weights(kind, layer)))),
    vectors,
    get id() {
      return `${description.id}${hasExactNames() ? " exact" : ""}`;
    }, // another id for the same content with other names
  };
}

const byMeasure = (layers) =>
  Object.fromEntries(Object.keys(layers[0]).map((name) => [name, layers.map((layer) => layer[name])]));

// An object with a value for every kind, each computed when it is first read.
/** @template T @param {Kind[]} kinds @param {(kind: Kind) => T} compute @returns {Record<Kind, T>} */
function byKind(kinds, compute) {
  const values = /** @type {Record<Kind, T>} */ ({});
  for (const kind of kinds) {
    Object.defineProperty(values, kind, {
      configurable: true,
      enumerable: true,
      get() {
        const value = compute(kind);
        Object.defineProperty(values, kind, { value, enumerable: true });
        return value;
      },
    });
  }
  return values;
}
