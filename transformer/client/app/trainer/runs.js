// The runs of a page: a tree whose root is the first run and whose other nodes are forks, each in a worker of its own.
// At most `cores` of them train at the same time; the others wait for their turn.

import { FOUND } from "../../training/settings.js";
import { accuracyPoints } from "./curves.js";
import { allSettings, readLink, writeLink } from "./link.js";
import { reachedStep } from "./verdict.js";

const LEAST_WORKERS = 3; // so that three models can be compared while they learn
const MAX_RECORDS = 20_000; // a longer run keeps every second record
const PAIRS = 5; // of a comparison

/**
 * @typedef {import("../../training/protocol.d.ts").Report} Report
 * @typedef {import("../../training/protocol.d.ts").Change} Change
 * @typedef {import("./link.js").PlannedRun} PlannedRun
 * @typedef {{ id: number, parent: number, step: number, settings: any, state: string, at: number, seconds: number,
 *   records: any[], evaluations: any[], examples: any[], started: any, checksum: string, problem: string,
 *   hidden: boolean, worker: Worker | null, origin: any, start: any, foundAt: number }} Run `state` is waiting, training,
 *   paused, finished, diverged, problem or cancelled; `hidden` runs are those of a comparison; `start` is null once the
 *   run has started, and while a fork of a link waits for its origin; `foundAt` is the step at which the run has paused
 *   because a head puts FOUND of its weight on the right tokens, or −1
 * @typedef {{ pairs: Promise<import("./verdict.js").Pair[] | null>, count: number, cancel: () => void,
 *   progress: () => { done: number, share: number } }} RunningComparison `pairs` is null if it was cancelled or another
 *   tree has begun; `count` is of runs, `share` of their steps
 */

/**
 * @param {() => Worker} makeWorker
 * @param {(run: Run, report: any) => void} onReport called after `run` has taken in the report
 */
