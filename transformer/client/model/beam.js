// Beam search with the length penalty of Wu et al. 2016 (the paper's section 6.1), and its tree.

import { mostProbable } from "./search.js";
import { logSoftmax } from "./tensor.js";

// lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14); |Y| counts `</s>`.
/** @param {number} length @param {number} alpha */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

// Keeps the `beamSize` best hypotheses at every step. Of all their continuations the 2·beamSize best become
// nodes of the tree. A continuation with `</s>` finishes its hypothesis if it is among the first beamSize of them; the
// best continuations without `</s>` stay in the beam. The tokens of `prefix` are forced first, with one hypothesis.
/**
 * @param {import("./transformer.js").Transformer} model
 * @param {any} cache before the first token
 * @returns {Generator<number[], import("./search.js").Decoded>}
 */
export function* beamSearch(
  model,
  cache,
  { limit, prefix = [], beamSize = 4, alpha = 0.6, candidates = 8, hooks = null },
) {
  const { bos_id, eos_id, vocab_size } = model.config;
  const k = Math.min(Math.max(2 * beamSize, candidates), vocab_size - 3);
  const root = {
    parent: null,
    depth: 0,
    id: bos_id,
    logProbability: 0,
    total: 0,
    score: 0,
    status: "kept",
    cache,
    candidates: null,
  };
  const nodes = [root];
  let beam = [root];
  const finished = [];
  while (!canStop()) {
    const depth = beam[0].depth + 1;
    const continuations = [];
    for (const parent of beam) {
      const step = model.decode([parent.id], parent.cache, hooks);
      const logs = logSoftmax(model.project(step.states, hooks).values);
      const best = mostProbable(logs, k, model.config);
      parent.candidates = {
        ids: best.slice(0, candidates),
        probabilities: best.slice(0, candidates).map((id) => Math.exp(logs[id])),
      };
      parent.cache = step.cache;
      const next = depth > prefix.length ? best : [prefix[depth - 1]];
      for (const id of next) {
        continuations.push({ parent, id, logProbability: logs[id], total: parent.total + logs[id] });
      }
    }
    continuations.sort((a, b) => b.total - a.total);
    beam = [];
    continuations.slice(0, 2 * beamSize).forEach(({ parent, id, logProbability, total }, rank) => {
      const node = {
        parent,
        depth,
        id,
        logProbability,
        total,
        score: total / lengthPenalty(depth, alpha),
        status: "discarded",
        cache: parent.cache,
        candidates: null,
      };
      if (id === eos_id) {
        if (rank < beamSize) {
          node.status = "finished";
          finished.push(node);
        }
      } else if (beam.length < beamSize) {
        node.status = "kept";
        beam.push(node);
      }
      nodes.push(node);
    });
    yield pathTo(bestHypothesis()).map(({ id }) => id);
  }
  const path = pathTo(bestHypothesis());
  return {
    ids: path.map(({ id }) => id),
    logProbabilities: path.map(({ logProbability }) => logProbability),
    candidates: path.map(({ parent }) => parent.candidates),
    caches: path.map(({ parent }) => parent.cache),
    tree: treeOf(nodes, path, beamSize, alpha),
  };

  // Whether the search can stop: the beam is empty, all are at the limit, or none can win, as its log probability
  // only falls and no later length penalty exceeds `bound`.
  function canStop() {
    if (!beam.length || beam[0].depth >= limit) return true;
    if (!finished.length) return false;
    const bound = Math.max(lengthPenalty(beam[0].depth + 1, alpha), lengthPenalty(limit, alpha));
    return Math.max(...finished.map(({ score }) => score)) >= Math.max(...beam.map(({ total }) => total)) / bound;
  }

  // The hypothesis with the highest score. An unfinished one counts only at the length limit, or if none is finished.
  function bestHypothesis() {
    const atLimit = beam.length && beam[0].depth >= limit;
    const hypotheses = atLimit ? [...finished, ...beam] : finished.length ? finished : beam;
    return hypotheses.reduce((a, b) => (b.score > a.score ? b : a));
  }
}

function pathTo(node) {
  const path = [];
  for (; node.parent; node = node.parent) path.unshift(node);
  return path;
}

// The search tree as columns with a value per node, as the explorer's Decoding view reads it.
function treeOf(nodes, path, beamSize, alpha) {
  const nodeIndices = new Map(nodes.map((node, i) => [node, i]));
  const best = new Set([nodes[0], ...path]);
  return {
    parent: nodes.map(({ parent }) => (parent ? nodeIndices.get(parent) : null)),
    depth: nodes.map(({ depth }) => depth),
    id: nodes.map(({ id }) => id),
    probability: nodes.map(({ logProbability }) => Math.exp(logProbability)),
    log_probability: nodes.map(({ total }) => total),
    score: nodes.map(({ score }) => score),
    status: nodes.map(({ status }) => status),
    best: nodes.map((node) => best.has(node)),
    beam_size: beamSize,
    length_penalty: alpha,
  };
}
