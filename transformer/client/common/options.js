// The controls above a view: the kind of attention, and the options that the view uses.

import { button, el, setChildren } from "./base.js";
import { KINDS } from "./head-codes.js";
import { TERMS } from "./terms.js";

const OPTIONS = {
  word_row: {
    label: "Row of a word",
    title:
      "A word has two rows of cross-attention: that of the position that predicts it, and that of the position that reads it, one later.",
    choices: { output: "predicting position", input: "reading position" },
  },
  special: { label: "Start and end", choices: { shown: "shown", dimmed: "dimmed", hidden: "hidden" } },
  renormalise: { label: "Rows", choices: { 0: "as computed", 1: "renormalised to sum 1" } },
  combine: { label: "Heads", choices: { one: "selected head", mean: "mean", max: "maximum" } },
  scale: { label: "Colour", choices: { sqrt: "square root", linear: "linear", row: "relative to row maximum" } },
  measure: { label: "Number below each head", choices: { none: "none" } },
  order: { label: "Order", choices: { layers: "by layer", measure: "by number, descending" } },
  zoom: { label: "Zoom", choices: { 0: "all", 1: "×2", 2: "×4", 3: "×8", 4: "×16", 5: "×32", 6: "×64" } },
};

// Options that are always shown. “More tools” shows the others; an option that differs from its default stays visible,
// except the row of a word, which comes with the head.
const ALWAYS_SHOWN = ["measure", "order"];

// `set(changes)` is called with the user's changes. `kinds` is the choice of a kind, `node` has the options, and `more`
// is the button that shows all of them.
export function makeControls(set) {
  const kinds = el("div", { class: "hu-segments hu-kinds", role: "group", "aria-label": "Kind of attention" });
  const options = el("div", { class: "hu-options" });
  const toggleMore = () => set({ more: more.getAttribute("aria-expanded") === "true" ? 0 : 1 });
  const more = button("", toggleMore, { class: "hu-button hu-moretools" });
  const node = el("div", { class: "hu-controls" }, options);
  const selects = new Map();
  for (const [name, { label, title, choices }] of Object.entries(OPTIONS)) {
    const select = el("select", {}, ...optionsOf(choices));
    select.addEventListener("change", () => {
      const number = /^\d+$/.test(select.value);
      set({ [name]: number ? Number(select.value) : select.value });
    });
    selects.set(name, el("label", { class: "hu-option", title }, el("span", {}, label), select));
  }
  let drawnKinds = "";

  /** @param {State} state @param {State} defaults */
  function draw(state, viewOptions, availableKinds, defaults = state) {
    if (availableKinds.join() !== drawnKinds) {
      drawnKinds = availableKinds.join();
      kinds.replaceChildren(
        ...availableKinds.map((kind) =>
          button(KINDS[kind], () => set({ kind }), { class: null, "data-kind": kind, title: TERMS[kind] })
        ),
      );
    }
    for (const kindButton of kinds.children) {
      const isChosen = kindButton.dataset.kind === state.kind;
      kindButton.setAttribute("aria-pressed", String(isChosen));
      if (isChosen) kinds.scrollLeft = kindButton.offsetLeft - kinds.offsetLeft; // on a phone the row scrolls
    }
    kinds.hidden = availableKinds.length < 2;
    const unusable = { renormalise: state.special !== "hidden", word_row: state.kind !== "cross" || state.exact };
    const usable = viewOptions.filter((name) => !unusable[name]);
    const visible = usable.filter((name) =>
      state.more || ALWAYS_SHOWN.includes(name) || (name !== "word_row" && state[name] !== defaults[name])
    );
    node.hidden = !visible.length;
    more.setAttribute("aria-expanded", String(Boolean(state.more)));
    more.textContent = state.more ? "Fewer tools" : "More tools";
    setChildren(options, visible.map((name) => selects.get(name)));
    for (const name of visible) selects.get(name).querySelector("select").value = String(state[name]);
  }

  // Set the choices of an option, which come with the data.
  const setChoices = (name, choices) =>
    selects.get(name).querySelector("select").replaceChildren(...optionsOf(choices));

  return { kinds, node, more, draw, setChoices };
}

const optionsOf = (choices) => Object.entries(choices).map(([value, text]) => el("option", { value }, text));
