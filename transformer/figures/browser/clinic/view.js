// The Bug clinic: a list of cases, and for each case its pictures and four steps: say where you expect the mistake, mark
// what proves it, find and correct the line, read what it does in general.

import { button, chooseFile, download, el } from "../common/base.js";
import { keep, kept } from "../trainer/kept.js";
import { withoutEnds } from "../trainer/outputs.js";
import { makeRuns } from "../trainer/runs.js";
import { wholePercent } from "../common/numbers.js";
import { offersOf, pytestFile, pytorchFile, settingsOf, sourceLines, WELL } from "./case.js";
import { CASES } from "./cases.js";
import { isEvidence, VIEWS } from "./evidence.js";
import { makeResult, MAX_POINTS, NO_PROOF, readResult, resultPage, resultTable } from "./result.js";
import { makeViews } from "./views.js";

const KEPT = "bug-clinic";
const WRITINGS = 3;
const MAX_FILE_BYTES = 1e6;
const JSON_FILE = "bug-clinic.json";
const LEAD =
  "Each case trains a small Transformer in this tab with exactly one mistake in its code. Find the mistake from what you see, as you would in your own project.";
const NO_FREE_TEXT =
  "You choose among lines and do not type one, because this page, for your safety, never runs code that comes from a text field.";
const UNSOLVED = {
  expected: "",
  marks: 0,
  evidence: "",
  lines: 0,
  found: false,
  corrections: 0,
  hints: 0,
  seconds: 0,
  points: 0,
  tried: [],
};

/**
 * @param {HTMLElement} container
 * @param {{ workerUrl: URL, isFile?: boolean, onSolved?: (numbers: number[]) => void }} host
 */
