// The menu of models, and of the languages into which one model can translate.

import { el } from "../../common/base.js";

// A menu of the models by their languages. A model that only links name is in it while it is chosen.
/** @param {SiteData} site */
export function modelSelect(site) {
  const node = el("select", { class: "hu-live-model", "aria-label": "Model" });
  let chosen = "";

  /** @param {string} model */
  function choose(model) {
    if (!node.children.length || chosen !== model) {
      const names = Object.keys(site.models).filter((name) => site.models[name].in_menu !== false || name === model);
      node.replaceChildren(...names.map((name) => el("option", { value: name }, site.models[name].label)));
    }
    chosen = model;
    node.value = model;
  }
  return { node, choose };
}

// The target language of a model that has several: the first token of a text selects it, so that the choice is part of
// the sentence. `change(text)` gets the text with another language.
export function languageSelect(context, change) {
  const menu = el("select", { class: "hu-live-model" });
  const node = el("label", {}, "into ", menu);
  menu.addEventListener("change", () => {
    const { rest } = splitLanguage(context.text);
    change(menu.value ? `>>${menu.value}<< ${rest}` : rest);
  });

  function draw() {
    const languages = context.loadedModel?.languages ?? [];
    node.hidden = !languages.length;
    menu.replaceChildren(
      ...[["", "(not specified)"], ...languages].map(([code, name]) => el("option", { value: code }, name)),
    );
    menu.value = splitLanguage(context.text).code;
  }
  return { node, draw };
}

/** @param {string} text */
function splitLanguage(text) {
  const [, code = "", rest] = text.match(/^(?:>>(\w+)<<)?\s*(.*)$/su);
  return { code, rest };
}
