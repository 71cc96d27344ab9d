// What a model in training can do now: outputs by greedy decoding, accuracy, and where its heads look.

import { codeOfHead, readOff } from "../common/head-codes.js";
import { siteOf } from "../model/hooks.js";
import { Tape } from "../model/tape.js";
import { paddedCount } from "../model/tensor.js";
import { decoderInput, packPairs } from "./data.js";

/** @typedef {import("./data.js").IdPair} IdPair */
/** @typedef {import("./run.js").Run} Run */

const [BOS, EOS] = [1, 2];

// The output for each source, `</s>` last, or without it if it would be longer than `limit`. All sequences are decoded at
// once, each from its own output. A model with a fault reads its whole output again at each step, as the script of
// app/trainer/script.js does: what a wrong mask or softmax changes at earlier positions depends on the later ones.
/** @param {Run} run @param {number[][]} sources @param {number} limit @returns {number[][]} */
export function decodeGreedily(run, sources, limit) {
  const { model, kernels, hooks, fault } = run;
  const rereads = run.settings.fault !== "";
  const tape = new Tape(kernels, { drops: fault.dropsWhenWriting, dropoutSeed: run.nextEvaluation++ });
  const { sources: ids, sourceStarts } = packPairs(sources.map((src) => ({ src, tgt: [], links: null })));
  let cache = model.start(model.encode(ids, hooks, { tape, starts: sourceStarts }), hooks);
  const outputs = sources.map(() => []);
  const isFinished = (output) => output.at(-1) === EOS;
  const encoded = kernels.nextFree;
  while (outputs[0].length < limit && !outputs.every(isFinished)) {
    const count = rereads ? outputs[0].length + 1 : 1; // tokens of each sequence
    if (rereads) kernels.nextFree = encoded;
    const starts = Int32Array.from({ length: sources.length + 1 }, (_, i) => i * count);
    const read = outputs.flatMap((output) => [BOS, ...output].slice(-count));
    const step = model.decode(read, cache, hooks, { tape, starts });
    if (!rereads) cache = step.cache;
    const logits = model.project(step.states);
    outputs.forEach((output, i) => {
      output.push(isFinished(output) ? EOS : greatestIndex(logits.row((i + 1) * count - 1)));
    });
  }
  tape.free();
  return outputs.map((output) => output.slice(0, output.includes(EOS) ? output.indexOf(EOS) + 1 : limit));
}

function greatestIndex(row) {
  let best = EOS; // never <pad> or <s>
  for (let i = EOS + 1; i < row.length; i++) if (row[i] > row[best]) best = i;
  return best;
}

// The attention of every head while the model is given the targets: for each pair and kind a function
// (layer, head) → { rows, columns, at(row, column) }.
/** @template T @param {Run} run @param {IdPair[]} pairs @param {(matrix: (pair: number, kind: string, layer: number, head: number) => Float32Array[]) => T} use @returns {T} */
function withAttention({ model, kernels, hooks, fault }, pairs, use) {
  const { n_layers, n_heads } = model.config;
  const recorded = {};
  const record = (weights, name) => {
    recorded[name] = weights;
  };
  const sites = model.kinds.flatMap((kind) =>
    Array.from({ length: n_layers }, (_, layer) => siteOf(kind, layer, "weights"))
  );
  const recording = { ...hooks, ...Object.fromEntries(sites.map((site) => [site, record])) };
  const tape = new Tape(kernels);
  const { sources, sourceStarts, targets, targetStarts } = packPairs(pairs, fault.target);
  const memory = model.encode(sources, recording, { tape, starts: sourceStarts });
  model.decode(targets, model.start(memory, recording), recording, { tape, starts: targetStarts });
  const result = use((pair, kind, layer, head) => {
    const { values, table } = recorded[siteOf(kind, layer, "weights")];
    const sizes = Array.from({ length: pair + 1 }, (_, i) => [table[4 * i + 1], table[4 * i + 3]]);
    const [queries, keys] = sizes[pair];
    const before = sizes.slice(0, -1).reduce((sum, [rows, columns]) => sum + n_heads * rows * paddedCount(columns), 0);
    const first = before + head * queries * paddedCount(keys);
    return Array.from(
      { length: queries },
      (_, i) => values.subarray(first + i * paddedCount(keys), first + i * paddedCount(keys) + keys),
    );
  });
  tape.free();
  return result;
}

