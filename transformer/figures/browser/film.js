// The film: thumbnails of all heads of a kind at one training step, one of them enlarged, and a slider over the
// steps. `.show(bytes)` takes the data of figures/film.py. The selection stays in the browser, as all frames
// are loaded.

import { colours, el, printColours } from "./base.js";
import { frameOf, makeFilm, shortRole, stepName } from "./film-data.js";
import { makeChanges, makeScrubber } from "./film-scrubber.js";
import { heatmapView } from "./heatmap.js";
import { makeLarger } from "./help.js";
import { matrixOf } from "./matrix.js";
import { makeMosaic } from "./mosaic.js";
import { headName, setExactNames } from "./naming.js";
import { KINDS, makeControls } from "./options.js";
import { makeSheet } from "./sheet.js";
import { unpack } from "./store.js";
import { makeExportMenu } from "./export-menu.js";

const FILM_LENGTH = 9000; // ms of the whole film
const FILM_PACE = [90, 450]; // minimum and maximum ms per step
const PLAIN_OPTIONS = { special: "shown", renormalise: 0, combine: "one", heads: "", scale: "sqrt" };

const selections = new Map(); // the viewer's selection by the name of the run, while the page is open

export function filmView(root) {
  let film = null;
  let state = null; // step -1 is the newest, head -1 the clearest
  let cell = { row: -1, column: -1, zoom: 0 };
  let now = null; // the state with -1 resolved
  let [side, theme, visit, frame, painted, name] = [null, null, null, 0, 0, ""];
  let [playing, framing, exact] = [0, 0, 1];

  /** @type {any} */
  const ctx = {
    set,
    get state() { return now; },
    get theme() { return theme; },
    get side() { return side; },
    get sides() { return [side]; },
    matrix: () => matrixOf(side, now),
    title: () => `Step ${stepName(film.steps[frame])} · ${headName(now)}`,
    onPaper: (make) => {
      const screen = theme;
      theme = printColours(pane);
      try {
        return make();
      } finally {
        theme = screen;
      }
    },
  };
  const controls = makeControls(set);
  const probe = makeProbes((number) => set({ probe: number }));
  const take = makeExportMenu(ctx, () => heat);
  const larger = makeLarger(ctx, "Larger film"); // the page has its own "Larger" button
  const scrubber = makeScrubber({ go, toggle: () => (playing ? pause() : play()) });
  const mosaic = makeMosaic((layer, head) => set({ layer, head }));
  const heat = heatmapView(ctx);
  const caption = el("p", { class: "hu-caption", role: "status" });
  const title = el("h3", { class: "hu-title" });
  const changes = makeChanges((changed) => set(changed));
  const sheet = makeSheet(() => heat);
  const tools = el("div", { class: "hu-tools" }, take.node, larger.node);
  const main = el("div", { class: "hu-main" }, el("header", {}, title, tools), heat.node, sheet.node);
  const words = el("section", { class: "hu-words" }, caption, changes.now);
  const empty = el("p", { class: "hu-empty", role: "status" }, "No picture yet. The first one appears before the first training step.");
  const shown = el(
    "div", { class: "hu-film-body" },
    el("div", { class: "hu-top" }, el("div", { class: "hu-controls" }, controls.node, probe.node)),
    scrubber.node,
    el("div", { class: "hu-split" }, el("section", { class: "hu-mosaic" }, mosaic.node), words, main, changes.node),
  );
  const pane = el("div", { class: "hu hu-explorer hu-film" }, empty, shown);
  root.append(pane);

  function show(bytes) {
    const { header, parts } = unpack(bytes);
    film = makeFilm(header, parts);
    painted += 1;
    exact = header.exact ?? 1;
    setExactNames(exact);
    const opens = !state || visit !== header.visit || name !== header.name;
    if (opens) {
      visit = header.visit;
      name = header.name;
      state = (name && selections.get(name)) || header.start;
      cell = { row: -1, column: -1, zoom: 0 };
      pause();
    }
    redraw();
    if (opens && header.play && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  }

  function set(changed) {
    for (const [name, value] of Object.entries(changed)) {
      if (name in cell) cell[name] = value;
      else if (name in state) state = { ...state, [name]: value };
    }
    if ("kind" in changed || "probe" in changed) cell = { row: -1, column: -1, zoom: 0 };
    redraw();
  }

  // Go to a frame; the last one counts as "the newest" and follows newer ones.
  function go(number) {
    pause();
    set({ step: stepOf(number) });
  }
  const stepOf = (number) => (number >= film.steps.length - 1 ? -1 : film.steps[Math.max(number, 0)]);

  function play() {
    if (film.steps.length < 2) return;
    if (frame === film.steps.length - 1) state = { ...state, step: film.steps[0] };
    playing = setTimeout(next, pace());
    redraw();
  }
  const pace = () => Math.min(Math.max(FILM_LENGTH / film.steps.length, FILM_PACE[0]), FILM_PACE[1]);

  function next() {
    state = { ...state, step: stepOf(frame + 1) };
    if (state.step === -1) return pause();
    playing = setTimeout(next, pace());
    redraw();
  }

  function pause() {
    if (!playing) return;
    clearTimeout(playing);
    playing = 0;
    redraw();
  }

  function redraw() {
    if (!film || !pane.isConnected) return; // colours can only be read on the page
    const any = film.steps.length > 0 && film.choices.length > 0;
    [empty.hidden, shown.hidden] = [any, !any];
    if (!any) return;
    if (name) selections.set(name, state);
    frame = frameOf(film.steps, state.step);
    now = { ...PLAIN_OPTIONS, exact, ...cell, ...film.resolveState(state) };
    side = film.side(now.probe, frame);
    theme = colours(pane);
    pane.dataset.size = state.size;
    controls.draw(now, [], side.kinds);
    probe.draw(film, now.probe);
    larger.draw();
    scrubber.draw(film, frame, now, theme, Boolean(playing));
    caption.setAttribute("aria-live", playing ? "off" : "polite");
    caption.textContent = film.caption(now, frame);
    const role = (layer, head) => film.role(now, frame, layer, head);
    mosaic.draw(side, now.kind, now, theme, {
      label: KINDS[now.kind],
      of: `${painted} ${frame}`,
      described: (layer, head) => role(layer, head).text,
      below: (layer, head) => shortRole(role(layer, head), theme),
    });
    title.textContent = ctx.title();
    changes.draw(film, now, frame, theme, Boolean(playing));
    heat.draw();
    sheet.draw();
  }

  pane.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const { target, key } = event;
    if (key === " " && !target.closest("button, select, summary, canvas")) (playing ? pause : play)();
    else if (key === "p" && !target.closest("select")) set({ size: state.size === "large" ? "normal" : "large" });
    else return;
    event.preventDefault();
  });
  const resized = new ResizeObserver(() => {
    cancelAnimationFrame(framing);
    framing = requestAnimationFrame(redraw);
  });
  resized.observe(pane);

  return {
    show,
    close: () => {
      resized.disconnect();
      cancelAnimationFrame(framing);
      clearTimeout(playing);
      playing = 0;
      take.close();
      sheet.close();
    },
  };
}

// The selector of the sentence, if there are several.
function makeProbes(choose) {
  const select = el("select", {});
  const node = el("label", { class: "hu-option hu-probe" }, el("span", {}, "Sentence"), select);
  let shownOptions = "";
  select.addEventListener("change", () => choose(Number(select.value)));
  function draw(film, chosen) {
    const texts = film.choices.map((number) => [number, film.sentence(number)]);
    if (JSON.stringify(texts) !== shownOptions) {
      shownOptions = JSON.stringify(texts);
      select.replaceChildren(...texts.map(([value, text]) => el("option", { value }, text)));
    }
    select.value = String(chosen);
    node.hidden = texts.length < 2;
  }
  return { node, draw };
}
