// What a run shows, in sentences made from the numbers that are drawn.

import { headOfCode, KINDS } from "../../common/head-codes.js";
import { headName, layerName } from "../../common/naming.js";
import { MODEL_NAMES, SCORE_NAMES } from "./knobs.js";
import { wholePercent } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";
import { DEFAULTS, FOUND } from "../../training/settings.js";
import { TASKS } from "../../training/tasks.js";
import { racerName } from "./races.js";
import { isOff, reachedStep } from "./verdict.js";

const RECENT = 20; // steps whose mean loss is compared
const HIGH_RATE = 5; // times the task's own learning rate
const FAILED = 0.5; // below this share of correct outputs at the end, the settings made the task too hard

const UNSEEN = "Of {held} held-out pairs, {pairs} cannot be right: they have {words} words that no training pair has.";
const REPEATS = "Pairs that repeat the source of another: {repeats}; pairs with an equal source are held out together.";

/** @typedef {import("./runs.js").Run} Run */

// The cross-attention head that first put most of its weight on the right tokens, and when. A head that is off has weights
// too, but passes nothing on.
/** @param {any[]} evaluations @param {string} off codes of heads */
export function firstFollower(evaluations, off = "") {
  for (const { step, linkShares } of evaluations) {
    if (!linkShares) return null;
    let best = null;
    linkShares.forEach((heads, layer) =>
      heads.forEach((share, head) => {
        if (isOff(off, layer, head)) return;
        if (share >= FOUND && share > (best?.share ?? 0)) best = { step, layer, head, share };
      })
    );
    if (best) return best;
  }
  return null;
}

/** @param {Run} run @returns {string} */
export function caption(run) {
  if (run.problem || !run.started || !run.evaluations.length) return learnedText(run);
  const { unseen: { words, pairs } = { words: 0, pairs: 0 }, repeats = 0, validCount: held } = run.started;
  return [
    learnedText(run),
    ...(words ? [fill(UNSEEN, { held, pairs, words })] : []),
    ...(repeats ? [fill(REPEATS, { repeats })] : []),
  ].join(" ");
}

/** @param {Run} run @returns {string} */
function learnedText(run) {
  const last = run.evaluations.at(-1);
  if (run.problem) return run.problem;
  if (!last || !run.started) {
    return "Every small picture is one head: rows are tokens that look, columns tokens that they look at.";
  }
  const settings = run.started.settings;
  const share = last.correct / last.count;
  const loss = run.records.at(-1)?.loss;
  const ends = run.state === "finished";
  if (!settings.causal && loss !== undefined && loss < 0.1 && share < FAILED) {
    return `The loss is ${loss.toFixed(2)}, yet only ${
      wholePercent(share)
    } of the outputs are right: without the mask, the model ` +
      "saw in training the very tokens that it must write, and now there is nothing to copy.";
  }
  const failing = share < FAILED ? tooHighText(run) || memorisedText(run) : grokkedText(run);
  if (failing) return failing;
  const follower = firstFollower(run.evaluations, settings.off);
  const now = follower ? last.linkShares[follower.layer][follower.head] : 0;
  const followed = follower
    ? `Step ${follower.step}: cross-attention ${headName(follower)} put ${
      wholePercent(follower.share)
    } of its weight on the right source ` +
      `tokens for the first time (step ${last.step}: ${wholePercent(now)}).`
    : "";
  const reached = reachedStep(run);
  if (reached !== null) return `${followed} 99% of the outputs were right at step ${reached}.`.trim();
  if (ends && share < FAILED && settings.positions === "none") {
    return `After ${last.step} steps ${
      wholePercent(share)
    } of the outputs are right: without positions the model sees a bag of tokens and ` +
      "cannot tell their order.";
  }
  if (ends) return `${followed} After ${last.step} steps ${wholePercent(share)} of the outputs are right.`.trim();
  const noHead = last.linkShares ? "; no head puts half of its weight on the right source tokens yet" : "";
  return followed || `Step ${last.step}: ${wholePercent(share)} of the outputs are right${noHead}.`;
}

/** @param {{ loss: number }[]} records */
const meanLoss = (records) => records.reduce((sum, { loss }) => sum + loss, 0) / records.length;

// That the learning rate is too high: the loss has risen above that of the first step, or it stays where it is at a rate
// far above the task's own.
/** @param {Run} run */
function tooHighText({ records, started: { settings } }) {
  if (records.length < 3 * RECENT) return "";
  const { learning_rate: rate, task } = settings;
  const [first, recent] = [records[0].loss, meanLoss(records.slice(-RECENT))];
  const windows = records.filter((_, i) => i % RECENT === 0).map((_, i) =>
    meanLoss(records.slice(RECENT * i, RECENT * (i + 1)))
  );
  const [highest, usual] = [Math.max(...windows), usualRate(task)];
  const advice = `The learning rate of ${rate} is too high: start again with one such as ${usual}.`;
  if (highest > 1.2 * first) {
    return `The loss has risen from ${first.toFixed(2)} to ${highest.toFixed(2)}, and is ${
      recent.toFixed(2)
    } now. ${advice}`;
  }
  const isStuck = recent > 0.95 * meanLoss(records.slice(Math.floor(records.length / 2)).slice(0, RECENT));
  return rate >= HIGH_RATE * usual && isStuck && records.length >= 10 * RECENT
    ? `The loss has stopped at ${recent.toFixed(2)}. ${advice}`
    : "";
}

