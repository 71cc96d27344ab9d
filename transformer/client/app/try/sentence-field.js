// A field for another sentence.

import { el } from "../../common/base.js";
import { listenForText } from "../../common/text-field.js";

const DELAY_MS = 250; // ms after the last key

// `onText` is called with its text after a short pause.
/** @param {string} label @param {(text: string) => void} onText */
export function liveField(label, onText) {
  const area = el("textarea", { rows: 1, spellcheck: "false", dir: "auto", translate: "no" });
  const name = el("span", { class: "hu-label" }, label);
  const node = el("label", { class: "hu-live-field" }, name, area);
  const typing = listenForText(area, () => DELAY_MS, () => onText(area.value.trim()));
  return {
    node,
    set(text, { reads, languages, hint }) {
      name.textContent = languages[0] ? `${label}, in ${reads}` : label;
      area.placeholder = hint;
      area.lang = languages[0];
      if (!typing.isPending && area.value !== text) area.value = text;
    },
  };
}
