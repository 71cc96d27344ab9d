// Races: runs that differ in one setting from the first step on.

import { wholePercent } from "../../common/numbers.js";
import { accuracyByLength } from "./curves.js";
import { MODEL_NAMES, SCORE_NAMES } from "./knobs.js";

/** @typedef {import("./runs.js").Run} Run */

// The same data for a Transformer and for two recurrent models, with and without attention; eight seeds of eight show the
// difference (docs/tour.md).
export const MODEL_RACE =
  "steps=800;learning_rate=0.005;option.longest=20;option.letters=10~0@0;model=gru_attention~0@0;model=gru";
// One head with d_k = 64: long enough queries for the softmax of unscaled scores to saturate.
export const SCORE_RACE =
  "n_layers=1;n_heads=1;d_ff=128;score=dot;steps=400;option.longest=6~0@0;score=scaled_dot~0@0;score=additive";
const NAMES = { model: MODEL_NAMES, score: SCORE_NAMES };
const CLEAR_LOSS = 0.4; // of the share of right outputs, more than the samples of an evaluation vary

// The runs of a race or of a single run: those that begin at step 0.
/** @param {Run[]} runs */
export const racers = (runs) => runs.filter(({ step, hidden }) => step === 0 && !hidden);

// The setting in which these runs differ from the first step on: "model", "score" or, of no race, "".
/** @param {Run[]} runs */
export const racedSetting = (runs) =>
  Object.keys(NAMES).find((name) =>
    new Set(racers(runs).flatMap(({ started }) => started?.settings[name] ?? [])).size > 1
  ) ?? "";

// The name of a run in a race of this setting.
/** @param {Run} run */
export const racerName = ({ started }, raced) => NAMES[raced][started.settings[raced]];

// What the race shows until now, in sentences.
/** @param {Run[]} runs @param {string} raced */
export const raceText = (runs, raced) => raced === "model" ? modelText(runs) : raced ? scoreText(runs) : "";

/** @param {Run[]} runs */
function scoreText(runs) {
  const measured = racers(runs).filter(({ evaluations }) => evaluations.length);
  if (!measured.length) return "";
  const results = measured.map((run) => {
    const { step, correct, count } = run.evaluations.at(-1);
    return `${racerName(run, "score")} ${wholePercent(correct / count)} (step ${step})`;
  });
  return `Right outputs by score function: ${
    results.join("; ")
  }. One seed may be chance: select a run below, then compare it with five seeds.`;
}

// How different models do on the shortest and the longest inputs, and what follows if the numbers show it.
/** @param {Run[]} runs */
function modelText(runs) {
  const results = runs.map((run) => ({ run, groups: accuracyByLength(run) })).filter(({ groups }) => groups.length > 1);
  if (!results.length) return "";
  const [first, last] = [results[0].groups[0], results[0].groups.at(-1)];
  const models = results.map(({ run, groups }) =>
    `${racerName(run, "model")} ${wholePercent(groups[0].share)} and ${wholePercent(groups.at(-1).share)}`
  );
  const text = `Right outputs for inputs of ${first.from} to ${first.to} and of ${last.from} to ${last.to} symbols: ${
    models.join("; ")
  }.`;
  const lossOf = (model) => {
    const groups = results.find(({ run }) => run.started.settings.model === model)?.groups;
    return groups ? groups[0].share - groups.at(-1).share : NaN;
  };
  return lossOf("gru") > CLEAR_LOSS && lossOf("gru_attention") < lossOf("gru") - CLEAR_LOSS
    ? `${text} One vector does not hold a long input; with attention the decoder looks back at it.`
    : text;
}