/** @param {string} task */
const usualRate = (task) => TASKS[task]?.training.learning_rate ?? DEFAULTS.learning_rate;

// Grokking (Power et al. 2022): a model memorises its training pairs, and writes the held-out ones right much later.
const CHANCE_SHARE = 0.3; // of the loss of guessing, below which the training pairs are memorised

/** @param {Run} run */
const guessingLoss = ({ started: { settings } }) =>
  settings.task === "modular" ? Math.log(settings.options.modulus) : 0;

/** @param {Run} run */
function memorisedText(run) {
  const [guessing, recent, last] = [guessingLoss(run), meanLoss(run.records.slice(-RECENT)), run.evaluations.at(-1)];
  if (!(recent < CHANCE_SHARE * guessing)) return "";
  return `The loss on training pairs is ${recent.toFixed(2)} (${guessing.toFixed(2)} by guessing), yet ${
    wholePercent(last.correct / last.count)
  } of the held-out outputs are right: the model has memorised its pairs. It may find the rule much later, which is called grokking (Power et al. 2022).`;
}

/** @param {Run} run */
function grokkedText(run) {
  const memorised = run.records.find(({ loss }) => loss < CHANCE_SHARE * guessingLoss(run));
  const before = memorised && run.evaluations.find(({ step }) => step >= memorised.step);
  if (!before || before.correct >= FAILED * before.count) return "";
  const found = run.evaluations.find(({ correct, count }) => correct >= GROKKED * count);
  if (!found) return "";
  return `Step ${before.step}: the training pairs were memorised, and ${
    wholePercent(before.correct / before.count)
  } of the held-out outputs were right. Step ${found.step}: ${
    wholePercent(found.correct / found.count)
  } are right. The model found the rule long after it had memorised its pairs, which is called grokking (Power et al. 2022).`;
}
const GROKKED = 0.9;

// When the runs first wrote 99% of the outputs without an error.
/** @param {Run} run */
const reachedText = (run) => {
  const step = reachedStep(run);
  return step === null ? "" : `99% at step ${step}`;
};

// In a race, the runs from step 0 on are named by the setting in which they differ.
/** @param {Run} run @param {string} raced */
export function runName(run, raced) {
  const { parent, step, settings, started } = run;
  if (raced && step === 0 && started) return racerName(run, raced);
  return parent < 0 ? "First run" : `Step ${step}, ${changeText(settings)}`;
}

/** @param {Run} run */
export function runState(run) {
  const words = {
    training: `step ${run.at}`,
    waiting: run.step > run.at && !run.start ? `begins at step ${run.step}` : "waits for a free processor core",
    finished: `finished after ${run.seconds.toFixed(1)} s`,
    diverged: `diverged at step ${run.at}`,
  };
  return [words[run.state] ?? run.state, reachedText(run)].filter(Boolean).join(", ");
}

// "c1.2" as "cross-attention layer 2, head 3".
function codeName(code) {
  const { kind, layer, head } = headOfCode(code);
  return `${KINDS[kind].toLowerCase()} ${head === undefined ? layerName(layer) : headName({ layer, head })}`;
}

// What a fork changed: "without cross-attention layer 2, head 3", "with learning rate 0.001".
/** @param {any} settings */
export function changeText(settings) {
  const { off, ...others } = settings;
  const parts = Object.entries(others).map(([name, value]) =>
    SETTING_CHANGES[name]?.(value) ?? `${name.replaceAll("_", " ")} ${value}`
  );
  if (off) {
    return ["without " + off.split(",").map(codeName).join(" and "), ...parts.map((part) => `with ${part}`)].join(", ");
  }
  return off === "" ? ["with all heads", ...parts].join(", ") : `with ${parts.join(", ")}`;
}

const SETTING_CHANGES = {
  steps: (value) => `${value} steps in all`,
  causal: (value) => (value ? "the decoder's mask" : "no decoder mask"),
  model: (value) => (value === "transformer" ? "a Transformer" : `a ${MODEL_NAMES[value]}`),
  n_heads: (value) => (value === 1 ? "one big head" : `${value} heads`),
  positions: (value) => (value === "none" ? "no positions" : `${value} positions`),
  score: (value) => `scores ${SCORE_NAMES[value]}`,
};
