// The comparison of a fork with the run it came from, trained several times: its progress, its verdict in a sentence, and
// the pairs.

import { button, download, el } from "../../common/base.js";
import { csvOf } from "../../common/csv.js";
import { wholePercent } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";
import { changeText } from "./captions.js";
import { pairTable, successor, verdict } from "./verdict.js";

/** @typedef {import("./runs.js").Run} Run */
/** @typedef {import("./runs.js").RunningComparison} RunningComparison */
/** @typedef {"seeds" | "orders"} Kind */
/** @typedef {{ node: HTMLElement, update: () => void }} Shown */

const RUNNING = {
  seeds: "Five seeds train the run and the model {change}, from the start …",
  orders: "Five orders of batches continue the run and its fork {change} …",
};
const PROGRESS = "{done} of {count} runs trained ({share}), {seconds} s";
const PROGRESS_LEFT = "{done} of {count} runs trained ({share}), {seconds} s, about {left} s left";
const PAIRS = "The pairs: {count} runs, trained in {seconds} s";
const MIN_SHARE = 0.03; // of the steps, from which on the time left is estimated

/**
 * @param {(run: Run, fromStart: boolean) => RunningComparison} compareSeeds as in runs.js
 * @param {(run: Run) => number} stepsOf
 * @param {() => void} onChange
 */
export function makeSeedComparison(compareSeeds, stepsOf, onChange) {
  let selected = /** @type {Run | null} */ (null);
  /** @type {WeakMap<Run, Map<Kind, Shown>>} */
  const comparisons = new WeakMap();
  const starts = {
    seeds: button("Compare with five seeds", () => compare(selected, "seeds")),
    orders: button("Compare with five orders of batches", () => compare(selected, "orders")),
  };
  const node = el("div", { class: "hu-trainer-comparisons" });

  /** @param {Run} run @returns {Map<Kind, Shown>} */
  const shownOf = (run) => comparisons.get(run) ?? comparisons.set(run, new Map()).get(run);

  // Train the pairs of this fork, unless that has been done.
  /** @param {Run} forked @param {Kind} kind */
  async function compare(forked, kind) {
    const shown = shownOf(forked);
    if (shown.has(kind)) return;
    const [change, began] = [changeText(forked.settings), performance.now()];
    try {
      const running = compareSeeds(forked, kind === "seeds");
      shown.set(kind, progressView(running, fill(RUNNING[kind], { change })));
      onChange();
      const pairs = await running.pairs;
      if (!pairs) shown.delete(kind);
      else {
        const taken = forked.step ? successor(pairs, change, forked.started.settings.off) : "";
        const text = `${verdict(pairs, change, stepsOf(forked), kind, forked.step)} ${taken}`.trim();
        const summary = fill(PAIRS, { count: running.count, seconds: secondsSince(began) });
        shown.set(kind, {
          node: el("div", {}, sentence(text), pairsView(pairTable(pairs, kind), summary)),
          update() {},
        });
      }
    } catch (error) {
      shown.set(kind, { node: sentence(error.message), update() {} });
    }
    onChange();
  }

  // Show the comparisons of the selected run, or those of all runs of a race; returns whether there are any.
  /** @param {Run} run @param {Run[]} raced */
  function draw(run, raced) {
    selected = run;
    const isFork = run.parent >= 0;
    starts.seeds.hidden = !isFork;
    starts.orders.hidden = !isFork || !run.step;
    for (const [kind, start] of Object.entries(starts)) start.disabled = shownOf(run).has(/** @type {Kind} */ (kind));
    const shown = (raced.length ? raced : [run]).flatMap((each) => [...shownOf(each).values()]);
    for (const { update } of shown) update();
    const nodes = shown.map((each) => each.node);
    const isSame = nodes.length === node.childElementCount && nodes.every((each, i) => each === node.children[i]);
    if (!isSame) node.replaceChildren(...nodes); // else a press of Cancel would be lost
    return nodes.length > 0;
  }

  return {
    nodes: [el("div", { class: "hu-line" }, starts.orders, starts.seeds), node],
    draw,
    compare,
  };
}

const secondsSince = (began) => Math.round((performance.now() - began) / 1000);

const sentence = (text) => el("p", { class: "hu-callout hu-trainer-verdict", role: "status" }, text);

/** @param {RunningComparison} running @param {string} title @returns {Shown} */
function progressView(running, title) {
  const began = performance.now();
  const bar = el("progress", { max: 1, value: 0, "aria-label": title });
  const text = el("span", { class: "hu-note" });
  const node = el(
    "div",
    { class: "hu-callout hu-trainer-verdict" },
    el("p", { role: "status" }, title),
    el("div", { class: "hu-line" }, bar, button("Cancel", running.cancel), text),
  );
  return {
    node,
    update() {
      const { done, share } = running.progress();
      const seconds = secondsSince(began);
      const left = Math.ceil((performance.now() - began) / 1000 * (1 - share) / share);
      bar.setAttribute("value", String(share));
      const values = { done, count: running.count, share: wholePercent(share), seconds, left };
      text.textContent = fill(share < MIN_SHARE ? PROGRESS : PROGRESS_LEFT, values);
    },
  };
}

/** @param {{ columns: string[], rows: string[][] }} table @param {string} summary */
function pairsView(table, summary) {
  const cells = (tag, texts) => el("tr", {}, ...texts.map((cell) => el(tag, {}, cell)));
  return el(
    "details",
    { class: "hu-trainer-pairs-shown" },
    el("summary", {}, summary),
    el(
      "table",
      {},
      el("thead", {}, cells("th", table.columns)),
      el("tbody", {}, ...table.rows.map((row) => cells("td", row))),
    ),
    button("Save the pairs (.csv)", () => download(csvOf(table), "pairs.csv")),
  );
}
