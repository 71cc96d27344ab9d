// What the sentence is compared with: another one, or another model.

import { button, el } from "../../common/base.js";
import { CHANGES, NO_CHANGES } from "./change-fields.js";
import { oneWordChanged } from "./one-word.js";
import { liveField } from "./sentence-field.js";

// The controls; `change(fields)` writes fields into the address.
export function makeComparison(context, change) {
  const { site } = context;
  const field = liveField(
    "Compare with another sentence",
    (text) => change({ other: text || null, ...(text ? { ...NO_CHANGES, view: "compare" } : {}) }),
  );
  const models = el("select", {});
  const choice = el("label", { class: "hu-live-check" }, "Compare with another model ", models);
  const stop = button("Stop comparing", () => change({ other: null, other_model: null, force: null, view: null }));
  const node = el("div", { class: "hu-live-comparison" }, field.node, el("div", { class: "hu-line" }, choice, stop));
  models.addEventListener("change", () => {
    change({ other_model: models.value || null, ...(models.value ? { ...NO_CHANGES, view: "compare" } : {}) });
  });

  // The other sentence. The view Compare begins with one word of the sentence changed.
  function other() {
    const params = context.params();
    const text = params.get("other") ?? "";
    const hasOther = text || params.get("other_model") || CHANGES.some((name) => params.get(name));
    if (hasOther || params.get("view") !== "compare") return text;
    return suggestion();
  }

  function suggestion() {
    const { languages, examples } = context.modelInfo;
    return oneWordChanged(context.text, languages[0]) || examples.find((text) => text !== context.text) || "";
  }

  function draw() {
    const params = context.params();
    const names = Object.keys(site.models).filter((name) =>
      name !== context.model && (site.models[name].in_menu !== false || name === params.get("other_model"))
    );
    choice.hidden = !names.length;
    models.replaceChildren(
      el("option", { value: "" }, "the same model"),
      ...names.map((name) => el("option", { value: name }, site.models[name].label)),
    );
    models.value = params.get("other_model") ?? "";
    stop.hidden = !["other", "other_model", "force"].some((name) => params.get(name));
    field.set(params.get("other") ?? "", { ...context.modelInfo, hint: suggestion() || context.modelInfo.hint });
  }
  return { node, draw, other };
}
