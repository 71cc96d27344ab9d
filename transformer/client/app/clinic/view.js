// The Bug clinic: a list of cases, and for each case its pictures (views.js) and its steps (steps.js).

import { button, el } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";
import { makeRuns } from "../trainer/runs.js";
import { brokenModel, plansOf, settingsOf, WELL } from "./case.js";
import { CASES } from "./cases.js";
import { judge, spaced } from "./evidence.js";
import { handInParts } from "./hand-in.js";
import { makeProgress } from "./progress.js";
import { MAX_POINTS, pointsOf, RULE } from "./result.js";
import { makeSteps } from "./steps.js";
import { symptomPicture } from "./symptoms.js";
import { makeViews } from "./views.js";

const WRITINGS = 3;
const LEAD =
  "Each case trains a small Transformer in this tab with exactly one mistake. Find the mistake from what you see, as you would in your own project.";
const SCORING = "A case gives up to {most} points. {rule}";
const LEGEND = "Each picture: the loss of the case, beside that of a correct run (dotted), and one output.";
const JUDGEMENTS = {
  proof: "Yes, this proves the mistake. {text} {next}",
  vague: "Something is wrong, as the correct run looks different here, but this does not show what. {text}",
  normal: "A correct model looks like this. {text} This costs 1 point.",
};
const BEFORE_FIRST = "{text}. Answer the first question; then you can hand this in as proof.";
const STATUS = {
  training: "Training with the mistake and without: step {step}",
  correcting: "Training with your correction: step {step}",
  models: "Trained for {step} steps in {seconds} s.",
  ready: "Trained for {step} steps in {seconds} s: {share} of the outputs are right.",
};

/**
 * @param {HTMLElement} container
 * @param {{ workerUrl: URL, isFile?: boolean, onSolved?: (numbers: number[]) => void }} host
 */
