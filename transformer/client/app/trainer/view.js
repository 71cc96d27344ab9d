// The page that trains in this tab: what the model writes now, all its heads, curves, and the tree of forks. Every
// change is part of the link.

import { colours, copyText, download, el } from "../../common/base.js";
import { setExactNames, truncated } from "../../common/naming.js";
import { readOff } from "../../common/head-codes.js";
import { placeName } from "../../views/grids/all-heads.js";
import { caption, changeText, runName, runState } from "./captions.js";
import { makeControls } from "./controls.js";
import { accuracyPoints, makeCurves, makeTimeline, thinned } from "./curves.js";
import { makeRunFilm } from "./film.js";
import { filmOf, historyOf, outputsOf } from "./history.js";
import { makeSwitchedHeads } from "./heads.js";
import { makeOwnInput, makePairsForm } from "./inputs.js";
import { makeKnobs, titleOf } from "./knobs.js";
import { makeLastRun } from "./last-run.js";
import { allSettings, isSame, readLink, writeLink } from "./link.js";
import { makeOutputs } from "./outputs.js";
import { makeQuestions } from "./questions.js";
import { racedSetting, racers, raceText } from "./races.js";
import { makeRuns } from "./runs.js";
import { pairsOf, readModelFile } from "./saved.js";
import { scriptFor } from "./script.js";
import { makeSeedComparison } from "./seeds.js";
import { makeStop } from "./stop.js";
import { makeTools } from "./tools.js";

const USUAL_LINK = "task=reverse";
const REPORT_EVERY_MS = 4000; // to a class
const MAX_FILE_BYTES = 100e6;
const SHOWN_EXAMPLES = 3;
const MAX_TITLE = 80; // characters of the title of an opened model
const SHAPE = ["model", "n_layers", "n_heads"];
const ONE_SEED = "One seed may be chance: select a run below, then compare it with five seeds.";
const SEEDS_FOLLOW = "One seed may be chance: five seeds follow when these runs have ended.";
const PASTE_PAIRS = "Paste sentence pairs in any two languages, at least 20: a model learns them in this tab.";

/**
 * @param {HTMLElement} container
 * @param {{ link: string, workerUrl: URL | string, onLink: (link: string, isNew: boolean) => void, address: (link: string) => string, isFile?: boolean, seed?: number, onRuns?: (runs: any[]) => void, onOpen: (model: any) => Promise<void> | void, opened?: import("./last-run.js").KeptRun | null }} host
 *   `opened` is a run that is shown as it was left
 */
