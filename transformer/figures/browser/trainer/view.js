// The page that trains in this tab: what the model writes now, all its heads, curves, and the tree of forks. Every
// change is part of the link.

import { button, chooseFile, colours, copyText, download, el } from "../common/base.js";
import { sentenceCase, setExactNames } from "../common/naming.js";
import { readOff } from "../common/head-codes.js";
import { caption, changeText, comparison, runName, runState } from "./captions.js";
import { accuracyPoints, isComparison, makeCurves, makeTimeline, thinned } from "./curves.js";
import { makeHeads } from "./heads.js";
import { forget, keep, kept, LAST_RUN } from "./kept.js";
import { makeKnobs, titleOf } from "./knobs.js";
import { allSettings, readLink, WHY_ATTENTION, writeLink } from "./link.js";
import { makeOutputs } from "./outputs.js";
import { makeRuns } from "./runs.js";
import { pairsOf, readModelFile } from "./saved.js";
import { scriptFor } from "./script.js";
import { percent, successor, verdict } from "./verdict.js";

const USUAL_LINK = "task=reverse";
const KEEP_EVERY_MS = 5000;
const REPORT_EVERY_MS = 4000; // to a class
const MAX_FILE_BYTES = 100e6;
const MAX_FRAMES = 240; // of the film; a longer run keeps every second one
const SPEEDS = { "as fast as possible": 0, "60 steps a second": 60, "10 steps a second": 10, "2 steps a second": 2 };
const SHOWN_EXAMPLES = 3;

/**
 * @param {HTMLElement} container
 * @param {{ link: string, workerUrl: URL | string, onLink: (link: string, isNew: boolean) => void, address: (link: string) => string, isFile?: boolean, seed?: number, onCurve?: (points: [number, number][]) => void, onOpen: (model: any) => Promise<void> | void }} host
 */
