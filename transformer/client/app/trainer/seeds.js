// The comparison of a fork with the run it came from, over several seeds, and what it shows in a sentence.

import { button, el } from "../../common/base.js";
import { changeText } from "./captions.js";
import { successor, verdict } from "./verdict.js";

/** @typedef {import("./runs.js").Run} Run */

/**
 * @param {(run: Run) => Promise<any>} compareSeeds as in runs.js
 * @param {(run: Run) => number} stepsOf
 * @param {() => void} onChange
 */
export function makeSeedComparison(compareSeeds, stepsOf, onChange) {
  let run = /** @type {Run | null} */ (null);
  const sentences = new WeakMap(); // by the run
  const start = button("Compare with five seeds", compare);
  const text = el("p", { class: "hu-callout hu-trainer-verdict", role: "status" });

  async function compare() {
    const forked = run;
    sentences.set(forked, "Training the run and its fork with five seeds each …");
    onChange();
    const outcomes = await compareSeeds(forked);
    if (!outcomes) return;
    const change = changeText(forked.settings);
    sentences.set(
      forked,
      `${verdict(outcomes, change, stepsOf(forked))} ${forked.step ? successor(outcomes, change) : ""}`.trim(),
    );
    onChange();
  }

  /** @param {Run} newRun */
  function draw(newRun) {
    run = newRun;
    start.hidden = run.parent < 0 || "model" in run.settings;
    start.disabled = sentences.has(run);
    text.textContent = sentences.get(run) ?? "";
  }

  return { nodes: [start, text], draw };
}
