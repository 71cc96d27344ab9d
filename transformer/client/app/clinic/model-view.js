// The pictures of one model of a case: what it writes, its heads, and its curves. Each can be chosen as evidence.

import { button, el } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";
import { placeName } from "../../views/grids/all-heads.js";
import { accuracyPoints, lossText, makeChart, twoDigits } from "../trainer/curves.js";
import { makeChosenHeads } from "../trainer/heads.js";
import { makeBigHead, press } from "./big-head.js";
import { headOf, spaced, VIEWS } from "./evidence.js";

const CHOOSE = "hu-button hu-clinic-choose";

/** @typedef {import("./evidence.js").Mark} Mark */
/** @typedef {{ example: number, head: any, mark: Mark | null }} Selection what is drawn of every model, and what is chosen */

/**
 * @param {string} name "" if it is the only one, whose curves are then shown
 * @param {{ onMark: (mark: Mark) => void, onExample: (example: number) => void, onHead: (head: any) => void }} events
 */
export function makeModelView(name, events) {
  const outputs = makeOutputs(events);
  const heads = makeChosenHeads(events.onHead);
  let selection = /** @type {Selection | null} */ (null);
  const big = makeBigHead((part) => {
    const { example, head: { kind: view, layer, head } } = selection;
    events.onMark({ view, example, layer, head, ...part });
  });
  const charts = name ? null : makeCharts(events.onMark);
  const enlarged = el("div", { class: "hu-clinic-enlarged" }, big.node, ...(charts ? [charts.node] : []));
  const node = el(
    "section",
    { class: "hu-clinic-model", "aria-label": name || "The model" },
    ...(name ? [el("h3", {}, name)] : []),
    outputs.node,
    heads.node,
    enlarged,
  );

  /** @param {import("../trainer/runs.js").Run} run @param {string[][]} writings @param {Selection} newSelection @param {Theme} theme */
  function draw(run, writings, newSelection, theme) {
    selection = newSelection;
    const { example, head, mark } = selection;
    charts?.draw(run, mark, theme);
    outputs.draw(run.examples, writings, selection);
    const shown = run.examples[example];
    heads.node.hidden = big.node.hidden = !shown; // those of the case before, until this one has begun
    if (!shown) return;
    heads.draw(shown, theme, { selected: head });
    const isHere = mark?.view === head.kind && mark.layer === head.layer && mark.head === head.head;
    const chosen = isHere && mark.example === example ? mark : null;
    big.draw(headOf(shown, head.kind, head.layer, head.head), placeName(head, true), chosen, theme);
  }
  return { node, draw };
}

/** @param {{ onMark: (mark: Mark) => void, onExample: (example: number) => void }} events */
function makeOutputs({ onMark, onExample }) {
  const node = el("div", { class: "hu-clinic-outputs", translate: "no" });
  let key = "";

  /** @param {import("./evidence.js").Example[]} examples @param {string[][]} writings @param {Selection} selection */
  function draw(examples, writings, { example, mark }) {
    const newKey = JSON.stringify([writings, examples.map(({ src, output }) => [src, output])]);
    if (key !== newKey) {
      node.replaceChildren(...examples.map((given, index) => exampleNode(given, index, writings[index])));
    }
    key = newKey; // a button that has the focus keeps it
    [...node.children].forEach((child, index) => {
      const [show, choose] = child.querySelectorAll("button");
      press(show, index === example);
      press(choose, mark?.view === "outputs" && mark.example === index);
    });
  }

  /** @param {import("./evidence.js").Example} given @param {number} index @param {string[]} [writings] */
  function exampleNode({ src, gold, output }, index, writings) {
    const right = spaced(gold);
    const show = button(spaced(src), () => onExample(index), { class: "hu-trainer-output" });
    show.append(el("span", { class: "hu-note" }, ` should give ${right}`));
    const written = writings ?? (output ? [spaced(output)] : []);
    const lines = written.map((text) =>
      el("li", text === right ? {} : { class: "hu-trainer-wrong" }, text || "(nothing)", text === right ? " ✓" : " ✗")
    );
    const choose = button("Choose", () => onMark({ view: "outputs", example: index }), {
      class: CHOOSE,
      "aria-label": `Choose the outputs for ${spaced(src)}`,
    });
    return el("div", {}, show, el("ol", { "aria-label": "What it writes" }, ...lines), choose);
  }
  return { node, draw };
}

/** @param {(mark: Mark) => void} onMark */
function makeCharts(onMark) {
  const charts = {
    loss: makeChart("Loss", "lower is better", lossText),
    accuracy: makeChart("Right outputs", "held-out", wholePercent),
    rate: makeChart("Learning rate", "Adam", twoDigits),
    norm: makeChart("Gradient norm", "before clipping", twoDigits),
  };
  const buttons = Object.entries(charts).map(([view, chart]) => {
    const choose = button("Choose", () => onMark({ view }), { class: CHOOSE, "aria-label": `Choose ${VIEWS[view]}` });
    chart.node.append(choose);
    return /** @type {const} */ ([view, choose]);
  });
  const node = el("div", { class: "hu-clinic-charts" }, ...Object.values(charts).map((chart) => chart.node));

  /** @param {import("../trainer/runs.js").Run} run @param {Mark | null} mark @param {Theme} theme */
  function draw(run, mark, theme) {
    const last = run.started?.settings.steps ?? 1;
    const drawChart = (view, points, top) =>
      charts[view].draw([{ name: "This run", colour: theme.accent, isSelected: true, points }], last, top);
    const drawRecords = (view, name) => {
      const points = run.records.map((record) => [record.step, record[name]]);
      drawChart(view, points, Math.max(1e-9, ...points.map(([, value]) => value)));
    };
    drawRecords("loss", "loss");
    drawChart("accuracy", accuracyPoints(run), 1);
    drawRecords("rate", "rate");
    drawRecords("norm", "gradientNorm");
    for (const [view, choose] of buttons) press(choose, mark?.view === view);
  }
  return { node, draw };
}
