// The film of a run: the attention of its examples at earlier steps, behind a slider.

import { el } from "../../common/base.js";

const MAX_FRAMES = 240; // a longer run keeps every second one

/** @typedef {import("./runs.js").Run} Run */

/** @param {() => void} onChange called when the slider shows another step */
export function makeRunFilm(onChange) {
  const slider = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Film: training step" });
  const stepText = el("span", { class: "hu-note" });
  const node = el("label", { class: "hu-trainer-film" }, "Film ", slider, stepText);
  /** @type {WeakMap<Run, { step: number, examples: any[] }[]>} */
  const framesOfRuns = new WeakMap();
  let shown = -1; // the number of the frame; −1 for the newest

  slider.addEventListener("input", () => {
    shown = Number(slider.value) >= Number(slider.max) ? -1 : Number(slider.value);
    onChange();
  });

  /** @param {Run} run */
  const framesOf = (run) => framesOfRuns.get(run) ?? framesOfRuns.set(run, []).get(run);

  /** @param {Run} run @param {{ step: number, examples: any[] }} progress */
  function keep(run, { step, examples }) {
    const frames = framesOf(run);
    frames.push({ step, examples });
    if (frames.length > MAX_FRAMES) {
      framesOfRuns.set(
        run,
        frames.filter((_, i) => i % 2 === 0 || i === frames.length - 1),
      );
    }
  }

  /** @param {Run} run */
  function draw(run) {
    const frames = framesOf(run);
    slider.max = String(Math.max(frames.length - 1, 0));
    if (shown < 0) slider.value = slider.max;
    stepText.textContent = frames.length ? `step ${(frames[shown] ?? frames.at(-1)).step}` : "";
  }

  return {
    node,
    draw,
    keep,
    framesOf,
    /** @param {Run} run @param {{ step: number, examples: any[] }[]} frames of a run that is opened again */
    restore: (run, frames) => framesOfRuns.set(run, [...frames]),
    // The examples of a run at the step that the slider shows.
    examplesOf: (run) => (shown >= 0 ? framesOf(run)[shown]?.examples : run.examples) ?? [],
    showNewest: () => {
      shown = -1;
    },
  };
}
