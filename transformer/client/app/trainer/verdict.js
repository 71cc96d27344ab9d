// What a fork changed, over several pairs of runs: a difference with an interval, or the plain statement that the pairs do
// not support one.

import { headName, sentenceCase } from "../../common/naming.js";
import { wholePercent } from "../../common/numbers.js";
import { LEARNED } from "../../training/settings.js";

// Quantiles 0.975 of Student's t distribution by degrees of freedom, from 1 on (as in every table of it).
const T_975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
const CLEAR_SHARE = 0.1; // a head takes over if its share of weight on the right tokens rises by more than this

// The first step at which a run wrote 99% of the outputs without an error, or null. A fork counts from its own beginning.
/** @param {{ evaluations: any[] }} run @returns {number | null} */
export const reachedStep = ({ evaluations }) =>
  evaluations.find(({ correct, count }) => correct >= LEARNED * count)?.step ?? null;

// Mean with the 95% interval of Student's t, for 2 to 10 values.
/** @param {number[]} values */
export function meanWithInterval(values) {
  const n = values.length;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  const half = T_975[n - 2] * deviation / Math.sqrt(n);
  return { mean, low: mean - half, high: mean + half };
}

/**
 * @typedef {{ reached: number | null, share: number, linkShares: number[][] | null, diverged: number | null }} Outcome the
 *   step with 99% correct, the share of right outputs at the end, the shares of weight on the right tokens then, and the
 *   step at which the run diverged
 * @typedef {{ seed: number, before: Outcome, after: Outcome }} Pair the run as it was, and its fork, with the same batches
 * @typedef {"seeds" | "orders"} PairKind independent seeds from step 0 on, or orders of batches from the fork on
 */

/** @type {Record<PairKind, string>} */
const UNITS = { seeds: "seeds", orders: "orders of batches" };

/**
 * @param {Pair[]} pairs
 * @param {string} change what the fork changed: "without layer 2, head 3"
 * @param {number} steps of each run
 * @param {PairKind} kind
 * @param {number} step of the fork
 */
export function verdict(pairs, change, steps, kind, step) {
  const text = differenceText(pairs, change, steps, UNITS[kind]);
  return kind === "seeds" ? text : `This run was continued with ${pairs.length} orders of batches. ${text} ` +
    `All pairs have this run's weights at step ${step}: compare with five seeds to see whether the result depends on them.`;
}

/** @param {Pair[]} pairs @param {string} change @param {number} steps @param {string} units */
function differenceText(pairs, change, steps, units) {
  const n = pairs.length;
  const [before, after] = ["before", "after"].map((side) => pairs.filter((pair) => pair[side].reached !== null).length);
  if (before < n || after < n) {
    const points = meanWithInterval(pairs.map((pair) => 100 * (pair.after.share - pair.before.share)));
    const [m, l, h] = [points.mean, points.low, points.high].map((value) => signed(value));
    const reached = `${after} of ${n} ${units} reach 99% ${change}, and ${before} of ${n} without this change.`;
    return points.low <= 0 && points.high >= 0
      ? `${n} ${units} do not support a difference after ${steps} steps: the share of right outputs differs by ${m} points (95% interval ${l} to ${h}). ${reached}`
      : `${
        sentenceCase(change)
      }, the share of right outputs after ${steps} steps changes by ${m} points (mean of ${n} ${units}, 95% interval ${l} to ${h}). ${reached}`;
  }
  const { mean, low, high } = meanWithInterval(pairs.map((pair) => pair.after.reached - pair.before.reached));
  const [m, l, h] = [mean, low, high].map((value) => signed(value));
  if (low <= 0 && high >= 0) {
    return `${n} ${units} do not support a difference: ${change} the model needs ${m} steps to 99% (95% interval ${l} to ${h}).`;
  }
  return `${
    sentenceCase(change)
  }, the model needs ${m} steps to 99% (mean of ${n} ${units}, 95% interval ${l} to ${h}).`;
}

// The numbers of each pair, as a table.
/** @param {Pair[]} pairs @param {PairKind} kind */
export function pairTable(pairs, kind) {
  const name = { seeds: "seed", orders: "seed of the batches" }[kind];
  const step = ({ reached, diverged }) =>
    diverged !== null ? `diverged at ${diverged}` : reached === null ? "not reached" : String(reached);
  return {
    columns: [name, "99% at step: run", "99% at step: fork", "right outputs: run", "right outputs: fork"],
    rows: pairs.map(({ seed, before, after }) => [
      String(seed),
      step(before),
      step(after),
      wholePercent(before.share),
      wholePercent(after.share),
    ]),
  };
}

// Whether this head of cross-attention is among those that are off, such as "c1.2,e0".
/** @param {string} off @param {number} layer @param {number} head */
export const isOff = (off, layer, head) =>
  off.split(",").some((code) => code === `c${layer}` || code === `c${layer}.${head}`);

// Which head attends more to the right tokens in the fork than in the run as it was; "" if none does clearly. The heads
// that are off in the fork do not count.
/** @param {Pair[]} seeds @param {string} change @param {string} off */
export function successor(seeds, change, off = "") {
  const known = seeds.filter(({ before, after }) => before.linkShares && after.linkShares);
  if (!known.length) return "";
  let [best, rise, from, to] = [null, CLEAR_SHARE, 0, 0];
  known[0].before.linkShares.forEach((heads, layer) =>
    heads.forEach((_, head) => {
      const mean = (side) => known.reduce((sum, seed) => sum + seed[side].linkShares[layer][head], 0) / known.length;
      if (!isOff(off, layer, head) && mean("after") - mean("before") > rise) {
        [best, from, to] = [{ layer, head }, mean("before"), mean("after")];
        rise = to - from;
      }
    })
  );
  if (!best) {
    return `No cross-attention head takes over ${change}: none puts clearly more of its weight on the right tokens.`;
  }
  return `Cross-attention ${headName(best)} takes over: its weight on the right tokens is ${
    wholePercent(to)
  } ${change}, and ${wholePercent(from)} otherwise.`;
}

const signed = (value) =>
  (Math.round(value) > 0 ? "+" : Math.round(value) < 0 ? "−" : "±") + Math.abs(Math.round(value));
