// The film: thumbnails of all heads of a kind at one training step, one of them enlarged, and a slider over the
// steps. `.show(bytes)` takes the data of figures/film.py. The selection stays in the browser, as all frames
// are loaded.

import { colours, el, listenForResize } from "../../common/base.js";
import { frameOf, makeFilm, shortRole, stepName } from "./film-data.js";
import { makeChanges, makeScrubber } from "./film-scrubber.js";
import { heatmapView } from "../explorer/heatmap.js";
import { makeLarger } from "../../common/help.js";
import { matrixOf } from "../../common/matrix.js";
import { headGrid } from "../grids/all-heads.js";
import { sideGrid } from "../grids/grid-data.js";
import { headName, setExactNames } from "../../common/naming.js";
import { makeControls } from "../../common/options.js";
import { makeDataTable } from "../../common/data-table.js";
import { unpack } from "../../trace/packing.js";
import { makeExportMenu } from "../../common/export-menu.js";

const FILM_DURATION_MS = 9000; // ms of the whole film
const FRAME_MS_RANGE = [90, 450]; // minimum and maximum ms per step
const PLAIN_OPTIONS = { special: "shown", renormalise: 0, combine: "one", heads: "", scale: "sqrt" };

const selections = new Map(); // the viewer's selection by the name of the run, while the page is open

