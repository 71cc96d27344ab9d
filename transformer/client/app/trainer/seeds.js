// The comparison of a fork with the run it came from, trained several times: its verdict in a sentence, and the pairs.

import { button, download, el } from "../../common/base.js";
import { csvOf } from "../../common/csv.js";
import { changeText } from "./captions.js";
import { pairTable, successor, verdict } from "./verdict.js";

/** @typedef {import("./runs.js").Run} Run */
/** @typedef {{ text: string, table: { columns: string[], rows: string[][] } | null }} Comparison */

const RUNNING = {
  seeds: "Training the run and its fork from the start, with five seeds each …",
  orders: "Training the run and its fork on from here, with five orders of batches each …",
};

/**
 * @param {(run: Run, fromStart: boolean) => Promise<any>} compareSeeds as in runs.js
 * @param {(run: Run) => number} stepsOf
 * @param {() => void} onChange
 */
export function makeSeedComparison(compareSeeds, stepsOf, onChange) {
  let run = /** @type {Run | null} */ (null);
  /** @type {WeakMap<Run, Partial<Record<"seeds" | "orders", Comparison>>>} */
  const comparisons = new WeakMap();
  const starts = {
    seeds: button("Compare with five seeds", () => compare("seeds")),
    orders: button("Compare with five orders of batches", () => compare("orders")),
  };
  const node = el("div", { class: "hu-trainer-comparisons" });
  let [drawnRun, drawnTexts] = [null, ""];

  /** @param {"seeds" | "orders"} kind */
  async function compare(kind) {
    const forked = run;
    const store = (text, table = null) => {
      comparisons.set(forked, { ...comparisons.get(forked), [kind]: { text, table } });
      onChange();
    };
    store(RUNNING[kind]);
    try {
      const pairs = await compareSeeds(forked, kind === "seeds");
      if (!pairs) return;
      const change = changeText(forked.settings);
      const taken = forked.step ? successor(pairs, change, forked.started.settings.off) : "";
      store(`${verdict(pairs, change, stepsOf(forked), kind, forked.step)} ${taken}`.trim(), pairTable(pairs, kind));
    } catch (error) {
      store(error.message);
    }
  }

  /** @param {Run} newRun */
  function draw(newRun) {
    run = newRun;
    const known = comparisons.get(run) ?? {};
    const isFork = run.parent >= 0;
    starts.seeds.hidden = !isFork || "model" in run.settings;
    starts.orders.hidden = starts.seeds.hidden || !run.step;
    starts.orders.disabled = Boolean(known.orders);
    starts.seeds.disabled = Boolean(known.seeds);
    const texts = JSON.stringify(known);
    if (run === drawnRun && texts === drawnTexts) return;
    [drawnRun, drawnTexts] = [run, texts];
    node.replaceChildren(...Object.values(known).flatMap(comparisonNodes));
  }

  return { nodes: [el("div", { class: "hu-line" }, starts.orders, starts.seeds), node], draw };
}

/** @param {Comparison} comparison */
function comparisonNodes({ text, table }) {
  const sentence = el("p", { class: "hu-callout hu-trainer-verdict", role: "status" }, text);
  if (!table) return [sentence];
  const cells = (tag, texts) => el("tr", {}, ...texts.map((cell) => el(tag, {}, cell)));
  const pairs = el(
    "details",
    { class: "hu-trainer-pairs-shown" },
    el("summary", {}, "The pairs"),
    el(
      "table",
      {},
      el("thead", {}, cells("th", table.columns)),
      el("tbody", {}, ...table.rows.map((row) => cells("td", row))),
    ),
    button("Save the pairs (.csv)", () => download(csvOf(table), "pairs.csv")),
  );
  return [sentence, pairs];
}
