// The settings of a run as a form. A change begins a new run, or forks the selected one.

import { el } from "../../common/base.js";
import { CHANGEABLE } from "../../training/settings.js";
import { TASKS } from "../../training/tasks.js";

const OWN_PAIRS = "Your own sentence pairs";

/** @param {string} task */
export const titleOf = (task) => TASKS[task]?.title ?? OWN_PAIRS;
export const MODEL_NAMES = {
  transformer: "Transformer",
  gru_attention: "GRU with attention",
  gru: "GRU without attention",
};
export const SCORE_NAMES = { scaled_dot: "q·k / √d_k", dot: "q·k", additive: "v·tanh(q + k)" };
const KNOBS = [
  { name: "model", label: "model", values: Object.keys(MODEL_NAMES), texts: MODEL_NAMES },
  { name: "n_layers", label: "layers", values: [1, 2, 3, 4] },
  { name: "n_heads", label: "heads", values: [1, 2, 4, 8] },
  { name: "d_model", label: "d_model", values: [32, 64, 96, 128] },
  { name: "positions", label: "positions", values: ["sinusoidal", "learned", "none"] },
  { name: "score", label: "score", values: Object.keys(SCORE_NAMES), texts: SCORE_NAMES },
  { name: "causal", label: "decoder mask", values: [true, false], texts: { true: "yes", false: "no" } },
  { name: "seed", label: "seed", values: [1, 2, 3, 4, 5] },
  { name: "learning_rate", label: "learning rate", values: [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1], more: true },
  { name: "warmup", label: "warm-up (steps)", values: [1, 50, 100, 300, 1000], more: true },
  { name: "steps", label: "steps", values: [300, 500, 800, 1500, 3000], more: true },
  { name: "batch", label: "sequences a step", values: [4, 8, 16, 32, 64], more: true },
  { name: "dropout", label: "dropout", values: [0, 0.1, 0.3], more: true },
  { name: "label_smoothing", label: "label smoothing", values: [0, 0.1], more: true },
];

const TRANSFORMER_ONLY = ["n_layers", "n_heads", "positions", "score", "causal", "dropout"];

/**
 * @param {(settings: any) => void} onChange called with the changed setting, { seed: 3 }
 * @param {(forks: boolean) => void} onMode
 */
export function makeKnobs(onChange, onMode) {
  const restart = el("input", { type: "radio", name: "hu-trainer-mode", checked: "" });
  const fork = el("input", { type: "radio", name: "hu-trainer-mode" });
  const mode = el(
    "fieldset",
    { class: "hu-trainer-mode" },
    el("legend", {}, "A change of a setting"),
    el("label", {}, restart, " trains from the start"),
    el("label", {}, fork, " forks the selected run here"),
  );
  const task = choice(
    "task",
    "Task",
    [...Object.keys(TASKS), "pairs"],
    Object.fromEntries([...Object.keys(TASKS), "pairs"].map((name) => [name, titleOf(name)])),
  );
  const knobs = KNOBS.map((knob) => ({ ...knob, ...choice(knob.name, knob.label, knob.values, knob.texts) }));
  const options = el("div", { class: "hu-trainer-options" });
  const more = el(
    "details",
    {},
    el("summary", {}, "More settings"),
    ...knobs.filter(({ more: isMore }) => isMore).map(({ row }) => row),
    options,
  );
  const node = el(
    "div",
    { class: "hu-trainer-knobs" },
    ...knobs.filter(({ more: isMore }) => !isMore).map(({ row }) => row),
    more,
    mode,
  );
  let [shownTask, settings] = ["", null];

  for (const input of [restart, fork]) {
    input.addEventListener("change", () => {
      update();
      onMode(fork.checked);
    });
  }

  function choice(name, label, values, texts = {}) {
    const select = el("select", { "aria-label": label }, ...values.map((value) => option(value, texts)));
    const row = el("label", { class: "hu-trainer-knob" }, el("span", {}, label), select);
    select.addEventListener("change", () => {
      const value = values.find((candidate) => String(candidate) === select.value);
      onChange({ [name]: value ?? Number(select.value) });
    });
    return { name, select, row, texts };
  }

  function update() {
    for (const { name, select } of knobs) {
      const isUnused = settings && settings.model !== "transformer" && TRANSFORMER_ONLY.includes(name);
      select.disabled = isUnused || fork.checked && !CHANGEABLE.includes(name);
    }
    task.select.disabled = fork.checked;
  }

  // Show the settings of the selected run; a value that is not among the choices becomes one.
  function show(newSettings) {
    settings = newSettings;
    for (const { name, select, texts } of [...knobs, task]) {
      const value = String(settings[name]);
      if (![...select.options].some((entry) => entry.value === value)) select.append(option(value, texts));
      if (select.value !== value) select.value = value;
    }
    if (shownTask !== settings.task) buildOptions();
    shownTask = settings.task;
    for (const input of options.querySelectorAll("input")) input.value = String(settings.options[input.name]);
    update();
  }

  function buildOptions() {
    options.replaceChildren(
      ...Object.entries(TASKS[settings.task]?.options ?? {}).map(([name, [least, most]]) => {
        const input = el("input", { type: "number", name, min: least, max: most, step: 1 });
        input.addEventListener(
          "change",
          () => onChange({ options: { ...settings.options, [name]: Number(input.value) } }),
        );
        return el("label", { class: "hu-trainer-knob" }, el("span", {}, name.replaceAll("_", " ")), input);
      }),
    );
  }
  return {
    node,
    task: task.row,
    show,
    get forks() {
      return fork.checked;
    },
  };
}

const option = (value, texts) => el("option", { value: String(value) }, texts[value] ?? String(value));