export function filmView(root) {
  let film = null;
  let state = null; // step -1 is the newest, head -1 the clearest
  let cell = { row: -1, column: -1, zoom: 0 };
  let resolvedState = null; // the state with actual numbers instead of -1
  let [side, frame, filmVersion, name] = [null, 0, 0, ""];
  let [playTimer, exact] = [0, 1];

  /** @type {any} */
  const ctx = {
    set,
    get state() {
      return resolvedState;
    },
    theme: null,
    get side() {
      return side;
    },
    get sides() {
      return [side];
    },
    matrix: () => matrixOf(side, resolvedState),
    title: () => `Step ${stepName(film.steps[frame])} · ${headName(resolvedState)}`,
  };
  const controls = makeControls(set);
  const sentenceSelector = makeSentenceSelector((probe) => set({ probe }));
  const exportMenu = makeExportMenu(ctx, () => heatmap);
  const larger = makeLarger(ctx, "Larger film"); // the page has its own "Larger" button
  const scrubber = makeScrubber({ go: goToFrame, toggle: () => (playTimer ? pause() : play()) });
  const pictures = el("section", { class: "hu-mosaic" });
  const selectHead = ({ layer, head }) => set({ layer, head });
  const help = "Choose a layer and a head";
  const grid = headGrid(pictures, { role: "radio", help, onClick: selectHead, onMove: selectHead });
  const heatmap = heatmapView(ctx);
  const caption = el("p", { class: "hu-caption", role: "status" });
  const title = el("h3", { class: "hu-title" });
  const changes = makeChanges((values) => set(values));
  const dataTable = makeDataTable(() => heatmap);
  const tools = el("div", { class: "hu-tools" }, exportMenu.node, larger.node);
  const main = el("div", { class: "hu-main" }, el("header", {}, title, tools), heatmap.node, dataTable.node);
  const summary = el("section", { class: "hu-words" }, caption, changes.roleText);
  const emptyMessage = el(
    "p",
    { class: "hu-empty", role: "status" },
    "No picture yet. The first one appears before the first training step.",
  );
  const body = el(
    "div",
    { class: "hu-film-body" },
    el(
      "div",
      { class: "hu-top" },
      el("div", { class: "hu-controls" }, controls.kinds, controls.node, sentenceSelector.node),
    ),
    scrubber.node,
    el("div", { class: "hu-split" }, pictures, summary, main, changes.node),
  );
  const pane = el("div", { class: "hu hu-explorer hu-film" }, emptyMessage, body);
  root.append(pane);

  function show(bytes) {
    const { header, parts } = unpack(bytes);
    film = makeFilm(header, parts);
    filmVersion += 1;
    exact = header.exact ?? 1;
    setExactNames(exact);
    const isNewFilm = !state || name !== header.name;
    if (isNewFilm) {
      name = header.name;
      state = (name && selections.get(name)) || header.start;
      cell = { row: -1, column: -1, zoom: 0 };
      pause();
    }
    redraw();
    if (isNewFilm && header.play && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  }

  function set(values) {
    for (const [name, value] of Object.entries(values)) {
      if (name in cell) cell[name] = value;
      else if (name in state) state = { ...state, [name]: value };
    }
    if ("head" in values) state = { ...state, kind: resolvedState.kind }; // the head belongs to the kind on screen
    if ("kind" in values || "probe" in values) cell = { row: -1, column: -1, zoom: 0 };
    redraw();
  }

  // Go to a frame; the last one is stored as step -1, so that the film then shows newer frames as they arrive.
  function goToFrame(index) {
    pause();
    set({ step: stepOf(index) });
  }
  const stepOf = (index) => (index >= film.steps.length - 1 ? -1 : film.steps[Math.max(index, 0)]);

  function play() {
    if (film.steps.length < 2) return;
    if (frame === film.steps.length - 1) state = { ...state, step: film.steps[0] };
    playTimer = setTimeout(next, frameDuration());
    redraw();
  }
  const frameDuration = () =>
    Math.min(Math.max(FILM_DURATION_MS / film.steps.length, FRAME_MS_RANGE[0]), FRAME_MS_RANGE[1]);

  function next() {
    state = { ...state, step: stepOf(frame + 1) };
    if (state.step === -1) return pause();
    playTimer = setTimeout(next, frameDuration());
    redraw();
  }

  function pause() {
    if (!playTimer) return;
    clearTimeout(playTimer);
    playTimer = 0;
    redraw();
  }

  function redraw() {
    if (!film || !pane.isConnected) return; // colours can only be read on the page
    const hasFrames = film.steps.length > 0 && film.probeIndices.length > 0;
    [emptyMessage.hidden, body.hidden] = [hasFrames, !hasFrames];
    if (!hasFrames) return;
    if (name) selections.set(name, state);
    frame = frameOf(film.steps, state.step);
    resolvedState = { ...PLAIN_OPTIONS, exact, ...cell, ...film.resolveState(state) };
    side = film.side(resolvedState.probe, frame);
    const theme = ctx.theme = colours(pane);
    pane.dataset.size = state.size;
    controls.draw(resolvedState, [], side.kinds);
    sentenceSelector.draw(film, resolvedState.probe);
    larger.draw();
    scrubber.draw(film, frame, resolvedState, theme, Boolean(playTimer));
    caption.setAttribute("aria-live", playTimer ? "off" : "polite");
    caption.textContent = film.caption(resolvedState, frame);
    const role = ({ layer, head }) => film.role(resolvedState, frame, layer, head);
    grid.show({
      ...sideGrid(side, [resolvedState.kind]),
      pictures: `${side.id} ${side.number} ${filmVersion} ${frame}`,
      topLayer: film.topLayer(resolvedState),
      describe: (place) => role(place).text,
      caption: (place) => shortRole(role(place), theme),
      selected: resolvedState,
      theme,
    });
    title.textContent = ctx.title();
    changes.draw(film, resolvedState, frame, theme, Boolean(playTimer));
    heatmap.draw();
    dataTable.draw();
  }

  pane.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const { target, key } = event;
    if (key === " " && !target.closest("button, select, summary, canvas")) (playTimer ? pause : play)();
    else if (key === "p" && !target.closest("select")) set({ size: state.size === "large" ? "normal" : "large" });
    else return;
    event.preventDefault();
  });
  const endResize = listenForResize(pane, redraw);

  return {
    show,
    close: () => {
      endResize();
      clearTimeout(playTimer);
      playTimer = 0;
      exportMenu.close();
      dataTable.close();
    },
  };
}

// The selector of the sentence, if there are several.
function makeSentenceSelector(choose) {
  const select = el("select", {});
  const node = el("label", { class: "hu-option hu-probe" }, el("span", {}, "Sentence"), select);
  let shownOptions = "";
  select.addEventListener("change", () => choose(Number(select.value)));
  function draw(film, chosen) {
    const texts = film.probeIndices.map((index) => [index, film.translationText(index)]);
    if (JSON.stringify(texts) !== shownOptions) {
      shownOptions = JSON.stringify(texts);
      select.replaceChildren(...texts.map(([value, text]) => el("option", { value }, text)));
    }
    select.value = String(chosen);
    node.hidden = texts.length < 2;
  }
  return { node, draw };
}
