// The film of connections: the strongest edges between heads at one training step, a slider over the steps, and a
// scatter plot of estimated scores and measured effects. `.show(data)` takes the data of figures/connections.py.

import { colours, el } from "./base.js";
import { inputColour } from "./connections-svg.js";
import { drawGraph, edgeName, graphLayout } from "./connections-graph.js";
import { drawScatter } from "./connections-scatter.js";
import { makeLarger } from "./help.js";
import { setExactNames } from "./naming.js";
import { numberText } from "./numbers.js";

const STEP_MS_RANGE = [250, 700]; // minimum and maximum ms per step
const FILM_MS = 9000; // ms of the whole film
const INPUT_TEXTS = ["query", "key", "value", "all it reads"];
const selectedSteps = new Map(); // the selected step by the name of the run, while the page is open

export function connectionsView(root) {
  let data = null;
  let state = { size: "normal" };
  let [frame, selected, playTimer, redrawRequest, layout] = [0, -1, 0, 0, null];

  const ctx = /** @type {any} */ ({
    set: (changed) => { state = { ...state, ...changed }; redraw(); },
    get state() { return state; },
  });
  const larger = makeLarger(ctx, "Larger graph");
  const play = el("button", { type: "button", class: "hu-button hu-play" }, "Play");
  const step = el("strong", { class: "hu-step" });
  const note = el("span", { class: "hu-step-note" });
  const range = el("input", { type: "range", min: 0, step: 1, "aria-label": "Step of training of the connections" });
  const bars = el("div", { class: "hu-edge-bars", "aria-hidden": "true" });
  const stepControls = el("section", { class: "hu-scrub", "aria-label": "Steps of training of the connections" },
    el("div", { class: "hu-scrub-line" }, play, step, note, el("div", { class: "hu-tools" }, larger.node)),
    el("div", { class: "hu-track-place" }, bars, range));
  const caption = el("p", { class: "hu-caption", role: "status" });
  const graph = el("div", { class: "hu-edge-graph" });
  const legend = el("p", { class: "hu-edge-legend" });
  const detail = el("p", { class: "hu-edge-detail", role: "status" });
  const scatter = el("div", { class: "hu-edge-scatter" });
  const agreement = el("p", { class: "hu-note" });
  const rows = el("tbody", {});
  const table = el("details", { class: "hu-edge-list" }, el("summary", {}, "All drawn connections"),
    el("div", { class: "hu-edge-table" }, el("table", { class: "hu-table hu-compact" },
      el("thead", {}, el("tr", {}, ...["From", "To", "Input", "Score", "Effect"].map((name) => el("th", { scope: "col" }, name)))), rows)));
  const empty = el("p", { class: "hu-empty", role: "status" }, "No connections yet. Compute them for a step first.");
  const content = el("div", {}, stepControls, caption,
    el("div", { class: "hu-edge-split" },
      el("section", { "aria-label": "Graph of connections" }, graph, legend, detail),
      el("section", { "aria-label": "Score and effect" }, el("h3", { class: "hu-title" }, "Score against effect"), scatter, agreement, table)));
  const pane = el("div", { class: "hu hu-explorer hu-film hu-connections" }, empty, content);
  root.append(pane);

  play.addEventListener("click", () => (playTimer ? pause() : start()));
  range.addEventListener("input", () => {
    const to = Number(range.value); // read it before `pause` redraws, which resets the slider
    pause();
    goToFrame(to);
  });
  stepControls.addEventListener("keydown", (event) => {
    if (event.target === range) return; // it handles its own keys
    const to = { ArrowLeft: frame - 1, ArrowRight: frame + 1, Home: 0, End: data.frames.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pause();
    goToFrame(to);
  });

  function show(next) {
    const isNewRun = !data || data.name !== next.name || !data.frames.length;
    data = withNamedFields(next);
    setExactNames(data.exact);
    layout = graphLayout(data);
    const last = Math.max(data.frames.length - 1, 0);
    if (isNewRun) {
      pause();
      const savedFrame = data.frames.findIndex((item) => item.step === selectedSteps.get(data.name));
      frame = savedFrame < 0 ? last : savedFrame;
    }
    frame = Math.min(frame, last);
    redraw();
  }

  function goToFrame(index) {
    frame = Math.min(Math.max(index, 0), data.frames.length - 1);
    selected = -1;
    if (data.name) selectedSteps.set(data.name, data.frames[frame].step);
    redraw();
  }

  function start() {
    if (data.frames.length < 2) return;
    if (frame === data.frames.length - 1) goToFrame(0);
    const stepMs = Math.min(Math.max(FILM_MS / data.frames.length, STEP_MS_RANGE[0]), STEP_MS_RANGE[1]);
    const next = () => {
      goToFrame(frame + 1);
      if (frame === data.frames.length - 1) return pause();
      playTimer = setTimeout(next, stepMs);
    };
    playTimer = setTimeout(next, stepMs);
    redraw();
  }

  function pause() {
    clearTimeout(playTimer);
    playTimer = 0;
    redraw();
  }

  function select(edge) {
    selected = edge;
    redraw();
  }

  function redraw() {
    if (!data || !pane.isConnected) return; // colours can only be read on the page
    const hasFrames = data.frames.length > 0;
    [empty.hidden, content.hidden] = [hasFrames, !hasFrames];
    pane.dataset.size = state.size;
    if (!hasFrames) return;
    const theme = colours(pane);
    const current = data.frames[frame];
    larger.draw();
    play.textContent = playTimer ? "Pause" : "Play";
    play.disabled = data.frames.length < 2;
    step.textContent = `Step ${current.step.toLocaleString("en")}`;
    note.textContent = `picture ${frame + 1} of ${data.frames.length} · bars: token accuracy`;
    [range.max, range.value, range.disabled] = [data.frames.length - 1, frame, data.frames.length < 2];
    range.setAttribute("aria-valuetext", `step ${current.step}`);
    bars.replaceChildren(...data.frames.map((item, i) => {
      const bar = el("span", { "data-now": Number(i === frame), title: `Step ${item.step}: ${sharePercent(item.accuracy)} correct` });
      bar.style.height = `${Math.max(100 * item.accuracy, 3)}%`;
      return bar;
    }));
    caption.setAttribute("aria-live", playTimer ? "off" : "polite");
    caption.textContent = stepCaption(data, current);
    drawGraph(graph, data, layout, current, theme, { selected, select });
    legend.replaceChildren(...inputLegend(theme));
    detail.textContent = selected < 0 || !current.edges[selected]
      ? "Point at a connection to read its score and its effect."
      : `${edgeName(data, current.edges[selected])}: score ${numberText(current.edges[selected].score, 3)}, effect ${numberText(current.edges[selected].effect, 3)} nats.`;
    drawScatter(scatter, current, theme, { selected, select, title: (edge) => edgeName(data, edge) });
    agreement.textContent = rankAgreement(current);
    rows.replaceChildren(...current.edges.map((edge, i) => tableRow(edge, i)));
  }

  function tableRow(edge, i) {
    const button = el("button", { type: "button" }, layout.names[edge.from]);
    button.addEventListener("click", () => {
      select(i);
      rows.children[i].querySelector("button").focus({ preventScroll: true }); // the rows are new
    });
    return el("tr", { "data-selected": Number(i === selected) }, el("td", {}, button), el("td", {}, layout.names[edge.to]),
      el("td", {}, INPUT_TEXTS[edge.input]), el("td", {}, numberText(edge.score, 3)), el("td", {}, numberText(edge.effect, 3)));
  }

  const resized = new ResizeObserver(() => {
    cancelAnimationFrame(redrawRequest);
    redrawRequest = requestAnimationFrame(redraw);
  });
  resized.observe(pane);
  return {
    show,
    close: () => {
      resized.disconnect();
      cancelAnimationFrame(redrawRequest);
      clearTimeout(playTimer);
      playTimer = 0;
    },
  };
}

// The data with edges as objects instead of lists.
const withNamedFields = (packed) => ({
  ...packed,
  frames: packed.frames.map((frame) => ({ ...frame, edges: frame.edges.map(([from, to, input, score, effect]) => ({ from, to, input, score, effect })) })),
});

const sharePercent = (share) => `${Math.round(100 * share)}%`;

function stepCaption(data, current) {
  const strongest = current.edges.reduce((best, edge) => (!best || edge.effect > best.effect ? edge : best), null);
  const accuracyText = `The correct token is the most probable one at ${sharePercent(current.accuracy)} of the positions.`;
  return strongest && strongest.effect > 0.05
    ? `${accuracyText} Strongest connection: ${edgeName(data, strongest)}, effect ${numberText(strongest.effect, 2)} nats.`
    : `${accuracyText} No connection changes the output by more than 0.05 nats yet.`;
}

function rankAgreement(current) {
  const count = `the ${current.edges.length} drawn of ${current.total.toLocaleString("en")} connections`;
  const coefficient = (rho) => (rho === null ? "not defined" : rho.toFixed(2).replace("-", "−"));
  return current.rho === null
    ? `Too few connections for a rank correlation over ${count}.`
    : `Spearman's rank correlation of score and effect over ${count}: ${coefficient(current.rho)}, of their absolute values: ${coefficient(current.rho_absolute)}. On the line, the estimate is exact.`;
}

function inputLegend(theme) {
  const legendEntry = (text, colour, dashed) => {
    const line = el("span", { class: "hu-edge-mark", "aria-hidden": "true" });
    line.style.borderTop = `4px ${dashed ? "dashed" : "solid"} ${colour}`;
    return el("span", {}, line, text);
  };
  const inputs = ["to a query", "to a key", "to a value", "to a feed-forward network or the output"];
  return [...inputs.map((text, i) => legendEntry(text, inputColour(i, theme), false)), legendEntry("dashed: makes the output worse", theme.muted, true)];
}