export function openClinic(container, { workerUrl, isFile = false, onSolved = () => {} }) {
  const runs = makeRuns(() => new Worker(workerUrl, { type: "module" }), onReport);
  /** @type {{ name: string, cases: Record<string, any> }} */
  let progress = { name: "", cases: {} };
  /** @type {import("./case.js").Case | null} */
  let open = null;
  let [writings, startedAt, isCorrection] = [[], 0, null];
  const views = makeViews(mark, redraw);
  const status = el("p", { class: "hu-trainer-status" });
  const feedback = el("p", { class: "hu-callout hu-clinic-feedback", role: "status" });
  const steps = el("section", { class: "hu-clinic-steps", "aria-label": "Your diagnosis" });
  const root = el("div", { class: `hu hu-explorer hu-trainer hu-clinic${isFile ? " hu-file" : ""}` });
  container.replaceChildren(root);
  root.addEventListener("redraw", redraw);

  const titles = Object.fromEntries(CASES.map(({ id, title }) => [id, title]));
  const stateOf = (id) => progress.cases[id] ??= { ...UNSOLVED, tried: [] };
  const save = () => keep(KEPT, progress);
  const isSolved = ({ id }) => stateOf(id).points > 0;
  const reportSolved = () => onSolved(CASES.flatMap((given, index) => isSolved(given) ? [index + 1] : []));

  // -- the list
  function showList() {
    pauseClock();
    open = null;
    runs.close();
    const entries = CASES.map((given, index) => {
      const { points, hints, expected } = stateOf(given.id);
      const state = points ? `solved, ${points} of ${MAX_POINTS} points` : expected || hints ? "begun" : "";
      return el(
        "li",
        {},
        button(`${index + 1}. ${given.title}`, () => showCase(given)),
        el("span", {}, given.symptom, " ", el("span", { class: "hu-note" }, state)),
      );
    });
    root.replaceChildren(
      el("p", {}, LEAD),
      el("ul", { class: "hu-clinic-list" }, ...entries),
      ...resultParts(),
    );
  }

  function resultParts() {
    const name = el("input", {
      type: "text",
      maxlength: 60,
      autocomplete: "off",
      "aria-label": "Your name, or any other",
    });
    name.value = progress.name;
    name.addEventListener("change", () => {
      progress.name = name.value.trim();
      save();
    });
    const message = el("p", { role: "status" });
    const checked = el("div", { class: "hu-clinic-scroll" });
    const result = () => {
      const solved = CASES.filter(isSolved).map(({ id }) => {
        const { expected, marks, evidence, lines, corrections, hints, seconds, points } = stateOf(id);
        return { id, expected, marks, evidence, lines, corrections, hints, seconds: Math.round(seconds), points };
      });
      return makeResult(name.value.trim(), solved);
    };
    const check = async (file) => {
      try {
        const given = readResult(file.size > MAX_FILE_BYTES ? "" : await file.text());
        message.textContent = "The code matches: this file is as the page saved it.";
        checked.replaceChildren(resultTable(given, titles, VIEWS));
      } catch (error) {
        message.textContent = error.message;
        checked.replaceChildren();
      }
    };
    const saveResult = () =>
      download(new Blob([JSON.stringify(result(), null, 1)], { type: "application/json" }), JSON_FILE);
    return [
      el("h2", {}, "Hand in"),
      el("p", { class: "hu-note" }, "Solved cases, with attempts, evidence, time and hints. ", NO_PROOF),
      el(
        "div",
        { class: "hu-line hu-trainer-tools" },
        el("label", {}, "Name ", name),
        button("Save the result", saveResult),
        button("Save as a page to print", () => {
          download(resultPage(resultTable(result(), titles, VIEWS)), "bug-clinic.html");
        }),
        button("Check a result", () => chooseFile(".json", check)),
        button("Reset all cases", () => {
          progress = { name: "", cases: {} };
          showList();
          reportSolved();
        }),
      ),
      message,
      checked,
    ];
  }

  // -- a case
  function showCase(given) {
    pauseClock();
    [open, startedAt] = [given, Date.now()];
    views.reset();
    feedback.textContent = "";
    const title = el("h2", { tabindex: -1 }, given.title);
    root.replaceChildren(
      el("div", { class: "hu-line hu-trainer-bar" }, button("← All cases", showList), status),
      title,
      el("p", { class: "hu-callout" }, given.symptom),
      el("div", { class: "hu-clinic-columns" }, views.node, steps),
      feedback,
    );
    title.focus();
    train(given.broken, null);
    drawSteps();
  }

  function pauseClock() {
    if (open && !isSolved(open)) stateOf(open.id).seconds += (Date.now() - startedAt) / 1000;
    startedAt = Date.now();
    save();
  }

  function train(changes, correction) {
    [writings, isCorrection] = [[], correction];
    runs.begin([{ parent: -1, step: 0, settings: settingsOf(open, changes) }], null);
    redraw();
  }

  async function onReport(run, report) {
    redraw();
    const isOver = report.type === "finished" || report.type === "diverged";
    if (!isOver || !open) {
      if (report.type === "problem") feedback.textContent = report.problem;
      return;
    }
    const results = [];
    for (const { src } of run.examples) {
      const texts = [];
      for (let i = 0; i < WRITINGS; i++) {
        const { output } = await runs.ask(run, { type: "translate", text: src.slice(0, -1).join(" ") });
        texts.push(withoutEnds(output).join(" "));
      }
      results.push(texts);
    }
    if (run !== runs.all[0]) return; // another one has begun
    writings = results;
    if (isCorrection) judge(run);
    else if (!stateOf(open.id).expected) {
      feedback.textContent = `Trained: ${
        wholePercent(shareOf(run))
      } of the outputs are right. Look around, then say where you expect to see the mistake.`;
    }
    redraw();
    drawSteps();
  }

  const shareOf = (run) => {
    const last = run.evaluations.at(-1);
    return last ? last.correct / last.count : 0;
  };

  function redraw() {
    const [run] = runs.all;
    if (!run || !open) return;
    views.draw(run, writings);
    const isReady = writings.length > 0;
    status.textContent = isReady
      ? `Trained for ${run.at} steps in ${run.seconds.toFixed(1)} s: ${
        wholePercent(shareOf(run))
      } of the outputs are right.`
      : isCorrection
      ? `Training with your correction: step ${run.at}`
      : `Training with the mistake: step ${run.at}`;
    root.dataset.state = isReady ? "ready" : "training";
  }

  // -- the steps
  function drawSteps() {
    const state = stateOf(open.id);
    const hadFocus = steps.contains(/** @type {any} */ (root.getRootNode()).activeElement);
    const expectations = Object.entries(VIEWS).map(([view, text]) => {
      const node = button(text, () => {
        state.expected = view;
        feedback.textContent = "Now look, and mark what proves it.";
        save();
        drawSteps();
      }, { "aria-pressed": String(state.expected === view) });
      node.disabled = state.expected !== "";
      return node;
    });
    const parts = [
      el("h3", {}, "1. Where do you expect to see the mistake?"),
      el("div", { class: "hu-line hu-clinic-expected" }, ...expectations),
    ];
    if (state.expected) parts.push(...evidenceParts(state));
    if (state.evidence) parts.push(...lineParts(state));
    if (state.points) parts.push(...endParts(state));
    else parts.push(...hintParts(state));
    steps.replaceChildren(...parts);
    const titles = [...steps.querySelectorAll("h3")];
    for (const title of titles) title.tabIndex = -1;
    if (hadFocus) titles.at(-1).focus({ preventScroll: true }); // the button that had it is gone
    root.dataset.step = String(state.points ? 4 : state.evidence ? 3 : state.expected ? 2 : 1);
  }

  const evidenceParts = ({ evidence }) => [
    el("h3", {}, "2. Mark what proves it"),
    el(
      "p",
      {},
      evidence
        ? `Your evidence: ${evidence}.`
        : "Click a cell of an enlarged head, or the button of a curve or of outputs.",
    ),
  ];

  function mark(given, text) {
    const state = stateOf(open.id);
    if (state.evidence || isCorrection) return;
    if (!state.expected || !writings.length) {
      feedback.textContent = writings.length
        ? "First say where you expect to see the mistake."
        : "Wait until the model is trained.";
      return;
    }
    state.marks++;
    if (isEvidence(open, given, runs.all[0].examples, writings)) {
      state.evidence = text;
      feedback.textContent = "Yes, this proves it. Now find the wrong line.";
    } else feedback.textContent = `That is no proof: ${text} can look like this in a correct model.`;
    save();
    drawSteps();
  }

  function lineParts(state) {
    const shown = state.points ? open.right : open.wrong;
    const lines = sourceLines(open, shown).map((line) => {
      const isFound = state.found && line === shown;
      const node = button(line, () => {
        state.lines++;
        state.found = line === open.wrong;
        feedback.textContent = state.found
          ? "That is the line. Choose the right one."
          : "That line is as it should be.";
        save();
        if (state.found) drawSteps();
      }, { class: "hu-clinic-line", "aria-pressed": String(isFound) });
      node.disabled = state.found;
      return line ? node : el("div", { class: "hu-clinic-line" }, " ");
    });
    return [
      el("h3", {}, "3. Find the wrong line"),
      el("div", { class: "hu-clinic-code", role: "group", "aria-label": "Source" }, ...lines),
      ...(state.found && !state.points ? offerParts(state) : []),
    ];
  }

  function offerParts(state) {
    const [, ...offers] = offersOf(open);
    const order = offers.sort((a, b) => (a.line < b.line ? -1 : 1));
    return [
      el("h3", {}, "Which line is right? The model is trained again with it."),
      ...order.map((offer) => {
        const node = button(offer.line.trim(), () => {
          state.corrections++;
          feedback.textContent = "";
          train(offer.settings, offer);
          drawSteps();
        }, { class: "hu-button hu-clinic-offer" });
        node.disabled = state.tried.includes(offer.line) || runs.all[0]?.state === "training";
        return node;
      }),
      el("p", { class: "hu-note" }, NO_FREE_TEXT),
    ];
  }

  function judge(run) {
    const state = stateOf(open.id);
    const share = wholePercent(shareOf(run));
    if (shareOf(run) >= WELL) {
      pauseClock();
      state.points = MAX_POINTS - state.hints;
      feedback.textContent = `The symptom is gone: ${share} of the outputs are right.`;
      reportSolved();
    } else {
      state.tried.push(isCorrection.line);
      feedback.textContent = `The symptom is still there: ${share} of the outputs are right. Try another line.`;
    }
    save();
  }

  function hintParts(state) {
    const shown = open.hints.slice(0, state.hints).map((hint) => el("li", {}, hint));
    const more = button("Show a hint (costs 1 point)", () => {
      state.hints++;
      feedback.textContent = open.hints[state.hints - 1];
      save();
      drawSteps();
    });
    more.disabled = state.hints >= open.hints.length;
    return [el("ol", { class: "hu-clinic-hints", "aria-label": "Hints" }, ...shown), more];
  }

  function endParts({ points }) {
    const given = open;
    const files = { [`${given.id}.py`]: pytorchFile(given, given.wrong), [`test_${given.id}.py`]: pytestFile(given) };
    const next = CASES.find((other) => !isSolved(other));
    return [
      el("h3", {}, `4. ${given.mistake}`),
      el("p", {}, given.explanation),
      el("p", {}, el("a", { href: given.source.url, rel: "noopener", target: "_blank" }, given.source.text)),
      el("p", {}, `Solved: ${points} of ${MAX_POINTS} points.`),
      el(
        "p",
        { class: "hu-note" },
        "The broken model as a PyTorch file, and its test, which turns green when the line is right:",
      ),
      el(
        "div",
        { class: "hu-line hu-trainer-tools" },
        ...Object.entries(files).map(([name, text]) =>
          button(name, () => download(new Blob([text], { type: "text/x-python" }), name))
        ),
        next ? button(`Next: ${next.title}`, () => showCase(next)) : button("All cases are solved", showList),
      ),
    ];
  }

  kept(KEPT).then((value) => {
    if (value?.cases) progress = value;
    showList();
    if (CASES.some(isSolved)) reportSolved();
  });
  return { close: () => runs.close() };
}
