// Hooks that change attention rows, single weights, activations or tokens of one sentence, as
// transformer/analysis/interventions/patches.py does, with the same sentences for what does not fit.
//
// Positions are those of the whole sentence. While the model writes, a change of a later row applies once the output
// has reached it.

import { siteOf, switchedOff } from "./hooks.js";

/** @typedef {import("./hooks.js").Hooks} Hooks */
/** @typedef {import("./hooks.js").HeadName} HeadName */
/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {import("./translator.js").Trace} Trace */

// One row of a head becomes these weights, divided by their sum: one for each key that the query may attend to.
/** @param {Trace} trace @param {HeadName} head @param {number} query @param {number[]} weights @returns {Hooks} */
export function replacedRow(trace, head, query, weights) {
  const keys = keyCount(trace, head, query);
  if (weights.length !== keys) {
    throw new Error(`The row has ${weights.length} weights; query ${query} has ${keys} keys.`);
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0 && weights.every((weight) => weight >= 0))) {
    throw new Error("A row needs weights that are 0 or more, and one of them above 0.");
  }
  return rowHook(head, query, (row) => {
    row.fill(0);
    weights.forEach((weight, key) => {
      row[key] = weight / total;
    });
  });
}

// One weight of a head becomes 0; the others of its row stay as they are.
/** @param {Trace} trace @param {HeadName} head @param {number} query @param {number} key @returns {Hooks} */
export function blanked(trace, head, query, key) {
  const keys = keyCount(trace, head, query);
  if (!(key >= 0 && key < keys)) throw new Error(`Query ${query} has no key ${key}; its keys are 0 to ${keys - 1}.`);
  return rowHook(head, query, (row) => row.fill(0, key, key + 1));
}

// No encoder and no cross-attention head can attend to these source tokens.
/** @param {Trace} trace @param {number[]} positions @returns {Hooks} */
export function maskedTokens(trace, positions) {
  const length = trace.srcTokens.length;
  checkPositions(positions, length);
  if (new Set(positions).size === length) {
    throw new Error(`All ${length} source tokens would be masked; leave one unmasked.`);
  }
  const mask = (/** @type {Tensor} */ scores) => {
    const changed = scores.clone();
    for (let start = 0; start < changed.values.length; start += length) {
      for (const position of positions) changed.values[start + position] = -Infinity;
    }
    return changed;
  };
  const layers = Array.from({ length: trace.config.n_layers }, (_, layer) => layer);
  const sites = ["encoder", "cross"].flatMap((kind) => layers.map((layer) => siteOf(kind, layer, "scores")));
  return Object.fromEntries(sites.map((site) => [site, mask]));
}

// Activations of another sentence at a site of vectors (rows, d_model), copied to these positions.
/** @param {Trace} trace @param {Trace} donor @param {string} site @param {number[]} positions @param {number[]} donorPositions @returns {Hooks} */
export function patched(trace, donor, site, positions, donorPositions) {
  const [here, there] = [trace.sites[site], donor.sites[site]];
  if (here?.shape.length !== 2) throw new Error(`There are no activations ${site} that can be patched.`);
  if (!positions.length || positions.length !== donorPositions.length) {
    throw new Error(
      `${positions.length} positions but ${donorPositions.length} donor positions; their numbers must be equal and at least one.`,
    );
  }
  checkPositions(positions, here.shape[0]);
  checkPositions(donorPositions, there.shape[0], "the donor's ");
  return {
    [site]: (tensor, _, start) => {
      const changed = tensor.clone();
      positions.forEach((position, i) => {
        const row = position - start;
        if (row >= 0 && row < changed.shape[0]) changed.row(row).set(there.row(donorPositions[i]));
      });
      return changed;
    },
  };
}

// Calls `change(row)` with the weights of one query of a head, wherever that row is computed.
/** @param {HeadName} head @param {number} query @param {(row: Float32Array) => unknown} change @returns {Hooks} */
function rowHook({ kind, layer, head }, query, change) {
  return {
    [siteOf(kind, layer, "weights")]: (weights, _, start) => {
      const [, queries, keys] = weights.shape;
      const row = query - start;
      if (row < 0 || row >= queries) return undefined;
      const changed = weights.clone();
      const first = (head * queries + row) * keys;
      change(changed.values.subarray(first, first + keys));
      return changed;
    },
  };
}

// How many keys this query of a head may attend to.
/** @param {Trace} trace @param {HeadName} head @param {number} query */
function keyCount(trace, { kind, layer, head }, query) {
  const { n_layers, n_heads } = trace.config;
  if (!(layer < n_layers)) throw new Error(`There is no layer ${layer}; the layers are 0 to ${n_layers - 1}.`);
  if (!(head < n_heads)) throw new Error(`There is no head ${head}; the heads are 0 to ${n_heads - 1}.`);
  checkPositions([query], kind === "encoder" ? trace.srcTokens.length : trace.tgtTokens.length);
  return kind === "decoder" ? query + 1 : trace.srcTokens.length;
}

/** @param {number[]} positions @param {number} length @param {string} whose */
function checkPositions(positions, length, whose = "") {
  for (const position of positions) {
    if (!(position >= 0 && position < length)) {
      throw new Error(`There is no position ${position}; ${whose}positions are 0 to ${length - 1}.`);
    }
  }
}

// The change of the log-probability of every output token, in nats, when each cell of a row is blanked alone.
/** @param {import("./translator.js").Translator} translator @param {Trace} trace @param {HeadName} head @param {number} query @returns {Generator<unknown, number[][]>} */
export function* blankRow(translator, trace, head, query) {
  const before = logProbabilities(trace);
  const effects = [];
  for (let key = 0; key < keyCount(trace, head, query); key++) {
    const hooks = blanked(trace, head, query, key);
    const after = logProbabilities(yield* translator.trace(trace.source, { target: trace.ids, hooks, names: [] }));
    effects.push(after.map((value, i) => value - before[i]));
  }
  return effects;
}

// How much less probable the whole translation, or the token of one step, becomes without each head, in nats: the head's
// importance, as `analysis.importance.sentence` measures it.
/** @param {import("./translator.js").Translator} translator @param {Trace} trace @param {number} step -1 for all @returns {Generator<unknown, { head: HeadName, loss: number }[]>} */
export function* importances(translator, trace, step = -1) {
  if (step >= trace.steps.length) {
    throw new Error(`There is no step ${step}; the last one is ${trace.steps.length - 1}.`);
  }
  const { n_layers, n_heads } = trace.config;
  const target = step < 0 ? trace.ids : trace.ids.slice(0, step + 1); // later tokens do not matter for this one
  const forced = (hooks) => translator.trace(trace.source, { target, hooks, names: [] });
  const logProbability = (output) => step < 0 ? output.logProbability : logProbabilities(output)[step];
  const before = logProbability(yield* forced(null));
  const losses = [];
  for (const kind of translator.model.kinds) {
    for (let layer = 0; layer < n_layers; layer++) {
      for (let head = 0; head < n_heads; head++) {
        const without = yield* forced(switchedOff([{ kind, layer, head }]));
        losses.push({ head: { kind, layer, head }, loss: before - logProbability(without) });
      }
    }
  }
  return losses;
}

/** @param {Trace} trace */
const logProbabilities = ({ steps }) => steps.map(({ chosen }) => Math.log(chosen.probability));
