// The pictures of a case: what the model writes, its curves, and its heads. Each can be marked as evidence.

import { button, colours, el } from "../../common/base.js";
import { placeName } from "../../views/grids/all-heads.js";
import { accuracyPoints, lossText, makeChart, twoDigits } from "../trainer/curves.js";
import { makeChosenHeads } from "../trainer/heads.js";
import { wholePercent } from "../../common/numbers.js";
import { withoutEnds } from "../trainer/outputs.js";
import { makeBigHead } from "./big-head.js";
import { headOf } from "./evidence.js";

const FIRST_HEAD = { kind: /** @type {Kind} */ ("cross"), layer: 0, head: 0 };
const MARK = "hu-button hu-clinic-mark";
const spaced = (tokens) => withoutEnds(tokens).join(" ");

/** @param {(mark: import("./evidence.js").Mark, text: string) => void} onMark @param {() => void} onChange */
export function makeViews(onMark, onChange) {
  const charts = {
    loss: makeChart("Loss", "lower is better", lossText),
    accuracy: makeChart("Right outputs", "held-out", wholePercent),
    rate: makeChart("Learning rate", "Adam", twoDigits),
    norm: makeChart("Gradient norm", "before clipping", twoDigits),
  };
  const names = { loss: "loss", accuracy: "right outputs", rate: "learning rate", norm: "gradient norm" };
  const chartNodes = Object.entries(charts).map(([view, chart]) => {
    const text = `the curve of the ${names[view]}`;
    chart.node.append(
      button("Mark this curve", () => onMark({ view }, text), { class: MARK, "aria-label": `Mark ${text}` }),
    );
    return chart.node;
  });
  const outputs = el("div", { class: "hu-clinic-outputs" });
  const heads = makeChosenHeads((head) => {
    [chosen, marked] = [head, null];
    onChange();
  });
  const big = makeBigHead((row, column) => {
    const { kind: view, layer, head } = chosen;
    marked = [row, column];
    const text = `${placeName(chosen, true)}, row ${row + 1}, column ${column + 1}`;
    onMark({ view, example, layer, head, row, column }, text);
    onChange();
  });
  let [example, chosen, outputsKey] = [1, FIRST_HEAD, ""];
  /** @type {[number, number] | null} */
  let marked = null;

  function reset() {
    [example, chosen, marked, outputsKey] = [1, FIRST_HEAD, null, ""];
  }

  /** @param {import("../trainer/runs.js").Run} run @param {string[][]} writings */
  function draw(run, writings) {
    const theme = colours(node);
    const curve = (points) => [{ name: "This run", colour: theme.accent, isSelected: true, points }];
    const last = run.started?.settings.steps ?? 1;
    const drawChart = (view, points, top) =>
      charts[view].draw(curve(points), last, top ?? Math.max(1e-9, ...points.map(([, value]) => value)));
    const pointsOf = (name) => run.records.map((record) => [record.step, record[name]]);
    drawChart("loss", pointsOf("loss"));
    drawChart("accuracy", accuracyPoints(run), 1);
    drawChart("rate", pointsOf("rate"));
    drawChart("norm", pointsOf("gradientNorm"));
    drawOutputs(run, writings);
    const shown = run.examples[example];
    headPictures.hidden = !shown; // those of the case before, until this one has begun
    if (!shown) return;
    heads.draw(shown, theme, { selected: chosen });
    const title = `${placeName(chosen, true)}: row = query, column = key`;
    big.draw(headOf(shown, chosen.kind, chosen.layer, chosen.head), title, marked, theme);
  }

  function drawOutputs({ examples }, writings) {
    const key = JSON.stringify([example, writings, examples.map(({ src, output }) => [src, output])]);
    if (key === outputsKey) return; // so that a button that has the focus keeps it
    outputsKey = key;
    outputs.replaceChildren(...examples.map(({ src, output, gold }, index) => {
      const show = button(spaced(src), () => {
        [example, marked] = [index, null];
        onChange();
      }, { class: "hu-trainer-output", "aria-pressed": String(index === example) });
      show.append(el("span", { class: "hu-note" }, ` → ${spaced(gold)}`));
      const text = `the outputs for ${spaced(src)}`;
      const mark = button("Mark these outputs", () => onMark({ view: "outputs", output: index }, text), {
        class: MARK,
        "aria-label": `Mark ${text}`,
      });
      const written = writings[index] ?? (output ? [spaced(output)] : []);
      const right = spaced(gold);
      const lines = written.map((text) =>
        el("li", text === right ? {} : { class: "hu-trainer-wrong" }, text || "(nothing)", text === right ? " ✓" : " ✗")
      );
      return el("div", {}, show, el("ol", { "aria-label": "What it writes" }, ...lines), mark);
    }));
  }

  const headPictures = el("div", { class: "hu-clinic-heads" }, heads.node, big.node);
  const node = el(
    "div",
    { class: "hu-clinic-views" },
    el("h3", {}, "Input → right output, and what it writes, three times"),
    outputs,
    el("h3", {}, "Curves"),
    el("div", { class: "hu-clinic-charts" }, ...chartNodes),
    el("h3", {}, "Heads"),
    el("p", { class: "hu-note" }, "Choose a head to enlarge it, and an input above to see its heads."),
    headPictures,
  );
  return { node, draw, reset };
}
