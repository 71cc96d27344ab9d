// The page that trains in this tab: what the model writes now, all its heads, curves, and the tree of forks. Every
// change is part of the link.

import { colours, download, el } from "../base.js";
import { headName, setExactNames } from "../naming.js";
import { readOff } from "../head-codes.js";
import { caption, changeText, reachedText } from "./captions.js";
import { makeChart, makeTimeline, thinned } from "./curves.js";
import { HEAD_KINDS, makeHeads } from "./heads.js";
import { makeKnobs, TASK_NAMES } from "./knobs.js";
import { allSettings, readLink, writeLink } from "./link.js";
import { makeRuns } from "./runs.js";
import { forgetRun, keepRun, keptRun, modelFile, pairsOf } from "./saved.js";
import { scriptFor } from "./script.js";
import { percent, successor, verdict } from "./verdict.js";

const KEEP_EVERY_MS = 5000;
const REPORT_EVERY_MS = 4000; // to a class
const CHUNK = 32_768; // bytes that are made characters at once
const MAX_FRAMES = 240; // of the film; a longer run keeps every second one
const SPEEDS = { "as fast as possible": 0, "60 steps a second": 60, "10 steps a second": 10, "2 steps a second": 2 };
const SHOWN_EXAMPLES = 3;

/**
 * @param {HTMLElement} container
 * @param {{ link: string, workerUrl: URL | string, onLink: (link: string, isNew: boolean) => void, address: (link: string) => string, isFile?: boolean, seed?: number, onCurve?: (points: [number, number][]) => void, onOpen?: (model: any) => void }} host
 */
