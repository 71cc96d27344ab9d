// Greedy decoding, with the candidates of each step. A search is a generator: it yields the ids so far after
// every step, so that the caller can show them or stop, and returns its result.

import { logSoftmax } from "./tensor.js";

/** @typedef {{ ids: number[], probabilities: number[] }} Candidates the most probable ids, best first */
/** @typedef {{ ids: number[], logProbabilities: number[], candidates: Candidates[], caches: any[], tree?: any }} Decoded */

// The `k` most probable next ids, without `<pad>`, `<s>` and `<unk>`, which are never output.
/** @param {Float32Array} logs natural logarithms of the probabilities */
export function mostProbable(logs, k, { pad_id, bos_id, unk_id }) {
  /** @type {number[]} */
  const best = [];
  for (let id = 0; id < logs.length; id++) {
    if (id === pad_id || id === bos_id || id === unk_id) continue;
    if (best.length === k && logs[id] <= logs[best[k - 1]]) continue;
    let position = best.length;
    while (position > 0 && logs[best[position - 1]] < logs[id]) position--;
    best.splice(position, 0, id);
    if (best.length > k) best.pop();
  }
  return best;
}

// The given tokens in one pass, with the candidates of every step (teacher forcing).
/** @param {import("./transformer.js").Transformer} model @param {any} cache before the first token @returns {Generator<number[], Decoded>} */
export function* forced(model, cache, { target = /** @type {number[]} */ ([]), candidates = 8, hooks = null }) {
  const { states } = model.decode([model.config.bos_id, ...target.slice(0, -1)], cache, hooks);
  const logits = model.project(states, hooks);
  /** @type {Decoded} */
  const result = { ids: target, logProbabilities: [], candidates: [], caches: [] };
  target.forEach((id, row) => {
    const logs = logSoftmax(logits.row(row));
    const best = mostProbable(logs, candidates, model.config);
    result.logProbabilities.push(logs[id]);
    result.candidates.push({ ids: best, probabilities: best.map((other) => Math.exp(logs[other])) });
  });
  yield target;
  return result;
}

// The most probable token at each step, until `</s>` or the limit; the first tokens are those of `prefix`.
/** @param {import("./transformer.js").Transformer} model @param {any} cache before the first token @returns {Generator<number[], Decoded>} */
export function* greedy(model, cache, { limit, prefix = [], candidates = 8, hooks = null }) {
  const { bos_id, eos_id } = model.config;
  /** @type {Decoded} */
  const result = { ids: [], logProbabilities: [], candidates: [], caches: [] };
  for (let next = bos_id; result.ids.length < limit && next !== eos_id;) {
    const step = model.decode([next], cache, hooks);
    cache = step.cache;
    const logs = logSoftmax(model.project(step.states, hooks).values);
    const best = mostProbable(logs, candidates, model.config);
    next = prefix[result.ids.length] ?? best[0];
    result.ids.push(next);
    result.logProbabilities.push(logs[next]);
    result.candidates.push({ ids: best, probabilities: best.map((id) => Math.exp(logs[id])) });
    result.caches.push(cache);
    yield result.ids;
  }
  return result;
}
