// One training run in a worker, so that the page stays responsive. Every fork and every seed is a run in a worker of its
// own.
//
//     const worker = new Worker("scripts/training/worker.js", { type: "module" });
//     worker.onmessage = ({ data }) => show(data);                                  // a Report
//     worker.postMessage({ type: "start", description: { settings: { task: "reverse", seed: 3 } } });   // a Command
//
// protocol.d.ts lists all messages, both ways. A fork is another worker that starts with the state of this one and one more
// change, such as { off: "c0.1" }.
//
// A run that diverges says so (`diverged`) and keeps the last weights with a finite loss. A run is deterministic: the
// same description gives the same checksum at every step, whether it was forked from a state or replayed from step 0.

import { nextMessages } from "../model/next-messages.js";
import { checkpointOf } from "./checkpoint.js";
import { Diverged, Run } from "./run.js";
import { LEARNED } from "./settings.js";
import { TASKS } from "./tasks.js";

/** @typedef {import("./protocol.d.ts").Report} Report */

const REPORT_MS = 33; // between two reports of progress
const MAX_LAG_MS = 100; // that later reports make good
const OUTPUTS_MS = 200; // between two reports with the examples' outputs
const EVALUATE_EVERY = 25; // steps
const EVALUATED = 64; // held-out pairs; all of them once these are correct

/** @type {Run | null} */
let run = null;
let paused = true;
let stepsPerSecond = 0; // 0: as fast as possible
let seconds = 0; // of work on this run
/** @type {{ step: number, seconds: number } | null} */
let reached = null; // when 99 % were first correct
/** @type {import("./protocol.d.ts").StepRecord[]} */
let unreported = [];
let [reportAt, outputsAt, nextStepAt] = [0, 0, 0]; // when the next report is due, when the last outputs were written
let isLooping = false;
/** @type {number[]} */
let forkSteps = []; // at which the page is sent the state, for forks of a link
let stopsAtShare = Infinity; // the share of weight on the right tokens at which the run pauses once

/** @param {Report} report @param {Transferable[]} [transfer] */
const post = (report, transfer = []) => self.postMessage(report, { transfer });

let handled = Promise.resolve(); // commands are handled one after the other
self.addEventListener("message", ({ data: command }) => {
  handled = handled.then(() => handle(command));
});

async function handle(command) {
  try {
    if (command.type !== "start" && !run) throw new Error("There is no run yet; the first command must be start.");
    const result = await commands[command.type](command);
    if (command.id !== undefined) post({ type: "answer", id: command.id, result });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    post(command.id === undefined ? { type: "problem", problem } : { type: "answer", id: command.id, problem });
  }
}

const commands = {
  async start(
    {
      description,
      data,
      state,
      paused: startsPaused = false,
      stepsPerSecond: speed = 0,
      forkSteps: steps = [],
      stopsAtShare: share = Infinity,
    },
  ) {
    const { pairsFile } = TASKS[description.settings.task] ?? {};
    const pairs = pairsFile && !data ? (await import(new URL(pairsFile, import.meta.url).href)).PAIR_DATA : data;
    run = new Run(description, { data: pairs, state });
    [paused, stepsPerSecond, forkSteps, stopsAtShare, seconds, reached, unreported] = [
      startsPaused,
      speed,
      steps,
      share,
      state?.seconds ?? 0,
      state?.reached ?? null,
      [],
    ];
    const { nextSettings: settings, data: { symbols, train, valid, linked, unseen, repeats }, parameters } = run;
    post({
      type: "started",
      step: run.step,
      description: run.description,
      settings,
      parameters: parameters.count,
      symbols,
      trainCount: train.length,
      validCount: valid.length,
      linked,
      unseen,
      repeats,
    });
    reportProgress(true);
    if (forkSteps.includes(run.step)) reportState();
    if (isFinished()) reportFinish(run.evaluate(Infinity));
    else if (!paused) loop();
  },
  pause() {
    if (!paused) reportPause();
  },
  resume() {
    paused = false;
    loop();
  },
  step() {
    paused = true;
    if (!isFinished()) advance();
    if (!isFinished()) reportPause();
  },
  speed(command) {
    stepsPerSecond = command.stepsPerSecond;
    nextStepAt = 0;
  },
  state: () => fullState(),
  weights: ({ savedRun }) => checkpointOf(run, savedRun),
  translate: ({ text }) => run.translate(text),
};

const fullState = () => ({ ...run.state(), seconds, reached });
const reportState = () => post({ type: "forkState", state: fullState() });
const isFinished = () => run.isFinished;

function reportPause(isFound = false) {
  paused = true;
  reportProgress(true);
  post({ type: "paused", step: run.step, checksum: run.checksum(), isFound });
}

// Steps until the run is paused or finished; between them the worker reads its messages.
async function loop() {
  if (isLooping) return;
  isLooping = true;
  while (!paused && !isFinished()) {
    const wait = nextStepAt - performance.now();
    if (stepsPerSecond && wait > 0) await new Promise((done) => setTimeout(done, wait));
    else {
      nextStepAt = Math.max(nextStepAt, performance.now() - 100) + 1000 / (stepsPerSecond || Infinity);
      advance();
      await nextMessages();
    }
  }
  isLooping = false;
}

// One step, with what is reported after it.
function advance() {
  const began = performance.now();
  try {
    unreported.push(run.takeStep());
  } catch (error) {
    paused = true;
    const { message: problem } = error;
    if (error instanceof Diverged) post({ type: "diverged", step: run.step + 1, problem, checksum: run.checksum() });
    else post({ type: "problem", problem }); // a change of the data that is not possible
    return;
  }
  const isLast = isFinished();
  let evaluation = null;
  if (isLast || run.step % EVALUATE_EVERY === 0) {
    evaluation = run.evaluate(isLast ? Infinity : EVALUATED);
    if (!isLast && evaluation.correct >= LEARNED * evaluation.count) evaluation = run.evaluate(Infinity);
  }
  seconds += (performance.now() - began) / 1000;
  if (evaluation) {
    if (evaluation.correct >= LEARNED * evaluation.count) reached ??= { step: run.step, seconds };
    post({ type: "evaluation", evaluation: { ...evaluation, seconds, reached } });
  }
  if (forkSteps.includes(run.step)) reportState();
  if (isLast || performance.now() >= reportAt) reportProgress(isLast);
  if (isLast) reportFinish(evaluation);
  else if (Math.max(...evaluation?.linkShares?.flat() ?? []) >= stopsAtShare) {
    stopsAtShare = Infinity;
    reportPause(true);
  }
}

function reportFinish(evaluation) {
  paused = true;
  post({
    type: "finished",
    step: run.step,
    seconds,
    checksum: run.checksum(),
    evaluation: { ...evaluation, seconds, reached },
  });
}

function reportProgress(withOutputs) {
  const began = performance.now();
  const decodes = withOutputs || began - outputsAt >= OUTPUTS_MS;
  const examples = run.observe(decodes);
  if (decodes) outputsAt = began;
  reportAt = Math.max(reportAt + REPORT_MS, began - MAX_LAG_MS); // on time on average, whatever a step takes
  seconds += (performance.now() - began) / 1000;
  post(
    { type: "progress", step: run.step, steps: unreported, seconds, examples },
    examples.map(({ attention }) => attention.buffer),
  );
  unreported = [];
}