export function openTrainer(
  container,
  { link, workerUrl, onLink, address, isFile = false, seed = 0, onCurve = () => undefined, onOpen = null },
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
  }, "hu-button hu-trainer-play");
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
  const outputs = el("div", { class: "hu-trainer-outputs" });
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
    tryOwn();
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
  const captionText = el("p", { class: "hu-trainer-caption", role: "status" });
  const scrubber = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Film: training step" });
  const scrubText = el("span", { class: "hu-note" });
  scrubber.addEventListener("input", () => {
    const last = Number(scrubber.max);
    frameShown = Number(scrubber.value) >= last ? -1 : Number(scrubber.value);
    touch();
  });
  const loss = makeChart("Loss", "nats per token", (value) => value.toFixed(value < 0.1 ? 3 : 2));
  const accuracy = makeChart("Right outputs", "share of held-out examples", percent);
  const rate = makeChart("Learning rate", "step size of Adam", (value) => String(Number(value.toPrecision(2))));
  const timeline = makeTimeline((id) => {
    [selected, frameShown, own] = [id, -1, null];
    touch();
  });
  const seeds = button("Compare with five seeds", compare);
  const verdictText = el("p", { class: "hu-trainer-verdict", role: "status" });
  const checksum = el("p", { class: "hu-note hu-code" });
  const copy = button("Copy link", async () => {
    await navigator.clipboard.writeText(address(currentLink()));
    copy.textContent = "Link copied";
    setTimeout(() => copy.textContent = "Copy link", 2000);
  });
  const save = button("Save the model", saveModel);
  const openInApp = button("Open in every view", openModel);
  openInApp.hidden = !onOpen;
  const script = button("Export as a PyTorch script", () => {
    attempt(() => download(new Blob([scriptFor(settingsOf(selected), pairs)], { type: "text/x-python" }), "train.py"));
  });
  const resumeOffer = el("p", { class: "hu-trainer-offer", hidden: "" });

  container.replaceChildren(el(
    "div",
    { class: `hu hu-explorer hu-trainer${isFile ? " hu-file" : ""}` },
    el("div", { class: "hu-trainer-bar" }, play, step, again, speed, knobs.task, status),
    problem,
    resumeOffer,
    el(
      "div",
      { class: "hu-trainer-columns" },
      el(
        "section",
        { class: "hu-trainer-left", "aria-label": "What it writes, and settings" },
        el("h2", {}, "What it writes now"),
        outputs,
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
        loss.node,
        accuracy.node,
        rate.node,
        timeline.node,
        seeds,
        verdictText,
        el("div", { class: "hu-trainer-tools" }, copy, openInApp, save, script),
        checksum,
      ),
    ),
  ));
  container.addEventListener("redraw", touch);
  container.addEventListener("pointerdown", () => touch(), { passive: true });

  function button(text, onClick, className = "hu-button") {
    const node = el("button", { type: "button", class: className }, text);
    node.addEventListener("click", onClick);
    return node;
  }

  // -- runs
  const settingsOf = (id) => allSettings(runs.all.length ? runs.all : readLink(link), id);
  const currentLink = () => writeLink(runs.planned());
  const nameOfHead = (code) => {
    const [layer, head] = code.slice(1).split(".").map(Number);
    const kind = HEAD_KINDS.find(({ letter }) => letter === code[0]).name.toLowerCase();
    return `${kind} ${Number.isNaN(head ?? NaN) ? `layer ${layer + 1}` : headName({ layer, head })}`;
  };
  const nameOfRun = (run) => run.parent < 0 ? "First run" : `Step ${run.step}, ${changeText(run.settings, nameOfHead)}`;

  function begin(planned, state = null) {
    [selected, frameShown, own, example] = [0, -1, null, 0];
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
      if (settings.task === "reverse") delete settings.task;
      begin(readLink(writeLink([{ parent: -1, step: 0, settings }])));
    });
  }

  function changeSetting(changed) {
    if (knobs.forks) forkSelected(changed);
    else restart(changed);
  }

  function switchOff(code) {
    const off = readOff(settingsOf(selected).off, { n_layers: 99, n_heads: 8 });
    if (off.has(code)) off.delete(code);
    else off.add(code);
    forkSelected({ off: [...off].sort().join(",") });
  }

  async function forkSelected(settings) {
    const origin = runs.all[selected];
    if (!origin?.worker) return;
    try {
      readLink(writeLink([...runs.planned(), { parent: origin.id, step: 0, settings }])); // refuses what is impossible
      const run = await runs.fork(origin, settings);
      [selected, frameShown] = [run.id, -1];
      problem.hidden = true;
      if (runs.paused) runs.resume();
      onLink(currentLink(), true);
    } catch (error) {
      showProblem(error);
    }
    touch();
  }

  async function compare() {
    const run = runs.all[selected];
    verdicts.set(run.id, "Training the run and its fork with five seeds each …");
    touch();
    const pairsOfRuns = await runs.compareSeeds(run);
    if (!pairsOfRuns) return;
    const change = changeText(run.settings, nameOfHead);
    verdicts.set(
      run.id,
      `${verdict(pairsOfRuns, change, settingsOf(run.id).steps)} ${successor(pairsOfRuns, change)}`.trim(),
    );
    touch();
  }

  async function tryOwn() {
    const run = runs.all[selected];
    try {
      own = { text: ownInput.value, ...await runs.ask(run, { type: "translate", text: ownInput.value }) };
      problem.hidden = true;
      example = SHOWN_EXAMPLES;
    } catch (error) {
      showProblem(error);
    }
    touch();
  }

  async function saveModel() {
    try {
      const model = await runs.ask(runs.all[selected], { type: "weights" });
      download(modelFile(model), `${settingsOf(selected).task}.safetensors`);
    } catch (error) {
      showProblem(error);
    }
  }

  // Give the model to the app, which stores it as a finished run.
  async function openModel() {
    try {
      const run = runs.all[selected];
      const settings = settingsOf(selected);
      const title = TASK_NAMES[settings.task];
      const blob = modelFile(await runs.ask(run, { type: "weights" }));
      const bytes = new Uint8Array(await blob.arrayBuffer());
      let text = "";
      for (let i = 0; i < bytes.length; i += CHUNK) text += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
      onOpen({
        model: btoa(text),
        settings: { ...settings, steps: Math.max(run.at, 1) },
        title,
        points: pointsOf(run),
      });
    } catch (error) {
      showProblem(error);
    }
  }

  const pointsOf = (run) => thinned(run.evaluations.map(({ step: at, correct, count }) => [at, correct / count]));

  function onReport(run, report) {
    if (report.type === "progress" && report.examples.length && !run.hidden) keepFrame(run, report);
    if (report.type === "problem") showProblem(new Error(report.problem));
    if (!run.hidden && run.id === 0 && (report.type === "finished" || performance.now() - lastKept > KEEP_EVERY_MS)) {
      keep(run);
    }
    const isMeasured = run.id === 0 && ["evaluation", "finished"].includes(report.type);
    if (isMeasured && (report.type === "finished" || performance.now() - lastReported > REPORT_EVERY_MS)) {
      lastReported = performance.now();
      onCurve(pointsOf(run));
    }
    touch();
  }

  function keepFrame(run, { step: at, examples }) {
    const film = frames.get(run.id) ?? frames.set(run.id, []).get(run.id);
    film.push({ step: at, examples });
    if (film.length > MAX_FRAMES) frames.set(run.id, film.filter((_, i) => i % 2 || i === film.length - 1));
  }

  async function keep(run) {
    lastKept = performance.now();
    if (run.state !== "training" || run.at === 0) return;
    const state = await runs.ask(run, { type: "state" }).catch(() => null);
    if (!state) return;
    const text = await keepRun({ link: currentLink(), pairs, state });
    if (text) showProblem(new Error(text));
  }

  function attempt(action) {
    try {
      action();
    } catch (error) {
      showProblem(error);
    }
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
      draw();
    });
  }

  function showHead(head) {
    const shown = currentExample();
    headText.textContent = head && shown
      ? `${head.name[0].toUpperCase()}${head.name.slice(1)}: rows look at columns; click to switch it off in a fork.`
      : "";
  }

  function currentExample() {
    const run = runs.all[selected];
    if (example === SHOWN_EXAMPLES && own) return own;
    const film = frames.get(selected) ?? [];
    const shown = frameShown >= 0 ? film[Math.min(frameShown, film.length - 1)]?.examples : run?.examples;
    return shown?.[Math.min(example, (shown?.length ?? 1) - 1)];
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
    const colourOf = (index) => theme.series[index % theme.series.length];
    drawOutputs(run);
    const shown = currentExample();
    if (shown) heads.draw(shown, readOff(settingsOf(selected).off, { n_layers: 99, n_heads: 8 }), theme);
    captionText.textContent = caption(run);
    const film = frames.get(selected) ?? [];
    scrubber.max = String(Math.max(film.length - 1, 0));
    if (frameShown < 0) scrubber.value = scrubber.max;
    scrubText.textContent = film.length ? `step ${film[frameShown < 0 ? film.length - 1 : frameShown].step}` : "";
    const lastStep = Math.max(...visible.map(({ at, started }) => Math.max(at, Number(started?.settings.steps ?? 0))));
    const curvesOf = (points) =>
      visible.map((each, i) => ({
        name: nameOfRun(each),
        colour: colourOf(i),
        isSelected: each.id === selected,
        points: points(each),
      }));
    const afterFork = (each) => each.records.filter(({ step: at }) => at > each.step);
    const top = Math.max(...visible.flatMap((each) => each.records.slice(0, 3).map(({ loss: value }) => value)), 0.1);
    loss.draw(curvesOf((each) => afterFork(each).map(({ step: at, loss: value }) => [at, value])), lastStep, top);
    accuracy.draw(
      curvesOf((each) =>
        each.evaluations.filter(({ step: at }) => at >= each.step).map((
          { step: at, correct, count },
        ) => [at, correct / count])
      ),
      lastStep,
      1,
    );
    const topRate = Math.max(...visible.flatMap((each) => each.records.map(({ rate: value }) => value)), 1e-9);
    rate.draw(curvesOf((each) => afterFork(each).map(({ step: at, rate: value }) => [at, value])), lastStep, topRate);
    timeline.draw(
      visible.map((each, i) => ({ ...each, name: nameOfRun(each), colour: colourOf(i), state: stateText(each) })),
      selected,
      lastStep,
    );
    seeds.hidden = run.parent < 0;
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

  const stateText = (run) => {
    const words = {
      training: `step ${run.at}`,
      waiting: "waits for a free processor core",
      finished: `finished after ${run.seconds.toFixed(1)} s`,
      diverged: `diverged at step ${run.at}`,
    };
    return [words[run.state] ?? run.state, reachedText(run)].filter(Boolean).join(", ");
  };

  function drawOutputs(run) {
    const film = frames.get(selected) ?? [];
    const shown = (frameShown >= 0 ? film[frameShown]?.examples : run.examples).slice(0, SHOWN_EXAMPLES);
    const all = own ? [...shown, own] : shown;
    while (outputs.childElementCount > all.length) outputs.lastElementChild.remove();
    while (outputs.childElementCount < all.length) outputs.append(outputButton(outputs.childElementCount));
    all.forEach((each, index) => {
      const node = /** @type {HTMLElement} */ (outputs.children[index]);
      const key = `${each.src} ${each.output} ${each.correct}`; // unchanged outputs are not written again
      node.setAttribute("aria-pressed", String(index === example));
      if (node.dataset.key === key) return;
      node.dataset.key = key;
      const gold = each.gold && withoutEnds(each.gold);
      const output = withoutEnds(each.output ?? []);
      const written = output.flatMap((token, i) => [
        el("span", gold && token !== gold[i] ? { class: "hu-trainer-wrong" } : {}, token),
        " ",
      ]);
      const mark = each.correct === null || !gold ? "" : each.correct ? "✓" : "✗";
      const arrow = el("span", { class: "hu-note" }, " → ");
      node.replaceChildren(withoutEnds(each.src).join(" "), arrow, ...written, el("b", {}, mark));
    });
  }

  function outputButton(index) {
    return button("", () => {
      example = index;
      touch();
    }, "hu-trainer-output");
  }

  async function offerKept() {
    const kept = await keptRun();
    if (!kept || !kept.state || kept.state.step >= (kept.state.description.settings.steps ?? Infinity)) return;
    if (link && kept.link !== link) return;
    const go = button(`Go on from step ${kept.state.step}`, () => {
      attempt(() => {
        pairs = kept.pairs;
        resumeOffer.hidden = true;
        begin(readLink(kept.link).slice(0, 1), kept.state);
      });
    });
    const forget = button("Forget it", () => {
      forgetRun();
      resumeOffer.hidden = true;
    });
    resumeOffer.replaceChildren("This browser has kept your last run. ", go, " ", forget);
    resumeOffer.hidden = false;
  }

  try {
    begin(readLink(link));
  } catch (error) { // a wrong link: the usual run, and what is wrong
    link = "";
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

const withoutEnds = (tokens) => tokens.filter((token) => token !== "</s>" && token !== "<s>");
