// What a run has recorded on its way: loss, evaluations and film, from the first step on through the runs that it is a
// fork of.

import { withoutEnds } from "./outputs.js";

const MAX_FRAMES = 60; // of a film that leaves the page
const MAX_WEIGHTS = 4_000_000; // of such a film

/**
 * @typedef {import("./runs.js").Run} Run
 * @typedef {{ step: number, examples: import("../../training/protocol.d.ts").Example[] }} Frame
 * @typedef {{ records: any[], evaluations: any[], frames: Frame[] }} History
 */

/** @param {Run[]} all the runs by their ids @param {Run} run @param {(run: Run) => Frame[]} framesOf @returns {History} */
export function historyOf(all, run, framesOf) {
  const path = [run];
  while (path[0].step > 0) path.unshift(all[path[0].parent]);
  const from = (i) => i === 0 ? -1 : path[i].step; // what a fork reports at its step is its first
  const until = (i) => i < path.length - 1 ? path[i + 1].step : Infinity;
  const joined = (listOf) =>
    path.flatMap((each, i) => listOf(each).filter(({ step }) => step > from(i) && step <= until(i)));
  return {
    records: joined(({ records }) => records),
    evaluations: joined(({ evaluations }) => evaluations),
    frames: fewer(joined(framesOf), MAX_FRAMES),
  };
}

// At most this many frames, the first and the last among them.
/** @param {Frame[]} frames @param {number} most */
function fewer(frames, most) {
  if (frames.length <= most) return frames;
  return Array.from({ length: most }, (_, i) => frames[Math.round(i * (frames.length - 1) / (most - 1))]);
}

/** @param {Frame} frame */
const countWeights = ({ examples }) => examples.reduce((sum, { attention }) => sum + attention.length, 0);

// A film for the app: the steps, the tokens of the examples, and all weights as whole numbers of 16 bits (65,535 is 1),
// frame by frame and example by example, in the order of `Example.attention`.
/** @param {Frame[]} frames */
export function filmOf(frames) {
  const tokensOf = ({ examples }) => examples.map(({ src, tgt, gold }) => ({ src, tgt, predicted: gold }));
  const key = (frame) => JSON.stringify(tokensOf(frame));
  const all = frames.filter((frame) => key(frame) === key(frames.at(-1))); // a fork may change the task's options
  const same = fewer(all, Math.max(2, Math.floor(MAX_WEIGHTS / Math.max(1, ...all.map(countWeights)))));
  const values = same.flatMap(({ examples }) => examples.map(({ attention }) => attention));
  const packed = new Uint16Array(same.reduce((sum, frame) => sum + countWeights(frame), 0));
  let end = 0;
  for (const weights of values) for (const weight of weights) packed[end++] = Math.round(65_535 * weight);
  return { steps: same.map(({ step }) => step), tokens: same.length ? tokensOf(same[0]) : [], weights: packed };
}

// What the run writes now, as the app shows it.
/** @param {Run} run */
export const outputsOf = ({ examples }) =>
  examples.filter(({ output, gold }) => output && gold).map(({ src, gold, output, correct }) => {
    const [source, target, written] = [src, gold, output].map((tokens) => withoutEnds(tokens).join(" "));
    return { src: source, tgt: target, output: written, right: Boolean(correct) };
  });