export function openTrainer(
  container,
  { link, workerUrl, onLink, address, isFile = false, seed = 0, onCurve = () => undefined, onOpen },
) {
  setExactNames(false);
  const makeWorker = () => new Worker(workerUrl, { type: "module" });
  const runs = makeRuns(makeWorker, onReport);
  let [selected, example, pairs, dirty, lastKept, lastReported, frameShown] = [0, 0, null, false, 0, 0, -1];
  const frames = new Map(); // by run: the attention of its examples over time
  const verdicts = new Map(); // by run: sentences
  let own = null; // the example of the visitor's own input

  // -- controls
  const play = button("Pause", () => {
    if (runs.paused) runs.resume();
    else runs.pause();
    touch();
  }, { class: "hu-button hu-trainer-play" });
  const step = button("One step", () => {
    runs.step();
    touch();
  });
  const again = button("Start again", () => restart({}));
  const speed = el("select", { "aria-label": "Speed" }, ...Object.keys(SPEEDS).map((name) => el("option", {}, name)));
  speed.addEventListener("change", () => runs.setSpeed(SPEEDS[speed.value]));
  const knobs = makeKnobs(changeSetting, touch);
  const status = el("p", { class: "hu-trainer-status", role: "status" });
  const problem = el("p", { class: "hu-trainer-problem", role: "alert", hidden: "" });

  // -- what it writes
  const outputs = makeOutputs((index) => {
    example = index;
    touch();
  });
  const ownInput = el("input", {
    type: "text",
    "aria-label": "Your own input",
    placeholder: "your own input",
    spellcheck: "false",
    autocomplete: "off",
  });
  const ownForm = el("form", { class: "hu-trainer-own" }, ownInput, el("button", { class: "hu-button" }, "Try it"));
  ownForm.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(tryOwn);
  });
  const pairsField = el("textarea", {
    rows: 6,
    "aria-label": "Sentence pairs",
    placeholder: "I am here.\tIch bin hier.\nYou are here.\tDu bist hier.",
  });
  const pairsForm = el(
    "form",
    { class: "hu-trainer-pairs", hidden: "" },
    el(
      "p",
      { class: "hu-note" },
      "One pair a line, with a tab between the sentences (two columns of a table, pasted). They stay in this tab.",
    ),
    pairsField,
    el("button", { class: "hu-button" }, "Train on these pairs"),
  );
  pairsForm.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => {
      pairs = pairsOf(pairsField.value);
      begin(runs.planned().length ? runs.planned().slice(0, 1) : readLink(link));
    });
  });

  // -- pictures
  const heads = makeHeads(switchOff, showHead);
  const headText = el("p", { class: "hu-note hu-trainer-pointed" });
  const captionText = el("p", { class: "hu-callout hu-trainer-caption", role: "status" });
  const scrubber = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Film: training step" });
  const scrubText = el("span", { class: "hu-note" });
  scrubber.addEventListener("input", () => {
    const last = Number(scrubber.max);
    frameShown = Number(scrubber.value) >= last ? -1 : Number(scrubber.value);
    touch();
  });
  const curves = makeCurves();
  const timeline = makeTimeline((id) => {
    [selected, frameShown, own] = [id, -1, null];
    touch();
  });
  const why = button("Why attention? Compare with recurrent models", () => begin(readLink(WHY_ATTENTION)));
  const seeds = button("Compare with five seeds", compare);
  const verdictText = el("p", { class: "hu-callout hu-trainer-verdict", role: "status" });
  const checksum = el("p", { class: "hu-note hu-code" });
  const copy = button("Copy link", async () => {
    const link = address(currentLink());
    if (!await copyText(link, container)) return showProblem(new Error(`Copy this link: ${link}`));
    copy.textContent = "Link copied";
    setTimeout(() => copy.textContent = "Copy link", 2000);
  });
  const save = button("Save the model", () => attempt(saveModel));
  const openSaved = button("Open a saved model", () => {
    chooseFile(".safetensors", (file) => attempt(() => openFile(file)));
  });
  const openInViews = button("Open in every view", () => attempt(openModel));
  const script = button("Export as a PyTorch script", () => {
    attempt(() => download(new Blob([scriptFor(settingsOf(selected), pairs)], { type: "text/x-python" }), "train.py"));
  });
  const resumeOffer = el("p", { class: "hu-callout hu-trainer-offer", hidden: "" });

  container.replaceChildren(el(
    "div",
    { class: `hu hu-explorer hu-trainer${isFile ? " hu-file" : ""}` },
    el("div", { class: "hu-line hu-trainer-bar" }, play, step, again, speed, knobs.task, status),
    problem,
    resumeOffer,
    el(
      "div",
      { class: "hu-trainer-columns" },
      el(
        "section",
        { class: "hu-trainer-left", "aria-label": "What it writes, and settings" },
        el("h2", {}, "What it writes now"),
        outputs.node,
        ownForm,
        pairsForm,
        knobs.node,
      ),
      el(
        "section",
        { class: "hu-trainer-middle", "aria-label": "All heads" },
        heads.node,
        headText,
        captionText,
        el("label", { class: "hu-trainer-film" }, "Film ", scrubber, scrubText),
      ),
      el(
        "section",
        { class: "hu-trainer-right", "aria-label": "Curves and forks" },
        ...curves.nodes,
        timeline.node,
        why,
        seeds,
        verdictText,
        el("div", { class: "hu-line hu-trainer-tools" }, copy, openInViews, save, openSaved, script),
        checksum,
      ),
    ),
  ));
  container.addEventListener("redraw", touch);

  // -- runs
  const settingsOf = (id) => allSettings(runs.all.length ? runs.all : readLink(link), id);
  const currentLink = () => writeLink(runs.planned());
  function begin(planned, state = null) {
    [selected, frameShown, own, example] = [state ? planned.length - 1 : 0, -1, null, 0];
    frames.clear();
    verdicts.clear();
    problem.hidden = true;
    const needsPairs = planned[0].settings.task === "pairs" && !pairs;
    pairsForm.hidden = planned[0].settings.task !== "pairs";
    knobs.show(allSettings(planned, 0));
    if (needsPairs) {
      runs.close();
      link = writeLink(planned);
      captionText.textContent =
        "Paste sentence pairs in any two languages, at least 20: a model learns them in this tab.";
    } else runs.begin(withOwnSeed(planned), planned[0].settings.task === "pairs" ? pairs : null, state);
    onLink(writeLink(planned), false);
    touch();
  }

  // In a class every device trains with another seed, unless the link has one.
  function withOwnSeed([first, ...forks]) {
    return seed && first.settings.seed === undefined
      ? [{ ...first, settings: { ...first.settings, seed } }, ...forks]
      : [first, ...forks];
  }

  // A new run with changed settings; a new task begins with its own defaults.
  function restart(changed) {
    attempt(() => {
      const { task = settingsOf(0).task, ...own } = runs.planned()[0]?.settings ?? readLink(link)[0].settings;
      const kept = changed.task && changed.task !== task ? {} : own;
      const settings = { ...kept, task, ...changed };
      begin(readLink(writeLink([{ parent: -1, step: 0, settings }])));
    });
  }

  function changeSetting(changed) {
    if (knobs.forks) attempt(() => forkSelected(changed));
    else restart(changed);
  }

  function switchOff(code) {
    const off = readOff(settingsOf(selected).off, { n_layers: 99, n_heads: 8 });
    if (off.has(code)) off.delete(code);
    else off.add(code);
    attempt(() => forkSelected({ off: [...off].sort().join(",") }));
  }

  async function forkSelected(settings) {
    const origin = runs.all[selected];
    if (!origin?.worker) return;
    // A fork of a finished run trains as long again.
    if (origin.state === "finished") settings = { ...settings, steps: origin.at + settingsOf(0).steps };
    readLink(writeLink(runs.planned({ parent: origin.id, step: Math.max(origin.at, 1), settings }))); // refuses what is impossible
    const run = await runs.fork(origin, settings);
    [selected, frameShown] = [run.id, -1];
    problem.hidden = true;
    if (runs.paused) runs.resume();
    onLink(currentLink(), true);
  }

  async function compare() {
    const run = runs.all[selected];
    verdicts.set(run.id, "Training the run and its fork with five seeds each …");
    touch();
    const pairsOfRuns = await runs.compareSeeds(run);
    if (!pairsOfRuns) return;
    const change = changeText(run.settings);
    verdicts.set(
      run.id,
      `${verdict(pairsOfRuns, change, settingsOf(run.id).steps)} ${successor(pairsOfRuns, change)}`.trim(),
    );
    touch();
  }

  async function tryOwn() {
    const text = ownInput.value;
    own = { text, ...await runs.ask(runs.all[selected], { type: "translate", text }) };
    problem.hidden = true;
    example = SHOWN_EXAMPLES;
  }

  async function saveModel() {
    const run = runs.all[selected];
    const savedRun = {
      link: writeLink(runs.pathTo(run)),
      step: run.at,
      pairs: run.settings.task === "pairs" ? pairs : null,
    };
    const { safetensors } = await runs.ask(run, { type: "weights", savedRun });
    const file = new Blob([safetensors], { type: "application/octet-stream" });
    download(file, `${settingsOf(selected).task}.safetensors`);
  }

  // Go on with a model that this page has saved.
  async function openFile(chosen) {
    if (chosen.size > MAX_FILE_BYTES) {
      throw new RangeError(`The file has ${Math.round(chosen.size / 1e6)} MB; a model of this page has at most 100.`);
    }
    const opened = readModelFile(new Uint8Array(await chosen.arrayBuffer()));
    pairs = opened.pairs;
    begin(opened.planned, opened.state);
  }

  // Give the model to the views of whole sentences: the app stores it as a finished run.
  async function openModel() {
    const run = runs.all[selected];
    const settings = settingsOf(selected);
    await onOpen({
      model: await runs.ask(run, { type: "weights" }),
      settings: { ...settings, steps: Math.max(run.at, 1) },
      title: titleOf(settings.task),
      points: thinned(accuracyPoints(run)),
      examples: run.examples.map(({ src }) => src.slice(0, -1).join(" ")),
    });
  }

  function onReport(run, report) {
    if (report.type === "progress" && report.examples.length && !run.hidden) keepFrame(run, report);
    if (report.type === "problem") showProblem(new Error(report.problem));
    if (run.id === 0) onFirstRun(run, report);
    touch();
  }

  // The first run is kept in this browser while it trains, and shown to a class.
  function onFirstRun(run, { type }) {
    if (type === "finished") forget(LAST_RUN);
    else if (run.state === "training" && run.at && performance.now() - lastKept > KEEP_EVERY_MS) keepRun(run);
    if (type === "finished" || type === "evaluation" && performance.now() - lastReported > REPORT_EVERY_MS) {
      lastReported = performance.now();
      onCurve(thinned(accuracyPoints(run)));
    }
  }

  function keepFrame(run, { step: at, examples }) {
    const film = frames.get(run.id) ?? frames.set(run.id, []).get(run.id);
    film.push({ step: at, examples });
    if (film.length > MAX_FRAMES) frames.set(run.id, film.filter((_, i) => i % 2 || i === film.length - 1));
  }

  async function keepRun(run) {
    lastKept = performance.now();
    const state = await runs.ask(run, { type: "state" }).catch(() => null);
    if (!state) return;
    const text = await keep(LAST_RUN, { link: currentLink(), pairs, state });
    if (text) showProblem(new Error(text));
  }

  // An action of the visitor; an error is shown as its sentence.
  /** @param {() => unknown} action */
  async function attempt(action) {
    try {
      await action();
    } catch (error) {
      showProblem(error);
    }
    touch();
  }

  function showProblem(error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }

  // -- drawing, at most once a frame
  function touch() {
    if (dirty) return;
    dirty = true;
    requestAnimationFrame(() => {
      dirty = false;
      if (container.isConnected) draw(); // the app may have opened another page meanwhile
    });
  }

  function showHead(head) {
    headText.textContent = head
      ? `${sentenceCase(head.name)}: rows look at columns; click to switch it off in a fork.`
      : "";
  }

  // The examples at the shown step, and last the visitor's own one.
  function currentExamples() {
    const shown = frameShown >= 0 ? frames.get(selected)?.[frameShown]?.examples : runs.all[selected]?.examples;
    return [...(shown ?? []).slice(0, SHOWN_EXAMPLES), ...(own ? [own] : [])];
  }

  function draw() {
    const theme = colours(/** @type {HTMLElement} */ (container.lastElementChild));
    const visible = runs.visible;
    const run = runs.all[selected];
    play.textContent = runs.paused ? "Play" : "Pause";
    const done = visible.length > 0 &&
      visible.every(({ state }) => ["finished", "diverged", "problem"].includes(state));
    play.disabled = step.disabled = done;
    if (!run) return;
    const examples = currentExamples();
    outputs.draw(examples, example);
    const shown = examples[Math.min(example, examples.length - 1)];
    if (shown) heads.draw(shown, readOff(settingsOf(selected).off, { n_layers: 99, n_heads: 8 }), theme);
    const isCompared = isComparison(visible);
    captionText.textContent = isCompared ? comparison(visible) || caption(run) : caption(run);
    const film = frames.get(selected) ?? [];
    scrubber.max = String(Math.max(film.length - 1, 0));
    if (frameShown < 0) scrubber.value = scrubber.max;
    scrubText.textContent = film.length ? `step ${film[frameShown < 0 ? film.length - 1 : frameShown].step}` : "";
    const lastStep = Math.max(...visible.map(({ at, started }) => Math.max(at, Number(started?.settings.steps ?? 0))));
    const named = visible.map((each, i) => ({
      run: each,
      name: runName(each, isCompared),
      colour: theme.series[i % theme.series.length],
      isSelected: each.id === selected,
    }));
    curves.draw(named, lastStep);
    timeline.draw(
      named.map(({ run: each, ...rest }) => ({ ...each, ...rest, state: runState(each) })),
      selected,
      lastStep,
    );
    seeds.hidden = run.parent < 0 || "model" in run.settings;
    why.hidden = isCompared;
    openInViews.hidden = save.hidden = script.hidden = settingsOf(selected).model !== "transformer";
    seeds.disabled = verdicts.has(run.id);
    verdictText.textContent = verdicts.get(run.id) ?? "";
    const evaluation = run.evaluations.at(-1);
    const record = run.records.at(-1);
    status.textContent = `step ${run.at}${record ? ` · loss ${record.loss.toFixed(2)}` : ""}${
      evaluation ? ` · ${percent(evaluation.correct / evaluation.count)} of outputs right` : ""
    }`;
    checksum.textContent = run.checksum ? `Checksum of the weights at step ${run.at}: ${run.checksum}` : "";
    if (run.started) knobs.show(settingsOf(selected));
  }

  async function offerKept() {
    const last = await kept(LAST_RUN);
    if (!last || !last.state || last.state.step >= (last.state.description.settings.steps ?? Infinity)) return;
    if (link && last.link !== link) return;
    const go = button(`Go on from step ${last.state.step}`, () => {
      attempt(() => {
        pairs = last.pairs;
        resumeOffer.hidden = true;
        begin(readLink(last.link).slice(0, 1), last.state);
      });
    });
    const dismiss = button("Forget it", () => {
      forget(LAST_RUN);
      resumeOffer.hidden = true;
    });
    resumeOffer.replaceChildren("This browser has kept your last run. ", go, " ", dismiss);
    resumeOffer.hidden = false;
  }

  try {
    begin(readLink(link));
  } catch (error) { // a wrong link: the usual run, and what is wrong
    link = USUAL_LINK;
    begin(readLink(link));
    showProblem(error);
  }
  offerKept();
  return {
    close: runs.close,
    open(newLink) {
      if (newLink !== currentLink()) {
        link = newLink;
        attempt(() => begin(readLink(newLink)));
      }
    },
  };
}
