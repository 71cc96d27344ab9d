// Curves of all runs over the steps: loss, accuracy and learning rate; and the tree of forks below them on the same axis.

import { button, el, svgNode } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";

const MAX_POINTS = 300;
const LENGTH_GROUPS = 5;
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 104, 46, 8, 8, 18];
const LANE = 22; // height of a run in the timeline

// At most MAX_POINTS of the points, each the mean of its neighbourhood.
export function thinned(points, limit = MAX_POINTS) {
  const size = Math.ceil(points.length / limit);
  if (size <= 1) return points;
  const result = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    result.push([part.at(-1)[0], part.reduce((sum, [, y]) => sum + y, 0) / part.length]);
  }
  return result;
}

/** @typedef {{ name: string, colour: string, isSelected: boolean, points: [number, number][] }} Curve */

// A chart with a title and its axes. `draw` takes the curves, the last step and the top of the y axis; pointing shows
// the value at a step, or at what else the x axis counts.
export function makeChart(title, unit, format, axisName = "step") {
  const plot = svgNode("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: 0 });
  const value = el("span", { class: "hu-trainer-value" });
  const node = el(
    "figure",
    { class: "hu-head hu-trainer-chart" },
    el("figcaption", {}, title, el("span", { class: "hu-trainer-unit" }, ` ${unit} `), value),
    plot,
  );
  let [curves, last, pointed] = [[], 1, -1];

  function draw(newCurves, lastStep, top) {
    [curves, last] = [newCurves, Math.max(lastStep, 1)];
    const x = (step) => LEFT + (WIDTH - LEFT - RIGHT) * step / last;
    const y = (number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(number, top) / top);
    const axis = (at, text, anchor, across) =>
      svgNode("text", { x: at, y: across, "text-anchor": anchor, class: "hu-trainer-tick" }, text);
    const lines = curves.map(({ points, colour }) =>
      svgNode("polyline", {
        points: thinned(points).map(([step, number]) => `${x(step).toFixed(1)},${y(number).toFixed(1)}`).join(" "),
        fill: "none",
        stroke: colour,
        "stroke-width": 2,
      })
    );
    const cursor = pointed < 0
      ? []
      : [svgNode("line", { x1: x(pointed), x2: x(pointed), y1: TOP, y2: HEIGHT - BOTTOM, class: "hu-trainer-cursor" })];
    plot.replaceChildren(
      svgNode("path", { d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`, class: "hu-trainer-axis" }),
      axis(LEFT - 4, format(top), "end", TOP + 8),
      axis(LEFT - 4, format(0), "end", HEIGHT - BOTTOM),
      axis(LEFT, "0", "start", HEIGHT - 4),
      axis(WIDTH - RIGHT, `${axisName} ${last}`, "end", HEIGHT - 4),
      ...lines,
      ...cursor,
    );
    const at = pointed < 0 ? Infinity : pointed;
    const values = curves.map(({ points }) => points.findLast(([step]) => step <= at)?.[1]);
    const shown = curves.findIndex(({ isSelected }) => isSelected);
    value.textContent = values[shown] === undefined
      ? ""
      : `${format(values[shown])}${pointed < 0 ? "" : ` at ${axisName} ${pointed}`}`;
    const texts = curves.flatMap(({ name }, i) => (values[i] === undefined ? [] : [`${name}: ${format(values[i])}`]));
    plot.setAttribute("aria-label", `${title} (${unit}) by ${axisName}. ${texts.join("; ") || "No values yet."}`);
  }
  const point = (step) => {
    pointed = step;
    if (curves.length) node.dispatchEvent(new CustomEvent("redraw", { bubbles: true }));
  };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    point(Math.round(Math.min(Math.max(share, 0), 1) * last));
  });
  plot.addEventListener("pointerleave", () => point(-1));
  plot.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    point(Math.min(Math.max((pointed < 0 ? last : pointed) + move * Math.max(1, Math.round(last / 100)), 0), last));
  });
  return { node, draw };
}

export const lossText = (loss) => loss.toFixed(loss < 0.1 ? 3 : 2);
export const twoDigits = (value) => String(Number(value.toPrecision(2)));

/** @typedef {import("./runs.js").Run} Run */

// Loss, right outputs and learning rate of all runs, each from its fork on.
export function makeCurves() {
  const loss = makeChart("Loss", "nats per token", lossText);
  const accuracy = makeChart("Right outputs", "share of held-out examples", wholePercent);
  const rate = makeChart("Learning rate", "step size of Adam", twoDigits);
  const lengths = makeChart("Right outputs by length", "of the input", wholePercent, "length");

  /** @param {{ run: Run, name: string, colour: string, isSelected: boolean }[]} shown */
  function draw(shown, lastStep, comparesModels) {
    const curvesOf = (pointsOf) =>
      shown.map(({ run, ...curve }) => ({ ...curve, points: pointsOf(run).filter(([step]) => step >= run.step) }));
    const greatest = (curves) =>
      curves.reduce((top, { points }) => points.reduce((highest, [, value]) => Math.max(highest, value), top), 1e-9);
    const losses = curvesOf(({ records }) => records.map((record) => [record.step, record.loss]));
    const rates = curvesOf(({ records }) => records.map((record) => [record.step, record.rate]));
    // A loss that explodes later does not flatten the others.
    loss.draw(losses, lastStep, greatest(losses.map(({ points }) => ({ points: points.slice(0, 3) }))));
    accuracy.draw(curvesOf(accuracyPoints), lastStep, 1);
    rate.draw(rates, lastStep, greatest(rates));
    lengths.node.hidden = !comparesModels;
    rate.node.hidden = comparesModels; // the same for all models
    const byLength = shown.map(({ run, ...curve }) => ({
      ...curve,
      points: /** @type {[number, number][]} */ (accuracyByLength(run).map(({ to, share }) => [to, share])),
    }));
    lengths.draw(byLength, Math.max(...byLength.map(({ points }) => points.at(-1)?.[0] ?? 0)), 1);
  }
  return { nodes: [loss.node, accuracy.node, lengths.node, rate.node], draw };
}

// The share of right outputs in the last evaluation, for groups of lengths of the input; few of each length are evaluated.
/** @param {Run} run */
export function accuracyByLength({ evaluations }) {
  const byLength = evaluations.at(-1)?.byLength ?? [];
  const size = Math.ceil((byLength.at(-1)?.length ?? 0) / LENGTH_GROUPS);
  const groupOf = ({ length }) => Math.ceil(length / size);
  return [...new Set(byLength.map(groupOf))].map((number) => {
    const entries = byLength.filter((entry) => groupOf(entry) === number);
    const sum = (name) => entries.reduce((total, entry) => total + entry[name], 0);
    return { from: (number - 1) * size + 1, to: number * size, share: sum("correct") / sum("count") };
  });
}

// Step and share of right outputs at every evaluation.
/** @param {{ evaluations: any[] }} run @returns {[number, number][]} */
export const accuracyPoints = ({ evaluations }) =>
  evaluations.map(({ step, correct, count }) => [step, correct / count]);

// The tree of forks: one lane a run, as long as it has trained. A click shows a run.
/** @param {(id: number) => void} onSelect */
export function makeTimeline(onSelect) {
  const plot = svgNode("svg", { "aria-hidden": "true" });
  const list = el("div", { class: "hu-trainer-runs", role: "group", "aria-label": "Runs" });
  const node = el(
    "figure",
    { class: "hu-head hu-trainer-timeline" },
    el("figcaption", {}, "Runs and forks"),
    plot,
    list,
  );

  /** @param {{ id: number, parent: number, step: number, at: number, name: string, state: string, colour: string }[]} runs */
  function draw(runs, selected, lastStep) {
    const x = (step) => LEFT + (WIDTH - LEFT - RIGHT) * step / Math.max(lastStep, 1);
    const lanes = new Map(runs.map(({ id }, lane) => [id, LANE * (lane + 0.5)]));
    plot.setAttribute("viewBox", `0 0 ${WIDTH} ${LANE * runs.length}`);
    plot.replaceChildren(...runs.flatMap(({ id, parent, step, at, colour }) => {
      const y = lanes.get(id);
      const fork = parent < 0 ? `M${x(0)} ${y}` : `M${x(step)} ${lanes.get(parent)}V${y}`;
      return [
        svgNode("path", {
          d: `${fork}H${x(Math.max(at, step))}`,
          fill: "none",
          stroke: colour,
          "stroke-width": id === selected ? 4 : 2,
        }),
        svgNode("circle", { cx: x(Math.max(at, step)), cy: y, r: id === selected ? 5 : 3, fill: colour }),
      ];
    }));
    if (list.childElementCount !== runs.length) {
      list.replaceChildren(
        ...runs.map(() => button("", ({ currentTarget }) => onSelect(Number(currentTarget.dataset.id)))),
      );
    }
    runs.forEach(({ id, name, state, colour }, i) => {
      const row = /** @type {HTMLElement} */ (list.children[i]);
      row.dataset.id = String(id);
      row.style.borderLeft = `6px solid ${colour}`;
      const text = `${name}: ${state}`;
      if (row.textContent !== text) row.textContent = text;
      row.setAttribute("aria-pressed", String(id === selected));
    });
  }
  return { node, draw };
}
