// The buttons that pause, step and restart the runs, and a line about the selected one.

import { button, el } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";

const SPEEDS = { "60 steps a second": 60, "as fast as possible": 0, "10 steps a second": 10, "2 steps a second": 2 };

/** @param {any} runs of makeRuns @param {() => void} onChange @param {() => void} restart */
export function makeControls(runs, onChange, restart) {
  const play = button("Pause", () => {
    if (runs.paused) runs.resume();
    else runs.pause();
    onChange();
  }, { class: "hu-button hu-trainer-play" });
  const step = button("One step", () => {
    runs.step();
    onChange();
  });
  const speed = el("select", { "aria-label": "Speed" }, ...Object.keys(SPEEDS).map((name) => el("option", {}, name)));
  const setSpeed = () => runs.setSpeed(SPEEDS[speed.value]);
  speed.addEventListener("change", setSpeed);
  setSpeed();
  const status = el("p", { class: "hu-trainer-status", role: "status" });

  function draw(run) {
    play.textContent = runs.paused ? "Play" : "Pause";
    const { visible } = runs;
    const isOver = visible.length > 0 &&
      visible.every(({ state }) => ["finished", "diverged", "problem"].includes(state));
    play.disabled = step.disabled = isOver;
    if (run) status.textContent = statusOf(run);
  }
  const focus = () => play.focus({ preventScroll: true });
  return { focus, nodes: [play, step, button("Start again", restart), speed], status, draw };
}

function statusOf({ at, records, evaluations }) {
  const [record, evaluation] = [records.at(-1), evaluations.at(-1)];
  const parts = [`step ${at}`];
  if (record) parts.push(`loss ${record.loss.toFixed(2)}`);
  if (evaluation) parts.push(`${wholePercent(evaluation.correct / evaluation.count)} of outputs right`);
  return parts.join(" · ");
}
