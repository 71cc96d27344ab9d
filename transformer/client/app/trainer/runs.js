// The runs of a page: a tree whose root is the first run and whose other nodes are forks, each in a worker of its own.
// At most `cores` of them train at the same time; the others wait for their turn.

import { accuracyPoints } from "./curves.js";
import { allSettings } from "./link.js";
import { reachedStep } from "./verdict.js";

const LEAST_WORKERS = 3; // so that three models can be compared while they learn
const MAX_RECORDS = 20_000; // a longer run keeps every second record
const FORK_SEEDS = 5;

/**
 * @typedef {import("../../training/protocol.d.ts").Report} Report
 * @typedef {import("../../training/protocol.d.ts").Change} Change
 * @typedef {import("./link.js").PlannedRun} PlannedRun
 * @typedef {{ id: number, parent: number, step: number, settings: any, state: string, at: number, seconds: number,
 *   records: any[], evaluations: any[], examples: any[], started: any, checksum: string, problem: string,
 *   hidden: boolean, worker: Worker | null, origin: any, start: any }} Run `hidden` runs are the seeds of a verdict
 */

/**
 * @param {() => Worker} makeWorker
 * @param {(run: Run, report: any) => void} onReport called after `run` has taken in the report
 */
export function makeRuns(makeWorker, onReport, cores = Math.max(LEAST_WORKERS, navigator.hardwareConcurrency || 2)) {
  /** @type {Run[]} */
  let runs = [];
  let [paused, stepsPerSecond, data, lastId] = [false, 0, null, 0];
  const answers = new Map(); // by the id of the command

  /** @param {Run} run */
  const isTraining = (run) => run.state === "training";

  // Begin with these runs at step 0; `state` continues the last one where it was saved.
  /** @param {PlannedRun[]} planned @param {any} pairs @param {any} [state] */
  function begin(planned, pairs, state) {
    close();
    [data, paused] = [pairs, false];
    planned.forEach((plan, index) =>
      add(plan, { description: descriptionOf(planned, index), state: index === planned.length - 1 ? state : null })
    );
    startWaiting();
  }

  /** @param {PlannedRun} plan @param {any} start @returns {Run} */
  function add({ parent, step, settings }, start, hidden = false) {
    const lists = { records: [], evaluations: [], examples: [] };
    const reported = { ...lists, state: "waiting", at: 0, seconds: 0, started: null, checksum: "", problem: "" };
    const run = { id: runs.length, parent, step, settings, start, hidden, worker: null, origin: null, ...reported };
    runs.push(run);
    return run;
  }

  function startWaiting() {
    for (const run of runs) {
      if (run.state !== "waiting" || runs.filter(isTraining).length >= cores) continue;
      run.worker = makeWorker();
      run.worker.onmessage = ({ data: report }) => take(run, report);
      run.worker.onerror = (event) => {
        event.preventDefault();
        take(run, { type: "problem", problem: "The training script could not be loaded: reload the page." });
      };
      run.state = paused ? "paused" : "training";
      run.worker.postMessage({
        type: "start",
        ...run.start,
        data,
        paused,
        stepsPerSecond: run.hidden ? 0 : stepsPerSecond,
      });
      run.start = null;
    }
  }

  /** @param {any} run @param {any} report */
  function take(run, report) {
    if (!runs.includes(run)) return; // of an earlier tree
    if (report.type === "answer") {
      const { resolve, reject } = answers.get(report.id);
      answers.delete(report.id);
      if (report.problem) reject(new RangeError(report.problem));
      else resolve(report.result);
      return;
    }
    if ("step" in report) run.at = report.step;
    if ("seconds" in report) run.seconds = report.seconds;
    if ("checksum" in report) run.checksum = report.checksum;
    if (report.type === "started") run.started = report;
    else if (report.type === "progress") {
      run.records.push(...report.steps);
      if (run.records.length > MAX_RECORDS) run.records = run.records.filter((_, i) => i % 2);
      if (report.examples.length) run.examples = merged(run.examples, report.examples);
    } else if (report.type === "evaluation" || report.type === "finished") {
      if (run.evaluations.at(-1)?.step !== report.evaluation.step) run.evaluations.push(report.evaluation);
    }
    if (["paused", "finished", "diverged"].includes(report.type)) run.state = report.type;
    if (report.type === "problem" && !run.started) run.state = "problem";
    if (report.problem) run.problem = report.problem;
    if (run.hidden && !isTraining(run)) stop(run);
    onReport(run, report);
    startWaiting();
  }

  // Ask a run's worker for something: { type: "state" }, { type: "translate", text }, …
  /** @param {Run} run @returns {Promise<any>} */
  function ask(run, command) {
    if (!run.worker) return Promise.reject(new Error("This run has not started yet."));
    return new Promise((resolve, reject) => {
      answers.set(++lastId, { resolve, reject });
      run.worker.postMessage({ ...command, id: lastId });
    });
  }

  // Fork a run where it is: a new run goes on from the same weights with other settings.
  /** @param {Run} origin @param {any} settings */
  async function fork(origin, settings) {
    const state = await ask(origin, { type: "state" });
    const run = forkFrom(origin, state, settings);
    run.origin = state;
    startWaiting();
    return run;
  }

  // A fork that begins with the weights of `state`, or without weights replays the run up to there.
  /** @param {Run} origin @param {any} state a RunState, or its description and step only @returns {Run} */
  function forkFrom(origin, state, settings, hidden = false) {
    const description = {
      ...state.description,
      changes: [...(state.description.changes ?? []), { step: state.step, settings }],
    };
    const start = { description, state: state.weights ? { ...state, description } : null };
    return add({ parent: origin.id, step: state.step, settings }, start, hidden);
  }

  // Train a fork and the run it came from with several seeds, which draw other batches from the fork on, and in a race
  // from step 0 on other initial weights too. Resolves to the pairs of outcomes, or to null if another tree has begun.
  /** @param {Run} forked */
  async function compareSeeds(forked, count = FORK_SEEDS) {
    const origin = runs[forked.parent];
    const state = forked.origin ?? { description: descriptionOf(runs, origin.id), step: forked.step };
    const pairs = Array.from({ length: count }, (_, i) => {
      const { steps } = forked.settings; // more of them after a finished run, for both sides
      const seed = { seed: (1000 * (i + 1) + forked.id) % 1_000_000, ...(steps && { steps }) };
      if (!forked.step) return { before: withSeed(origin, seed), after: withSeed(forked, seed) };
      return {
        before: forkFrom(origin, state, seed, true),
        after: forkFrom(origin, state, { ...forked.settings, ...seed }, true),
      };
    });
    const all = pairs.flatMap(({ before, after }) => [before, after]);
    startWaiting();
    while (all.some(({ state: now }) => ["waiting", "training", "paused"].includes(now))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (!runs.includes(forked)) return null;
    }
    return pairs.map(({ before, after }) => ({ before: outcomeOf(before), after: outcomeOf(after) }));
  }

  // A run like this one from step 0 on, hidden, with another seed.
  /** @param {Run} run */
  function withSeed({ id, parent }, seed) {
    const { settings, changes } = descriptionOf(runs, id);
    return add(
      { parent, step: 0, settings: seed },
      { description: { settings: { ...settings, ...seed }, changes } },
      true,
    );
  }

  /** @param {Run} run */
  function stop(run) {
    run.worker?.terminate();
    run.worker = null;
  }

  function close() {
    runs.forEach(stop);
    runs = [];
    answers.clear();
  }

  // The visible runs as those of a link, and one more if it is given.
  /** @param {any} [next] @returns {PlannedRun[]} */
  function planned(next) {
    const visible = [...runs.filter((run) => !run.hidden), ...(next ? [next] : [])];
    const numbers = new Map(visible.map(({ id }, number) => [id, number]));
    return visible.map(({ parent, step, settings }) => ({ parent: numbers.get(parent) ?? -1, step, settings }));
  }

  // The runs from the root to this one, as those of a link of its own.
  /** @param {Run} run @returns {PlannedRun[]} */
  function pathTo(run) {
    const path = [run];
    while (path[0].parent >= 0) path.unshift(runs[path[0].parent]);
    return path.map(({ step, settings }, i) => ({ parent: i - 1, step, settings }));
  }

  function send(command) {
    for (const run of runs) {
      if (!run.hidden && run.worker && !["finished", "diverged"].includes(run.state)) run.worker.postMessage(command);
    }
  }

  return {
    begin,
    fork,
    ask,
    compareSeeds,
    close,
    get all() {
      return runs;
    },
    get visible() {
      return runs.filter((run) => !run.hidden);
    },
    get paused() {
      return paused;
    },
    pause() {
      paused = true;
      send({ type: "pause" });
    },
    resume() {
      paused = false;
      for (const run of runs) if (run.state === "paused") run.state = "training";
      send({ type: "resume" });
      startWaiting();
    },
    step() {
      paused = true;
      send({ type: "step" });
    },
    setSpeed(value) {
      stepsPerSecond = value;
      send({ type: "speed", stepsPerSecond });
    },
    planned,
    pathTo,
  };
}

// The description of a run of a link: the settings with which it began, and the changes on the way to it.
/** @param {PlannedRun[]} planned */
export function descriptionOf(planned, index) {
  /** @type {Change[]} */
  const changes = [];
  let i = index;
  for (; planned[i].step > 0; i = planned[i].parent) {
    changes.unshift({ step: planned[i].step, settings: planned[i].settings });
  }
  const { options, ...settings } = allSettings(planned, i);
  return { settings: { ...settings, options }, changes };
}

// The step at which 99 % were first correct, the share that is correct at the end, and where the heads look then.
/** @param {Run} run */
const outcomeOf = (run) => ({
  reached: reachedStep(run),
  share: accuracyPoints(run).at(-1)?.[1] ?? 0,
  linkShares: run.evaluations.at(-1)?.linkShares ?? null,
});

// Examples with new attention keep their last output where none was written.
const merged = (old, examples) =>
  examples.map((example, i) =>
    example.output || !old[i] ? example : { ...example, output: old[i].output, correct: old[i].correct }
  );