// The example for each pair: its attention, and its output if `decodes`.
/** @param {Run} run @param {IdPair[]} pairs @param {boolean} decodes @returns {import("./protocol.d.ts").Example[]} */
export function observeExamples(run, pairs, decodes, isOwn = false) {
  const { data: { symbols }, limit } = run;
  const { n_layers, n_heads } = run.model.config;
  const outputs = decodes ? decodeGreedily(run, pairs.map(({ src }) => src), limit) : [];
  const { cross } = run.model.config;
  const shown = isOwn ? pairs.map((pair, i) => ({ ...pair, tgt: outputs[i] })) : pairs;
  const words = (ids) => ids.map((id) => symbols[id]);
  return withAttention(run, shown, (matrix) =>
    shown.map(({ src, tgt, links }, i) => {
      const rows = run.model.kinds.flatMap((kind) =>
        Array.from({ length: n_layers * n_heads }, (_, n) => matrix(i, kind, Math.floor(n / n_heads), n % n_heads))
          .flat()
      );
      const attention = new Float32Array(rows.reduce((sum, row) => sum + row.length, 0));
      let end = 0;
      for (const row of rows) {
        attention.set(row, end);
        end += row.length;
      }
      return {
        src: words(src),
        tgt: words(decoderInput(tgt, run.fault.target)),
        crossKeys: words(cross === "memory" ? src : decoderInput(tgt)),
        gold: isOwn ? null : words(tgt),
        output: decodes ? words(outputs[i]) : null,
        links,
        correct: decodes && !isOwn ? String(outputs[i]) === String(tgt) : null,
        layers: n_layers,
        heads: n_heads,
        kinds: run.model.kinds,
        attention,
      };
    }));
}

// How many of these pairs greedy decoding writes without an error, by length of the source.
/** @param {Run} run @param {IdPair[]} pairs @param {number} chunk pairs that are decoded at once */
export function measureAccuracy(run, pairs, chunk) {
  const byLength = new Map();
  for (let from = 0; from < pairs.length; from += chunk) {
    const part = pairs.slice(from, from + chunk);
    decodeGreedily(run, part.map(({ src }) => src), run.limit).forEach((output, i) => {
      const { src, tgt } = part[i];
      const entry = byLength.get(src.length - 1) ?? { length: src.length - 1, count: 0, correct: 0 };
      entry.count++;
      if (String(output) === String(tgt)) entry.correct++;
      byLength.set(src.length - 1, entry);
    });
  }
  const lengths = [...byLength.values()].sort((a, b) => a.length - b.length);
  return { count: pairs.length, correct: lengths.reduce((sum, { correct }) => sum + correct, 0), byLength: lengths };
}

// The share of the weight of each cross-attention head that is on the gold links, averaged over the linked target
// positions: [layer][head]. It is 0 for a head that is off, whose weights move nothing.
/** @param {Run} run @param {IdPair[]} pairs */
export function measureLinkShares(run, pairs) {
  const { n_layers, n_heads } = run.model.config;
  if (!run.model.kinds.includes("cross")) return null;
  const off = readOff(run.settings.off, { n_layers, n_heads });
  return withAttention(
    run,
    pairs,
    (matrix) =>
      Array.from({ length: n_layers }, (_, layer) =>
        Array.from({ length: n_heads }, (_, head) => {
          if (off.has(codeOfHead({ kind: "cross", layer, head }))) return 0;
          let [sum, count] = [0, 0];
          pairs.forEach(({ links }, i) => {
            const weights = matrix(i, "cross", layer, head);
            for (const [source, target] of links) sum += weights[target][source];
            count += new Set(links.map(([, target]) => target)).size;
          });
          return count ? sum / count : 0;
        })),
  );
}
