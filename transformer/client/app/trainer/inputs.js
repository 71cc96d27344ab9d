// What the visitor types: an input to try on the model, and sentence pairs to train on.

import { el } from "../../common/base.js";

// A form that calls `onSubmit` with its text.
function textForm(attributes, before, field, label, onSubmit) {
  const node = el("form", attributes, ...before, field, el("button", { class: "hu-button" }, label));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit(field.value);
  });
  return node;
}

/** @param {(text: string) => void} onSubmit */
export function makeOwnInput(onSubmit) {
  const field = el("input", {
    type: "text",
    dir: "auto",
    translate: "no",
    "aria-label": "Your own input",
    placeholder: "your own input",
    spellcheck: "false",
    autocomplete: "off",
  });
  return textForm({ class: "hu-trainer-own" }, [], field, "Try it", onSubmit);
}

/** @param {(text: string) => void} onSubmit */
export function makePairsForm(onSubmit) {
  const note = el(
    "p",
    { class: "hu-note" },
    "One pair a line, with a tab between the sentences (two columns of a table, pasted). A header row is left out; text that is written without spaces is split into characters. The pairs stay in this tab.",
  );
  const field = el("textarea", {
    rows: 6,
    dir: "auto",
    translate: "no",
    "aria-label": "Sentence pairs",
    placeholder: "I am here.\tIch bin hier.\nYou are here.\tDu bist hier.",
  });
  return textForm(
    { class: "hu-trainer-pairs", hidden: "" },
    [note],
    field,
    "Train on these pairs",
    onSubmit,
  );
}