export function openTrainer(
  container,
  { link, workerUrl, onLink, address, isFile = false, seed = 0, onRuns = () => undefined, onOpen, opened = null },
) {
  setExactNames(false);
  const runs = makeRuns(() => new Worker(workerUrl, { type: "module" }), onReport);
  let [selected, example, isDrawing, reportedAt, compared] = [0, 0, false, 0, 0];
  let pairs = null; // the sentence pairs that the visitor has pasted
  let own = null; // the example of the visitor's own input

  const controls = makeControls(runs, touch, () => restart({}));
  const knobs = makeKnobs(changeSetting, touch);
  const problem = el("p", { class: "hu-trainer-problem", role: "alert", hidden: "" });
  const outputs = makeOutputs((index) => {
    example = index;
    touch();
  });
  const ownInput = makeOwnInput((text) => attempt(() => tryOwn(text)));
  const pairsForm = makePairsForm((text) =>
    attempt(() => {
      pairs = pairsOf(text);
      begin(runs.planned().length ? runs.planned().slice(0, 1) : readLink(link));
    })
  );
  const heads = makeSwitchedHeads({ onOff: switchOff, onPoint: showHead });
  const headText = el("p", { class: "hu-note hu-trainer-pointed" });
  const captionText = el("p", { class: "hu-callout hu-trainer-caption", role: "status" });
  const film = makeRunFilm(touch);
  const curves = makeCurves();
  const timeline = makeTimeline((id) => {
    [selected, own] = [id, null];
    film.showNewest();
    touch();
  });
  const stop = makeStop((off) => {
    selected = 0;
    attempt(() => forkSelected({ off }));
    controls.focus();
  }, () => {
    runs.resume();
    controls.focus();
    touch();
  });
  const questions = makeQuestions((question) => {
    begin(readLink(question.link));
    compared = question.compared; // by seeds, when the race has ended
  });
  const seeds = makeSeedComparison(runs.compareSeeds, (run) => settingsOf(run.id).steps, touch);
  const tools = makeTools({ copyLink, openModel, saveModel, openFile, saveScript }, attempt);
  const lastRun = makeLastRun(snapshotOf, (last) => attempt(() => resume(last)), showProblem);

  container.replaceChildren(el(
    "div",
    { class: `hu hu-explorer hu-trainer${isFile ? " hu-file" : ""}` },
    el("div", { class: "hu-line hu-trainer-bar" }, ...controls.nodes, knobs.task, controls.status),
    problem,
    lastRun.node,
    el(
      "div",
      { class: "hu-trainer-columns" },
      el(
        "section",
        { class: "hu-trainer-left", "aria-label": "What it writes, and settings" },
        el("h2", {}, "What it writes now"),
        outputs.node,
        ownInput,
        pairsForm,
        knobs.node,
      ),
      el(
        "section",
        { class: "hu-trainer-middle", "aria-label": "All heads" },
        heads.node,
        headText,
        captionText,
        stop.node,
        film.node,
        ...seeds.nodes,
        questions,
      ),
      el(
        "section",
        { class: "hu-trainer-right", "aria-label": "Curves and forks" },
        ...curves.nodes,
        timeline.node,
        ...tools.nodes,
      ),
    ),
  ));
  container.addEventListener("redraw", touch);

  const settingsOf = (id) => allSettings(runs.all.length ? runs.all : readLink(link), id);
  const headsOff = (id) => readOff(settingsOf(id).off, settingsOf(id));
  const currentLink = () => writeLink(runs.planned());

  // -- runs and their forks
  /** @param {any} state where the last run continues @param {import("./history.js").History | null} history its own */
  function begin(planned, state = null, history = null, isOfLink = true) {
    [selected, own, example, compared] = [state ? planned.length - 1 : 0, null, 0, 0];
    film.showNewest();
    problem.hidden = true;
    const hasOwnPairs = planned[0].settings.task === "pairs";
    pairsForm.hidden = !hasOwnPairs;
    knobs.show(allSettings(planned, 0));
    if (hasOwnPairs && !pairs) {
      runs.close();
      link = writeLink(planned);
      captionText.textContent = PASTE_PAIRS;
    } else runs.begin(withOwnSeed(planned), hasOwnPairs ? pairs : null, state, planned.length === 1 && !state);
    if (history) restore(runs.all[selected], history, state.step);
    if (isOfLink) onLink(writeLink(planned), false);
    touch();
  }

  /** @param {import("./runs.js").Run} run @param {import("./history.js").History} history */
  function restore(run, { records, evaluations, frames }, step) {
    Object.assign(run, { records, evaluations, at: step, examples: frames.at(-1)?.examples ?? [] });
    film.restore(run, frames);
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
      if (SHAPE.some((name) => name in changed)) delete settings.off; // heads of another model
      begin(readLink(writeLink([{ parent: -1, step: 0, settings }])));
    });
  }

  function changeSetting(changed) {
    if (knobs.forks) attempt(() => forkSelected(changed));
    else restart(changed);
  }

  function switchOff(off) {
    attempt(() => forkSelected({ off: [...off].sort().join(",") }));
  }

  async function forkSelected(settings) {
    const origin = runs.all[selected];
    const now = settingsOf(selected);
    if (isSame(now, { ...now, ...settings })) return; // such as the second click of a double click
    // A fork of a finished run trains as long again.
    if (origin.state === "finished") settings = { ...settings, steps: origin.at + settingsOf(0).steps };
    const fork = await runs.fork(origin, settings);
    if (!fork) return;
    selected = fork.id;
    film.showNewest();
    problem.hidden = true;
    if (runs.paused) runs.resume();
    onLink(currentLink(), true);
  }

  async function tryOwn(text) {
    own = { text, ...await runs.ask(runs.all[selected], { type: "translate", text }) };
    problem.hidden = true;
    example = SHOWN_EXAMPLES;
  }

  async function snapshotOf(run) {
    const state = await runs.ask(run, { type: "state" });
    return { link: writeLink(runs.pathTo(run)), pairs, state, history: historyOf(runs.all, run, film.framesOf) };
  }

  function resume(last) {
    pairs = last.pairs;
    begin(readLink(last.link), last.state, last.history);
  }

  // -- links, files and the views of whole sentences
  async function copyLink() {
    const link = address(currentLink());
    if (!await copyText(link, container)) throw new Error(`Copy this link: ${link}`);
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

  function saveScript() {
    download(new Blob([scriptFor(settingsOf(selected), pairs)], { type: "text/x-python" }), "train.py");
  }

  // Give the model to the views of whole sentences: the app stores it as a finished run.
  async function openModel() {
    const run = runs.all[selected];
    const settings = settingsOf(selected);
    const snapshot = await snapshotOf(run);
    const { history } = snapshot;
    const titles = [titleOf(settings.task), ...(settings.off ? [changeText({ off: settings.off })] : [])];
    await onOpen({
      model: await runs.ask(run, { type: "weights" }),
      settings: { ...settings, steps: Math.max(run.at, 1) },
      title: truncated(titles.join(", "), MAX_TITLE),
      points: thinned(accuracyPoints(history)),
      losses: thinned(history.records.map(({ step, loss }) => [step, loss])),
      outputs: outputsOf(run),
      film: filmOf(history.frames),
      examples: run.examples.map(({ src }) => src.slice(0, -1).join(" ")),
      run: snapshot,
    });
  }

  // -- reports of the workers
  function onReport(run, report) {
    if (report.type === "progress" && report.examples.length && !run.hidden) film.keep(run, report);
    if (report.type === "problem") showProblem(new Error(report.problem));
    if (run.id === 0) lastRun.follow(run, report.type === "finished");
    if (racers([run]).length) reportRuns(report);
    if (compared && !racers(runs.all).some(isRunning)) compareRaced();
    touch();
  }

  const isRunning = ({ state }) => ["waiting", "training", "paused"].includes(state);

  // The seeds of a question, when all its runs have ended.
  function compareRaced() {
    const raced = racers(runs.all);
    if (raced.every(({ state }) => state !== "problem")) seeds.compare(raced[compared], "seeds");
    compared = 0;
  }

  // A class is shown the run, or all runs of a race.
  function reportRuns({ type }) {
    if (type === "finished" || type === "evaluation" && performance.now() - reportedAt > REPORT_EVERY_MS) {
      reportedAt = performance.now();
      onRuns(
        racers(runs.all).filter(({ evaluations }) => evaluations.length).map((run) => {
          const { model, score, n_heads, positions, steps } = run.started.settings;
          return { model, score, n_heads, positions, steps, points: thinned(accuracyPoints(run)) };
        }),
      );
    }
  }

  // An action of the visitor; an error is shown as its sentence. Resolves to whether there was none.
  /** @param {() => unknown} action */
  async function attempt(action) {
    try {
      await action();
      return true;
    } catch (error) {
      showProblem(error);
      return false;
    } finally {
      touch();
    }
  }

  function showProblem(error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }

  // -- drawing, at most once a frame
  function touch() {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      if (container.isConnected) draw(); // the app may have opened another page meanwhile
    });
  }

  function showHead(head) {
    headText.textContent = head
      ? `${placeName(head, true)}: rows look at columns; click to switch it off in a fork.`
      : "";
  }

  function draw() {
    const theme = colours(/** @type {HTMLElement} */ (container.lastElementChild));
    const run = runs.all[selected];
    controls.draw(run);
    if (!run) return;
    const found = stop.draw(runs);
    drawExamples(run, theme, found?.head);
    drawRuns(run, theme, found?.text);
    const settings = settingsOf(selected);
    tools.draw(run, settings);
    if (run.started) knobs.show(settings);
  }

  // What the run writes and where its heads look, at the step that the film shows; last the visitor's own input. A fork
  // that has not begun shows the run that it comes from.
  function drawExamples(selectedRun, theme, found = null) {
    let run = selectedRun;
    while (!run.examples.length && run.parent >= 0) run = runs.all[run.parent];
    const begun = selectedRun.worker ? selectedRun : run;
    const examples = [...film.examplesOf(run).slice(0, SHOWN_EXAMPLES), ...(own ? [own] : [])];
    outputs.draw(examples, example);
    const shown = examples[Math.min(example, examples.length - 1)];
    if (shown) heads.draw(shown, theme, { off: headsOff(begun.id), selected: found });
    film.draw(run);
  }

  function drawRuns(selectedRun, theme, foundText = "") {
    const { visible } = runs;
    const raced = racedSetting(visible);
    const isCompared = seeds.draw(selectedRun, raced ? racers(visible) : []);
    const results = raceText(visible, raced);
    const advice = compared ? SEEDS_FOLLOW : isCompared ? "" : ONE_SEED;
    captionText.textContent = foundText || (results ? `${results} ${advice}`.trim() : caption(selectedRun));
    const lastStep = Math.max(...visible.map(({ at, started }) => Math.max(at, Number(started?.settings.steps ?? 0))));
    const named = visible.map((run, i) => ({
      run,
      name: runName(run, raced),
      colour: theme.series[i % theme.series.length],
      isSelected: run === selectedRun,
    }));
    curves.draw(named, lastStep, raced === "model");
    timeline.draw(named.map(({ run, ...rest }) => ({ ...run, ...rest, state: runState(run) })), selected, lastStep);
  }

  try {
    if (opened) {
      resume(opened);
      runs.pause();
    } else begin(readLink(link));
  } catch (error) { // a wrong link stays in the address: the usual run trains, and the page says what is wrong
    link = USUAL_LINK;
    begin(readLink(link), null, null, false);
    showProblem(error);
  }
  if (!opened) lastRun.offer(link);
  return {
    close: runs.close,
    open(newLink) {
      if (newLink === currentLink()) return;
      attempt(() => {
        begin(readLink(newLink));
        link = newLink;
      });
    },
  };
}
