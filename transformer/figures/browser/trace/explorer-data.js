// One trace as the explorer reads it: labels and thumbnails of all heads at once, the weights of a layer and
// the vectors of a head on demand. The same as figures/explorer_sides.py.

import { siteOf } from "../model/hooks.js";
import { Tensor } from "../model/tensor.js";
import { measuresOf } from "./head-measures.js";
import { COARSE, FINE, pack, pool, quantize } from "./packing.js";
import { notices } from "./sentence-heads.js";
import { alignTokens } from "./token-diff.js";
import { labelsOf, mergeWords, plainWords } from "./words.js";

/** @typedef {import("../model/translator.js").Trace} Trace */
/** @typedef {import("./packing.js").PackedPart} PackedPart */

const KINDS = ["encoder", "decoder", "cross"];
const VECTORS = ["query", "key", "value", "scores", "heads"];
const MAX_THUMBNAIL_CELLS = 64; // maximum height and width of a thumbnail
const FINE_LIMIT = 4_000_000; // maximum number of weights of a kind with two bytes each

const layersOf = (trace) => Array.from({ length: trace.config.n_layers }, (_, layer) => layer);
const headsOf = (trace) => Array.from({ length: trace.config.n_heads }, (_, head) => head);

// Everything the explorer draws. `fixed` is Python's data for every sentence: the default state, names of
// measures, terms. Weights and vectors are sent on demand: the header lists them under `later`, `explorerPart`
// creates one.
/**
 * @param {Trace[]} traces one, or two to compare
 * @param {{ fixed: any, start: any, visit: number, secondKind?: string, names?: string[], model: string, id: string, aligner?: any }} options
 */
export function explorerData(
  traces,
  { fixed, start, visit, secondKind = "", names = ["", ""], model, id, aligner = null },
) {
  const sides = traces.map((trace, i) => ({ ...sideDocument(trace), name: names[i], model, id: `${id}.${i}` }));
  const [first, second] = traces;
  const headNotices = notices(first, aligner);
  const pairs = second && {
    src_tokens: alignTokens(first.srcTokens, second.srcTokens),
    tgt_tokens: alignTokens(first.tgtTokens, second.tgtTokens),
  };
  const measureNames = new Set(
    sides.flatMap(({ measures }) => Object.values(measures).flatMap((byName) => Object.keys(byName))),
  );
  const header = {
    sides,
    pairs: pairs ?? null,
    defaults: fixed.defaults,
    terms: fixed.terms,
    measures: Object.fromEntries(Object.entries(fixed.measures).filter(([name]) => measureNames.has(name))),
    start: startState(first, { ...fixed.defaults, ...start }, headNotices),
    visit,
    second_kind: secondKind,
    exact: Number(start.exact ?? 0),
    notices: headNotices.map(({ segments, state }) => ({ segments, state })),
    later: traces.flatMap(laterParts),
  };
  return pack(
    header,
    traces.flatMap((trace, i) =>
      KINDS.flatMap((kind) => [thumbnailPart(trace, kind), ...pinParts(trace, kind)]).map(withSidePrefix(i))
    ),
  );
}

// A part by its name: "0.weights.cross.5" or "1.query.encoder.0.3".
/** @param {Trace[]} traces @param {string} name @returns {PackedPart} */
export function explorerPart(traces, name) {
  const [side, vector, kind, layer, head] = name.split(".");
  const [trace, number] = [traces[Number(side)], Number(layer)];
  if (vector === "weights") {
    const weights = trace.weights(kind, number);
    return { ...quantize(name, weights, isFine(trace, kind) ? FINE : COARSE) };
  }
  const { shape, values } = trace.sites[siteOf(kind, number, vector)];
  const size = values.length / shape[0];
  return {
    name,
    type: "f4",
    shape: shape.slice(1),
    top: 0,
    values: values.slice(Number(head) * size, (Number(head) + 1) * size),
  };
}

function laterParts(trace, side) {
  return KINDS.flatMap((kind) =>
    layersOf(trace).flatMap((layer) => {
      const { shape } = trace.weights(kind, layer);
      const fine = isFine(trace, kind);
      return [
        { name: `${side}.weights.${kind}.${layer}`, type: fine ? "u2" : "u1", shape, top: fine ? FINE : COARSE },
        ...headsOf(trace).flatMap((head) =>
          VECTORS.map((vector) => ({
            name: `${side}.${vector}.${kind}.${layer}.${head}`,
            type: "f4",
            shape: trace.sites[siteOf(kind, layer, vector)].shape.slice(1),
            top: 0,
          }))
        ),
      ];
    })
  );
}

const isFine = (trace, kind) => trace.weights(kind, 0).values.length * trace.config.n_layers <= FINE_LIMIT;
const withSidePrefix = (side) => (part) => ({ ...part, name: `${side}.${part.name}` });

