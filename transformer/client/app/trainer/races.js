// Races: runs that differ in one setting from the first step on. Each answers a question of a learner.

import { wholePercent } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";
import { accuracyByLength } from "./curves.js";
import { MODEL_NAMES, SCORE_NAMES } from "./knobs.js";
import { reachedStep } from "./verdict.js";

/** @typedef {import("./runs.js").Run} Run */

// The same data for a Transformer and for two recurrent models, with and without attention; eight seeds of eight show the
// difference (docs/tour.md).
export const MODEL_RACE =
  "steps=800;learning_rate=0.005;option.longest=20;option.letters=10~0@0;model=gru_attention~0@0;model=gru";
// One head with d_k = 64: long enough queries for the softmax of unscaled scores to saturate.
export const SCORE_RACE =
  "n_layers=1;n_heads=1;d_ff=128;score=dot;steps=400;option.longest=6~0@0;score=scaled_dot~0@0;score=additive";
// Models of one layer and of equal size; five seeds of five show the difference (docs/tour.md).
const HEADS_RACE = "task=sort;n_layers=1;steps=500~0@0;n_heads=1";
const POSITIONS_RACE = "task=reverse~0@0;positions=none";

// The questions, each with its race and the run of it that five seeds compare with the first one.
export const QUESTIONS = [
  { text: "Why not one big head?", link: HEADS_RACE, compared: 1 },
  { text: "Why do positions matter?", link: POSITIONS_RACE, compared: 1 },
  { text: "Why not a recurrent network?", link: MODEL_RACE, compared: 2 },
];
export const SCORE_QUESTION = { text: "Why divide by √d_k?", link: SCORE_RACE, compared: 1 };

/** @type {Record<string, (settings: any) => string>} */
const NAMES = {
  model: ({ model }) => MODEL_NAMES[model],
  score: ({ score }) => SCORE_NAMES[score],
  n_heads: ({ n_heads, d_model }) => fill(n_heads === 1 ? ONE_HEAD : HEADS, { n_heads, size: d_model / n_heads }),
  positions: ({ positions }) => positions,
};
const [ONE_HEAD, HEADS] = ["one head of {size} dimensions", "{n_heads} heads of {size} dimensions"];
const LABELS = { score: "score function", n_heads: "heads", positions: "positional encoding" };
const RESULT = "{name} {share} (step {step})";
const RESULT_REACHED = "{name} {share} (step {step}; 99% at step {reached})";
const RESULTS = "Right outputs by {label}: {results}.";
const SAME_SIZE = "Both models have {weights} weights.";
const ONE_VECTOR = "One vector does not hold a long input; with attention the decoder looks back at it.";
const SEQUENTIAL =
  "For an input of {longest} symbols a GRU takes {longest} steps, one after another; each of the Transformer's encoder layers reads all symbols at once.";
const CLEAR_LOSS = 0.4; // of the share of right outputs, more than the samples of an evaluation vary

// The runs of a race or of a single run: those that begin at step 0.
/** @param {Run[]} runs */
export const racers = (runs) => runs.filter(({ step, hidden }) => step === 0 && !hidden);

// The setting in which these runs differ from the first step on, a name in NAMES, or "" if they are no race.
/** @param {Run[]} runs */
export const racedSetting = (runs) =>
  Object.keys(NAMES).find((name) =>
    new Set(racers(runs).flatMap(({ started }) => started?.settings[name] ?? [])).size > 1
  ) ?? "";

// The name of a run in a race of this setting.
/** @param {Run} run */
export const racerName = ({ started }, raced) => NAMES[raced](started.settings);

// What the race shows until now, in sentences.
/** @param {Run[]} runs @param {string} raced */
export const raceText = (runs, raced) => raced === "model" ? modelText(runs) : raced ? resultsText(runs, raced) : "";

/** @param {Run[]} runs @param {string} raced */
function resultsText(runs, raced) {
  const measured = racers(runs).filter(({ evaluations }) => evaluations.length);
  if (!measured.length) return "";
  const results = measured.map((run) => {
    const { step, correct, count } = run.evaluations.at(-1);
    const reached = reachedStep(run);
    const values = { name: racerName(run, raced), share: wholePercent(correct / count), step, reached };
    return fill(reached === null ? RESULT : RESULT_REACHED, values);
  });
  const weights = new Set(measured.map(({ started }) => started.parameters));
  return [
    fill(RESULTS, { label: LABELS[raced], results: results.join("; ") }),
    ...(raced === "n_heads" && weights.size === 1
      ? [fill(SAME_SIZE, { weights: [...weights][0].toLocaleString("en") })]
      : []),
  ].join(" ");
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
  const forgets = lossOf("gru") > CLEAR_LOSS && lossOf("gru_attention") < lossOf("gru") - CLEAR_LOSS;
  const isTransformerRaced = results.some(({ run }) => run.started.settings.model === "transformer");
  return [
    text,
    ...(forgets ? [ONE_VECTOR] : []),
    ...(isTransformerRaced ? [fill(SEQUENTIAL, { longest: last.to })] : []),
  ].join(" ");
}
