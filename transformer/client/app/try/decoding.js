// How a sentence is translated: the decoding method and its settings, as fields of the address.

import { button, el } from "../../common/base.js";
import { listenForText } from "../../common/text-field.js";
import { allows } from "./address-problems.js";

const SETTINGS = {
  greedy: [],
  beam: ["beam_size", "length_penalty"],
  sample: ["temperature", "top_k", "top_p", "seed"],
  forced: [],
}; // fields of each method
const EXPLANATIONS = {
  greedy: "Chooses the most probable token at every step.",
  beam: "Keeps the most probable beginnings of a translation at every step, and chooses the best finished one.",
  sample: "Draws every token from the model's probabilities; another seed draws others.",
  forced: "Write your own translation to see how probable the model finds it.",
};
const TARGET_DELAY_MS = 250; // ms after the last key

// The method of the address with its settings, as fields of a request. Without a translation to force, it is greedy.
/** @param {SiteData} site @param {URLSearchParams} params @returns {Partial<SentenceRequest>} */
export function decodingOf(site, params) {
  const method = /** @type {keyof typeof SETTINGS} */ (methodOf(site, params));
  const target = params.get("target") ?? "";
  if (method === "greedy" || (method === "forced" && !target.trim())) return {};
  const settings = SETTINGS[method].map((name) => [name, numberOf(site.fields[name], params.get(name))]);
  return { method, ...Object.fromEntries(settings), ...(method === "forced" ? { target } : {}) };
}

const methodOf = (site, params) =>
  Object.hasOwn(site.methods, params.get("method") ?? "") ? params.get("method") : "greedy";

/** @param {AddressField} field @param {string | null} text */
const numberOf = (field, text) => Number(allows(field, text) ? text : field.default);

// The controls; `change(fields)` writes fields into the address.
export function makeDecoding(context, change) {
  const { site } = context;
  const methods = el("div", { class: "hu-segments", role: "group", "aria-label": "Decoding method" });
  for (const [method, label] of Object.entries(site.methods)) {
    methods.append(button(label, () => change({ method: method === "greedy" ? null : method }), {
      class: null,
      "data-method": method,
    }));
  }
  const settings = el("div", { class: "hu-line hu-live-settings" });
  const explanation = el("p", { class: "hu-live-note" });
  const target = el("textarea", { rows: 1, dir: "auto", spellcheck: "false", translate: "no" });
  const targetName = el("span", { class: "hu-label" });
  const targetField = el("label", { class: "hu-live-field" }, targetName, target);
  const typing = listenForText(target, () => TARGET_DELAY_MS, () => change({ target: target.value.trim() || null }));
  const node = el("div", { class: "hu-live-decoding" }, methods, targetField, settings, explanation);
  let shown = "";

  function draw() {
    const method = methodOf(site, context.params());
    for (const choice of /** @type {Iterable<HTMLElement>} */ (methods.children)) {
      choice.setAttribute("aria-pressed", String(choice.dataset.method === method));
    }
    explanation.textContent = EXPLANATIONS[method];
    targetField.hidden = method !== "forced";
    targetName.textContent = `Translation, in ${context.modelInfo.writes || "symbols"}`;
    target.lang = context.modelInfo.languages[1];
    const text = context.params().get("target") ?? "";
    if (!typing.isPending && target.value !== text) target.value = text;
    if (shown !== method) settings.replaceChildren(...SETTINGS[method].map(settingOf));
    shown = method;
    for (const input of settings.querySelectorAll("input")) {
      const value = String(numberOf(site.fields[input.name], context.params().get(input.name)));
      if (input.getRootNode().activeElement !== input) input.value = value;
    }
  }

  // A number with its label, in the bounds of its field.
  function settingOf(name) {
    const field = site.fields[name];
    const [min, max] = field.bounds;
    const input = el("input", { type: "number", name, min, max, step: field.is_integer ? 1 : 0.05 });
    input.addEventListener("change", () => {
      if (!allows(field, input.value)) input.value = String(numberOf(field, context.params().get(name)));
      change({ [name]: Number(input.value) === field.default ? null : input.value });
    });
    return el("label", { class: "hu-live-check" }, `${field.label} `, input);
  }
  return { node, draw };
}