// Labels, measures and steps.
/** @param {Trace} trace */
function sideDocument(trace) {
  const { n_heads, n_layers, d_model, score } = trace.config;
  const candidateRow = ({ token, id, probability }) => [token, id, probability];
  return {
    source: trace.source,
    text: trace.text,
    kinds: KINDS,
    depths: Object.fromEntries(KINDS.map((kind) => [kind, n_layers])),
    n_heads,
    d_k: d_model / n_heads,
    score,
    src: labelsOf(trace.srcTokens),
    tgt: labelsOf(trace.tgtTokens),
    predicted: labelsOf(trace.predictedTokens),
    measures: Object.fromEntries(
      KINDS.map((kind) => [kind, byMeasure(layersOf(trace).map((layer) => measuresOf(trace, kind, layer)))]),
    ),
    clearest: Object.fromEntries(KINDS.map((kind) => [kind, clearest(trace, kind)])),
    steps: trace.steps.map(({ candidates, chosen }) => ({
      candidates: candidates.map(candidateRow),
      chosen: candidateRow(chosen),
    })),
    tree: trace.tree,
  };
}

const byMeasure = (layers) =>
  Object.fromEntries(Object.keys(layers[0]).map((name) => [name, layers.map((layer) => layer[name])]));

// The state with the clearest head if none is selected; in cross-attention, the aligner head.
/** @param {Trace} trace @param {import("./sentence-heads.js").HeadNotice[]} headNotices */
function startState(trace, state, headNotices) {
  const kind = KINDS.includes(state.kind) ? state.kind : "cross";
  if (Math.max(state.layer, state.head) >= 0) {
    return { ...state, kind, layer: Math.max(state.layer, 0), head: Math.max(state.head, 0) };
  }
  const alignerNotice = kind === "cross" && headNotices.find(({ role }) => role === "aligns");
  if (alignerNotice) {
    return {
      ...state,
      kind,
      layer: alignerNotice.state.layer,
      head: alignerNotice.state.head,
      word_row: alignerNotice.state.word_row,
    };
  }
  const [layer, head] = clearest(trace, kind);
  return { ...state, kind, layer, head };
}

// The head with the sharpest pattern: the largest mean over columns of a column's greatest weight.
/** @param {Trace} trace @returns {[number, number]} layer and head */
export function clearest(trace, kind) {
  let [best, maxScore] = [/** @type {[number, number]} */ ([0, 0]), -1];
  for (const layer of layersOf(trace)) {
    const { shape: [heads, rows, columns], values } = trace.weights(kind, layer);
    for (let h = 0; h < heads; h++) {
      let sum = 0;
      for (let j = 0; j < columns; j++) {
        let maxWeight = 0;
        for (let i = 0; i < rows; i++) maxWeight = Math.max(maxWeight, values[(h * rows + i) * columns + j]);
        sum += maxWeight;
      }
      if (sum > maxScore) [best, maxScore] = [[layer, h], sum];
    }
  }
  return best;
}

// Thumbnails of all heads of a kind, (layers, heads, height, width).
function thumbnailPart(trace, kind) {
  return quantize(
    `thumbs.${kind}`,
    stacked(layersOf(trace).map((layer) => pool(trace.weights(kind, layer), MAX_THUMBNAIL_CELLS))),
    COARSE,
  );
}

function stacked(tensors) {
  const result = new Tensor([tensors.length, ...tensors[0].shape]);
  tensors.forEach(({ values }, i) => result.values.set(values, i * values.length));
  return result;
}

// The values that colour every head when a word is pinned: the strongest attention to and from every word, and
// the word at the other end. A row of cross-attention belongs to the word that it writes.
/** @param {Trace} trace @returns {PackedPart[]} */
function pinParts(trace, kind) {
  const rows = plainWords({ encoder: trace.srcTokens, decoder: trace.tgtTokens, cross: trace.predictedTokens }[kind]);
  const columns = plainWords(kind === "decoder" ? trace.tgtTokens : trace.srcTokens);
  const [m, n] = [rows.labels.length, columns.labels.length];
  const heads = trace.config.n_heads;
  const shape = (count) => [trace.config.n_layers, heads, count];
  const [to, from] = [new Tensor(shape(n)), new Tensor(shape(m))];
  const [toWords, fromWords] = [new Uint16Array(to.values.length), new Uint16Array(from.values.length)];
  for (const layer of layersOf(trace)) {
    const merged = mergeWords(trace.weights(kind, layer), rows.numbers, columns.numbers);
    for (let h = 0; h < heads; h++) {
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          if (!rows.labels[i] || !columns.labels[j] || (kind !== "cross" && i === j)) continue;
          const weight = merged.values[(h * m + i) * n + j];
          const [toIndex, fromIndex] = [(layer * heads + h) * n + j, (layer * heads + h) * m + i];
          if (weight > to.values[toIndex]) [to.values[toIndex], toWords[toIndex]] = [weight, i];
          if (weight > from.values[fromIndex]) [from.values[fromIndex], fromWords[fromIndex]] = [weight, j];
        }
      }
    }
  }
  const wordPart = (name, count, values) => ({
    name,
    type: /** @type {"u2"} */ ("u2"),
    shape: shape(count),
    top: 0,
    values,
  });
  return [
    quantize(`pins.${kind}.to`, to),
    wordPart(`pins.${kind}.to.words`, n, toWords),
    quantize(`pins.${kind}.from`, from),
    wordPart(`pins.${kind}.from.words`, m, fromWords),
  ];
}