export function openClinic(container, { workerUrl, isFile = false, onSolved = () => {} }) {
  const runs = makeRuns(() => new Worker(workerUrl, { type: "module" }), onReport);
  const progress = makeProgress();
  /** @type {import("./case.js").Case | null} */
  let open = null;
  let startedAt = 0;
  /** @type {string[][][]} */
  let writings = []; // of each run
  let correction = /** @type {import("./case.js").Offer | null} */ (null); // with which the model is trained again
  let chosen = /** @type {{ mark: import("./evidence.js").Mark, text: string } | null} */ (null);
  const views = makeViews(choose, redraw);
  const status = el("p", { class: "hu-trainer-status" });
  const message = el("p", { role: "status" });
  const prove = button("This proves the mistake", handIn, { class: "hu-button hu-primary" });
  const feedback = el("div", { class: "hu-callout hu-clinic-feedback" }, message, prove);
  const root = el("div", { class: `hu hu-explorer hu-trainer hu-clinic${isFile ? " hu-file" : ""}` });
  const steps = makeSteps(progress, {
    say,
    train: (offer) => train([offer.settings], offer),
    isTraining: () => runs.all[0]?.state === "training",
    solve,
    showCase,
    showList,
    onStep: (number) => {
      root.dataset.step = String(number);
    },
  });
  container.replaceChildren(root);
  root.addEventListener("redraw", redraw);

  function say(text) {
    chosen = null;
    message.textContent = text;
    showFeedback();
  }

  function showFeedback() {
    const canProve = chosen && open && progress.stateOf(open.id).expected && !progress.stateOf(open.id).evidence;
    prove.hidden = !canProve;
    prove.disabled = !isReady();
    feedback.hidden = !message.textContent;
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
      el("p", {}, fill(SCORING, { most: MAX_POINTS, rule: RULE })),
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
    views.reset(given);
    const title = el("h2", { tabindex: -1 }, given.title);
    root.replaceChildren(
      el("div", { class: "hu-line hu-trainer-bar" }, button("← All cases", showList), title, status),
      el("p", { class: "hu-callout" }, given.symptom),
      el(
        "div",
        { class: "hu-clinic-columns" },
        views.node,
        el("div", { class: "hu-clinic-side" }, feedback, steps.node),
      ),
    );
    title.focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
    train(plansOf(given), null);
    steps.draw(given);
    say("");
  }

  function pauseClock() {
    if (open && !progress.isSolved(open)) progress.stateOf(open.id).seconds += (Date.now() - startedAt) / 1000;
    startedAt = Date.now();
    progress.save();
  }

  /** @param {import("./case.js").Settings[]} changes of each run @param {import("./case.js").Offer | null} offer */
  function train(changes, offer) {
    [writings, correction] = [[], offer];
    runs.begin(changes.map((change) => ({ parent: -1, step: 0, settings: settingsOf(open, change) })), null);
    redraw();
  }

  async function onReport(run, report) {
    redraw();
    if (report.type === "problem") say(report.problem);
    const trained = runs.all;
    if (!open || !trained.every(({ state }) => state === "finished" || state === "diverged")) return;
    const results = await Promise.all(trained.map(writingsOf));
    if (trained !== runs.all || isReady()) return; // another case has begun
    writings = results;
    if (correction) judgeCorrection(run);
    else if (!progress.stateOf(open.id).expected) say("Look around, then answer the first question.");
    redraw();
    steps.draw();
  }

  // The outputs of each example, written several times.
  async function writingsOf(run) {
    const results = [];
    for (const { src } of run.examples) {
      const texts = [];
      for (let i = 0; i < WRITINGS; i++) {
        const { output } = await runs.ask(run, { type: "translate", text: spaced(src) });
        texts.push(spaced(output));
      }
      results.push(texts);
    }
    return results;
  }

  const isReady = () => writings.length > 0;

  function redraw() {
    const [run] = runs.all;
    if (!run || !open) return;
    views.draw(runs.all, writings);
    const sentence = isReady()
      ? open.seeds ? STATUS.models : STATUS.ready
      : correction
      ? STATUS.correcting
      : STATUS.training;
    const step = Math.min(...runs.all.map(({ at }) => at));
    status.textContent = fill(sentence, {
      step,
      seconds: run.seconds.toFixed(1),
      share: wholePercent(shareOf(run)),
    });
    root.dataset.state = isReady() ? "ready" : "training";
    prove.disabled = !isReady();
  }

  function choose(mark, text) {
    chosen = { mark, text };
    message.textContent = progress.stateOf(open.id).expected ? text : fill(BEFORE_FIRST, { text });
    showFeedback();
  }

  // Judge the evidence that the visitor has chosen.
  function handIn() {
    const { mark, text } = chosen;
    const state = progress.stateOf(open.id);
    const observed = runs.all.map((run, i) => ({ ...run, writings: writings[i] }));
    const isBroken = mark.model === brokenModel(open);
    const judgement = judge(open, mark, observed[mark.model], isBroken ? observed.at(-1) : observed[mark.model]);
    if (judgement.verdict === "proof") state.evidence = text;
    else if (judgement.verdict === "normal") state.wrongMarks++;
    else state.vagueMarks++;
    const next = open.statements ? "Now say what is wrong." : "Now choose the line that you would change.";
    say(fill(JUDGEMENTS[judgement.verdict], { text: judgement.text, next }));
    progress.save();
    steps.draw();
  }

  function judgeCorrection(run) {
    const state = progress.stateOf(open.id);
    const share = wholePercent(shareOf(run));
    if (shareOf(run) >= WELL) {
      state.correction = correction.line;
      solve();
      say(fill("The symptom is gone: {share} of the outputs are right.", { share }));
    } else {
      state.wrongCorrections++;
      state.tried.push(correction.line);
      say(
        fill("The symptom is still there: {share} of the outputs are right. This costs 1 point; try another line.", {
          share,
        }),
      );
    }
    progress.save();
  }

  function solve() {
    const state = progress.stateOf(open.id);
    pauseClock();
    state.points = pointsOf(state);
    onSolved(progress.solvedNumbers());
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
