// The last run of this browser: it is kept while it trains, and the page offers to go on with it when it is opened again.

import { button, el } from "../../common/base.js";
import { forget, keep, kept, LAST_RUN } from "./kept.js";

const KEEP_EVERY_MS = 5000;

/** @typedef {{ link: string, pairs: any, state: any, history: import("./history.js").History }} KeptRun */

/**
 * @param {(run: import("./runs.js").Run) => Promise<KeptRun>} snapshotOf
 * @param {(last: KeptRun) => void} resume
 * @param {(problem: Error) => void} onProblem
 */
export function makeLastRun(snapshotOf, resume, onProblem) {
  const node = el("p", { class: "hu-callout hu-trainer-offer", hidden: "" });
  let keptAt = 0;

  // Keep the first run from time to time until it has finished.
  async function follow(run, isFinished) {
    if (isFinished) return forget(LAST_RUN);
    if (run.state !== "training" || !run.at || performance.now() - keptAt <= KEEP_EVERY_MS) return;
    keptAt = performance.now();
    const snapshot = await snapshotOf(run).catch(() => null);
    const text = snapshot && await keep(LAST_RUN, snapshot);
    if (text) onProblem(new Error(text));
  }

  // Offer to go on with the last run, if it is the one of this link or the page has none.
  async function offer(link) {
    const last = await kept(LAST_RUN);
    if (!last?.state || last.state.step >= (last.state.description.settings.steps ?? Infinity)) return;
    if (link && last.link !== link.split("~")[0]) return;
    const goOn = button(`Go on from step ${last.state.step}`, () => {
      node.hidden = true;
      resume(last);
    });
    const dismiss = button("Forget it", () => {
      node.hidden = true;
      forget(LAST_RUN);
    });
    node.replaceChildren("This browser has kept your last run. ", goOn, " ", dismiss);
    node.hidden = false;
  }

  return { node, follow, offer };
}