export function makeRuns(makeWorker, onReport, cores = Math.max(LEAST_WORKERS, navigator.hardwareConcurrency || 2)) {
  /** @type {Run[]} */
  let runs = [];
  let [paused, stopsOnce, stepsPerSecond, data, lastId] = [false, false, 0, null, 0];
  const answers = new Map(); // by the id of the command
  /** @type {Map<string, { next: PlannedRun, done: Promise<Run | null> }>} */
  const forking = new Map(); // forks that wait for the state of their origin
  /** @type {{ members: Run[], settle: (isComplete: boolean) => void }[]} */
  let comparisons = [];

  /** @param {Run} run */
  const isTraining = (run) => run.state === "training";
  /** @param {Run} run */
  const isOver = ({ state }) => ["finished", "diverged", "problem", "cancelled"].includes(state);
  const visible = () => runs.filter((run) => !run.hidden);

  // Begin with these runs at step 0, and with their forks when they get there; `state` continues the last one where it
  // was saved. With `stops` the first run pauses once, when a head has found the rule of its task.
  /** @param {PlannedRun[]} planned @param {any} pairs @param {any} [state] */
  function begin(planned, pairs, state, stops = false) {
    close();
    [data, paused, stopsOnce] = [pairs, false, stops];
    planned.forEach((plan, index) => {
      const saved = index === planned.length - 1 ? state ?? null : null;
      add(plan, plan.step && !saved ? null : { description: descriptionOf(planned, index), state: saved });
    });
    schedule();
  }

  /** @param {PlannedRun} plan @param {any} start @returns {Run} */
  function add({ parent, step, settings }, start, hidden = false) {
    const lists = { records: [], evaluations: [], examples: [] };
    const reported = {
      ...lists,
      state: "waiting",
      at: 0,
      seconds: 0,
      started: null,
      checksum: "",
      problem: "",
      foundAt: -1,
    };
    const run = { id: runs.length, parent, step, settings, start, hidden, worker: null, origin: null, ...reported };
    runs.push(run);
    return run;
  }

  // Start or continue runs while processor cores are free. Hidden runs train on while the visitor pauses the others.
  function schedule() {
    for (const run of runs) {
      if (runs.filter(isTraining).length >= cores) return;
      if (run.state !== "waiting" || (paused && !run.hidden) || !(run.worker || run.start)) continue;
      run.state = "training";
      if (run.worker) run.worker.postMessage({ type: "resume" });
      else startWorker(run);
    }
  }

  /** @param {Run} run */
  function startWorker(run) {
    run.worker = makeWorker();
    run.worker.onmessage = ({ data: report }) => take(run, report);
    run.worker.onerror = (event) => {
      event.preventDefault();
      take(run, { type: "problem", problem: "The training script could not be loaded: reload the page." });
    };
    const forkSteps = runs.filter((fork) => fork.parent === run.id && awaitsOrigin(fork)).map(({ step }) => step);
    const speed = run.hidden ? 0 : stepsPerSecond;
    const stops = stopsOnce && run.id === 0 ? { stopsAtShare: FOUND } : {};
    run.worker.postMessage({ type: "start", ...run.start, data, forkSteps, stepsPerSecond: speed, ...stops });
    run.start = null;
  }

  /** @param {any} run @param {any} report */
  function take(run, report) {
    if (!runs.includes(run) || !run.worker) return; // of an earlier tree, or cancelled
    if (report.type === "answer") return answer(report);
    if (report.type === "forkState") return startForks(run, report.state);
    takeNumbers(run, report);
    // The page pauses a run, and its worker says so later, perhaps when the run goes on already.
    if (["finished", "diverged", "problem"].includes(report.type)) run.state = report.type;
    if (report.problem) run.problem = report.problem;
    if (report.isFound) {
      run.foundAt = report.step;
      pause();
    }
    if (run.hidden && isOver(run)) stop(run);
    if (isOver(run)) endWaitingForks(run);
    onReport(run, report);
    for (const { members, settle } of [...comparisons]) if (members.every(isOver)) settle(true);
    schedule();
  }

  function answer({ id, problem, result }) {
    const { resolve, reject } = answers.get(id);
    answers.delete(id);
    if (problem) reject(new RangeError(problem));
    else resolve(result);
  }

  /** @param {Run} run @param {any} report */
  function takeNumbers(run, report) {
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
  }

  // A fork of a link, whose origin has not reached its step.
  /** @param {Run} run */
  const awaitsOrigin = (run) => run.state === "waiting" && !run.worker && !run.start;

  /** @param {Run} origin @param {any} state */
  function startForks(origin, state) {
    for (const run of runs) {
      if (run.parent !== origin.id || run.step !== state.step || !awaitsOrigin(run)) continue;
      [run.origin, run.start] = [state, startFrom(state, run.settings)];
    }
    schedule();
  }

  /** @param {Run} origin */
  function endWaitingForks(origin) {
    for (const run of runs) {
      if (run.parent !== origin.id || !awaitsOrigin(run)) continue;
      [run.state, run.problem] = ["problem", `Its run ended at step ${origin.at}, before this fork begins.`];
      endWaitingForks(run);
    }
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

  // Fork a run where it is: a new run goes on from the same weights with other settings. Rejects with one sentence if
  // the fork is impossible; resolves to null if another tree has begun. Equal forks at the same time are one fork.
  /** @param {Run} origin @param {any} settings @returns {Promise<Run | null>} */
  function fork(origin, settings) {
    const key = JSON.stringify([origin.id, settings]);
    const pending = forking.get(key);
    if (pending) return pending.done;
    const next = { parent: origin.id, step: Math.max(origin.at, origin.step), settings };
    try {
      check([...[...forking.values()].map((other) => other.next), next]);
    } catch (error) {
      return Promise.reject(error);
    }
    const done = forkNow(origin, settings).finally(() => forking.delete(key));
    forking.set(key, { next, done });
    return done;
  }

  /** @param {Run} origin @param {any} settings */
  async function forkNow(origin, settings) {
    const tree = runs;
    const state = await ask(origin, { type: "state" });
    if (runs !== tree) return null;
    const plan = { parent: origin.id, step: state.step, settings };
    check([plan]);
    const run = add(plan, state.step ? startFrom(state, settings) : { description: startDescription(plan) });
    run.origin = state;
    schedule();
    return run;
  }

  // Refuses forks that a link could not have.
  /** @param {PlannedRun[]} next */
  const check = (next) => readLink(writeLink(planned(...next)));

  /** @param {PlannedRun} plan */
  const startDescription = (plan) => descriptionOf([...runs, plan], runs.length);

  // A start with the weights of `state`, or without weights one that replays the run up to there.
  /** @param {any} state a RunState, or its description and step only */
  function startFrom(state, settings) {
    const changes = [...(state.description.changes ?? []), { step: state.step, settings }];
    const description = { ...state.description, changes };
    return { description, state: state.weights ? { ...state, description } : null };
  }

  // Train a fork and the run it came from several times, hidden: from step 0 on with other seeds, or from the fork on with
  // other orders of batches.
  /** @param {Run} forked @param {boolean} fromStart @returns {RunningComparison} */
  function compareSeeds(forked, fromStart, count = PAIRS) {
    const pairs = Array.from({ length: count }, (_, i) => {
      const { steps } = forked.settings; // more of them after a finished run, for both sides
      const seed = { seed: (1000 * (i + 1) + forked.id) % 1_000_000, ...(steps && { steps }) };
      const [before, after] = fromStart ? bothFromStart(forked, seed) : bothFromFork(forked, seed);
      return { seed: seed.seed, before, after };
    });
    const members = pairs.flatMap(({ before, after }) => [before, after]);
    const ended = new Promise((resolve) => {
      comparisons.push({
        members,
        settle(isComplete) {
          comparisons = comparisons.filter((comparison) => comparison.members !== members);
          resolve(isComplete);
        },
      });
    });
    schedule();
    return {
      pairs: ended.then((isComplete) => isComplete ? outcomesOf(pairs) : null),
      count: members.length,
      progress: () => ({
        done: members.filter(isOver).length,
        share: members.reduce((sum, run) => sum + shareOf(run), 0) / members.length,
      }),
      cancel: () => cancel(members),
    };
  }

  /** @param {Run[]} members of a comparison */
  function cancel(members) {
    const comparison = comparisons.find((other) => other.members === members);
    for (const run of members.filter((member) => !isOver(member))) {
      stop(run);
      run.state = "cancelled";
    }
    comparison?.settle(false);
    schedule();
  }

  // The share of its steps that a run of a comparison has taken.
  /** @param {Run} run */
  const shareOf = (run) => {
    if (isOver(run)) return 1;
    return run.started ? Math.max(run.at - run.step, 0) / (run.started.settings.steps - run.step) : 0;
  };

  /** @param {Run} forked @param {any} seed */
  function bothFromStart(forked, seed) {
    return [runs[forked.parent], forked].map(({ id }) => {
      const { settings, changes } = descriptionOf(runs, id);
      const description = { settings: { ...settings, ...seed }, changes };
      return add({ parent: id, step: 0, settings: seed }, { description }, true);
    });
  }

  /** @param {Run} forked @param {any} seed */
  function bothFromFork(forked, seed) {
    const { parent, step } = forked;
    const state = forked.origin ?? { description: descriptionOf(runs, parent), step };
    return [seed, { ...forked.settings, ...seed }].map((settings) =>
      add({ parent, step, settings }, startFrom(state, settings), true)
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
    forking.clear();
    for (const { settle } of [...comparisons]) settle(false);
  }

  // The visible runs as those of a link, and more if they are given.
  /** @param {PlannedRun[]} next @returns {PlannedRun[]} */
  function planned(...next) {
    const numbers = new Map(visible().map(({ id }, number) => [id, number]));
    return [...visible(), ...next].map(({ parent, step, settings }) => (
      { parent: numbers.get(parent) ?? -1, step, settings }
    ));
  }

  // The runs from the root to this one, as those of a link of its own.
  /** @param {Run} run @returns {PlannedRun[]} */
  function pathTo(run) {
    const path = [run];
    while (path[0].parent >= 0) path.unshift(runs[path[0].parent]);
    return path.map(({ step, settings }, i) => ({ parent: i - 1, step, settings }));
  }

  function send(command) {
    for (const run of visible()) if (run.worker && !isOver(run)) run.worker.postMessage(command);
  }

  function pauseVisible() {
    paused = true;
    for (const run of visible()) if (isTraining(run)) run.state = "paused";
  }

  function pause() {
    pauseVisible();
    send({ type: "pause" });
    schedule();
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
      return visible();
    },
    get paused() {
      return paused;
    },
    pause,
    resume() {
      paused = false;
      for (const run of runs) if (run.state === "paused") run.state = "waiting";
      schedule();
    },
    step() {
      pauseVisible();
      send({ type: "step" });
      schedule();
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

/** @param {{ seed: number, before: Run, after: Run }[]} pairs @returns {import("./verdict.js").Pair[]} */
function outcomesOf(pairs) {
  const failed = pairs.flatMap(({ before, after }) => [before, after]).find(({ state }) => state === "problem");
  if (failed) throw new Error(failed.problem);
  return pairs.map(({ seed, before, after }) => ({ seed, before: outcomeOf(before), after: outcomeOf(after) }));
}

// The step at which 99 % were first correct, the share that is correct at the end, and where the heads look then.
/** @param {Run} run @returns {import("./verdict.js").Outcome} */
const outcomeOf = (run) => ({
  diverged: run.state === "diverged" ? run.at : null,
  reached: reachedStep(run),
  share: accuracyPoints(run).at(-1)?.[1] ?? 0,
  linkShares: run.evaluations.at(-1)?.linkShares ?? null,
});

// Examples with new attention keep their last output where none was written.
const merged = (old, examples) =>
  examples.map((example, i) =>
    example.output || !old[i] ? example : { ...example, output: old[i].output, correct: old[i].correct }
  );
