// The Bug clinic: a list of cases, and for each case its pictures and four steps (steps.js).

import { button, el } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";
import { withoutEnds } from "../trainer/outputs.js";
import { makeRuns } from "../trainer/runs.js";
import { settingsOf, WELL } from "./case.js";
import { CASES } from "./cases.js";
import { isEvidence } from "./evidence.js";
import { handInParts } from "./hand-in.js";
import { makeProgress } from "./progress.js";
import { MAX_POINTS } from "./result.js";
import { makeSteps } from "./steps.js";
import { symptomPicture } from "./symptoms.js";
import { makeViews } from "./views.js";

const WRITINGS = 3;
const LEGEND = "Each picture: the loss of the case, beside that of a correct run (dotted), and one output.";
const LEAD =
  "Each case trains a small Transformer in this tab with exactly one mistake in its code. Find the mistake from what you see, as you would in your own project.";

/**
 * @param {HTMLElement} container
 * @param {{ workerUrl: URL, isFile?: boolean, onSolved?: (numbers: number[]) => void }} host
 */
export function openClinic(container, { workerUrl, isFile = false, onSolved = () => {} }) {
  const runs = makeRuns(() => new Worker(workerUrl, { type: "module" }), onReport);
  const progress = makeProgress();
  /** @type {import("./case.js").Case | null} */
  let open = null;
  let [writings, startedAt] = [[], 0];
  let correction = null; // the line with which the model is trained again
  const views = makeViews(mark, redraw);
  const status = el("p", { class: "hu-trainer-status" });
  const feedback = el("p", { class: "hu-callout hu-clinic-feedback", role: "status" });
  const root = el("div", { class: `hu hu-explorer hu-trainer hu-clinic${isFile ? " hu-file" : ""}` });
  const steps = makeSteps(progress, {
    say,
    train: (offer) => train(offer.settings, offer),
    isTraining: () => runs.all[0]?.state === "training",
    showCase,
    showList,
    onStep: (number) => {
      root.dataset.step = String(number);
    },
  });
  container.replaceChildren(root);
  root.addEventListener("redraw", redraw);

  function say(text) {
    feedback.textContent = text;
  }

  function showList() {
    pauseClock();
    open = null;
    runs.close();
    const reset = () => {
      progress.reset();
      showList();
      onSolved([]);
    };
    root.replaceChildren(
      el("p", { class: "hu-clinic-lead" }, LEAD),
      el("p", { class: "hu-note" }, LEGEND),
      el("ul", { class: "hu-clinic-list" }, ...CASES.map(listEntry)),
      ...handInParts(progress, reset),
    );
  }

  function listEntry(given, index) {
    const { points, hints, expected } = progress.stateOf(given.id);
    const state = points ? `✓ solved, ${points} of ${MAX_POINTS} points` : expected || hints ? "begun" : "";
    return el(
      "li",
      { class: "hu-clinic-card" },
      symptomPicture(given.id),
      button(`${index + 1}. ${given.title}`, () => showCase(given), { class: "hu-clinic-open" }),
      el("p", {}, given.symptom),
      el("p", { class: "hu-note" }, state),
    );
  }

  function showCase(given) {
    pauseClock();
    [open, startedAt] = [given, Date.now()];
    views.reset();
    say("");
    const title = el("h2", { tabindex: -1 }, given.title);
    root.replaceChildren(
      el("div", { class: "hu-line hu-trainer-bar" }, button("← All cases", showList), status),
      title,
      el("p", { class: "hu-callout" }, given.symptom),
      el("div", { class: "hu-clinic-columns" }, views.node, steps.node),
      feedback,
    );
    title.focus();
    train(given.broken, null);
    steps.draw(given);
  }

  function pauseClock() {
    if (open && !progress.isSolved(open)) progress.stateOf(open.id).seconds += (Date.now() - startedAt) / 1000;
    startedAt = Date.now();
    progress.save();
  }

  function train(changes, offer) {
    [writings, correction] = [[], offer];
    runs.begin([{ parent: -1, step: 0, settings: settingsOf(open, changes) }], null);
    redraw();
  }

  async function onReport(run, report) {
    redraw();
    const isOver = report.type === "finished" || report.type === "diverged";
    if (!isOver || !open) {
      if (report.type === "problem") say(report.problem);
      return;
    }
    const results = await writingsOf(run);
    if (run !== runs.all[0]) return; // another one has begun
    writings = results;
    if (correction) judge(run);
    else if (!progress.stateOf(open.id).expected) {
      const share = wholePercent(shareOf(run));
      say(`Trained: ${share} of the outputs are right. Look around, then say where you expect to see the mistake.`);
    }
    redraw();
    steps.draw();
  }

  // The outputs of each example, written several times.
  async function writingsOf(run) {
    const results = [];
    for (const { src } of run.examples) {
      const texts = [];
      for (let i = 0; i < WRITINGS; i++) {
        const { output } = await runs.ask(run, { type: "translate", text: src.slice(0, -1).join(" ") });
        texts.push(withoutEnds(output).join(" "));
      }
      results.push(texts);
    }
    return results;
  }

  function redraw() {
    const [run] = runs.all;
    if (!run || !open) return;
    views.draw(run, writings);
    const isReady = writings.length > 0;
    status.textContent = isReady
      ? `Trained for ${run.at} steps in ${run.seconds.toFixed(1)} s: ${
        wholePercent(shareOf(run))
      } of the outputs are right.`
      : correction
      ? `Training with your correction: step ${run.at}`
      : `Training with the mistake: step ${run.at}`;
    root.dataset.state = isReady ? "ready" : "training";
  }

  function mark(given, text) {
    const state = progress.stateOf(open.id);
    if (state.evidence || correction) return;
    if (!state.expected || !writings.length) {
      say(
        writings.length ? "First say where you expect to see the mistake." : "Wait until the model is trained.",
      );
      return;
    }
    state.marks++;
    if (isEvidence(open, given, runs.all[0].examples, writings)) {
      state.evidence = text;
      say("Yes, this proves it. Now find the wrong line.");
    } else say(`That is no proof: ${text} can look like this in a correct model.`);
    progress.save();
    steps.draw();
  }

  function judge(run) {
    const state = progress.stateOf(open.id);
    const share = wholePercent(shareOf(run));
    if (shareOf(run) >= WELL) {
      pauseClock();
      state.points = MAX_POINTS - state.hints;
      say(`The symptom is gone: ${share} of the outputs are right.`);
      onSolved(progress.solvedNumbers());
    } else {
      state.tried.push(correction.line);
      say(`The symptom is still there: ${share} of the outputs are right. Try another line.`);
    }
    progress.save();
  }

  progress.load().then(() => {
    showList();
    if (CASES.some(progress.isSolved)) onSolved(progress.solvedNumbers());
  });
  return { close: () => runs.close() };
}

const shareOf = ({ evaluations }) => {
  const last = evaluations.at(-1);
  return last ? last.correct / last.count : 0;
};
