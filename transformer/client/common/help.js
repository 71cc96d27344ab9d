// The help dialog, and the keyboard shortcuts of the explorer.

import { button, el } from "./base.js";
import { KINDS } from "./head-codes.js";
import { TERMS } from "./terms.js";

const HELP_TEXTS = [
  [
    "Queries and keys",
    "In a table, rows are queries and columns are keys; lines go from a query to its keys. The stronger the colour, the greater the weight.",
  ],
  [
    "A row sums to 1",
    "The weights of a row sum to 1 over the tokens that the head may attend to; its output is the sum of their values, each multiplied by its weight.",
  ],
  ["a → b", "The decoder read a and then wrote b, so this row shows where it attended to write b."],
  [
    "start and end",
    "The special tokens <s> and </s>: one begins every translation, the other ends every sentence. Many heads give them most of their weight (attention sinks).",
  ],
  [
    "Tokens",
    "The model reads pieces of words; long or rare words are split into several tokens. The weight of a word is the sum over its tokens as keys, and their mean as queries. With “Show tokens” on, every token is shown, and ▁ marks the beginning of a word.",
  ],
  [
    "A pinned word",
    "All heads of all layers are coloured by the greatest weight between it and another word, in either direction.",
  ],
  [
    "Hatched: masked",
    "The decoder cannot attend to tokens that it has not written yet: the causal mask removes them before the softmax.",
  ],
];

// The shortcuts: [key, description, changes(state, side)]. Capital letters are described together with
// lower-case ones.
const cycle = (list, current) => list[(list.indexOf(current) + 1) % list.length];
/** @type {[string, string | null, (state: State, side: Side) => Partial<State>][]} */
const SHORTCUTS = [
  ["h", "next head; H: previous head", (state, side) => ({ head: (state.head + 1) % side.n_heads })],
  ["H", null, (state, side) => ({ head: (state.head + side.n_heads - 1) % side.n_heads })],
  ["l", "next layer; L: previous layer", (state, side) => ({ layer: (state.layer + 1) % side.depths[state.kind] })],
  ["L", null, (state, side) => ({ layer: (state.layer + side.depths[state.kind] - 1) % side.depths[state.kind] })],
  ["k", "next kind of attention", (state, side) => ({ kind: cycle(side.kinds, state.kind) })],
  ["w", "show tokens or whole words", (state) => ({ exact: 1 - state.exact })],
  [
    "s",
    "start and end shown, dimmed or hidden",
    (state) => ({ special: cycle(["shown", "dimmed", "hidden"], state.special) }),
  ],
  ["p", "larger, for a projector", (state) => ({ size: cycle(["normal", "large"], state.size) })],
];

/** @param {Context} ctx */
export function makeHelp(ctx, currentView) {
  const body = el("div", { class: "hu-help-body", tabindex: "0" });
  const close = button("Close", () => dialog.close());
  const dialog = el("dialog", { class: "hu-dialog hu-help", "aria-label": "Help" }, body, close);
  const opener = button("?", open, { "aria-label": "Help and keys" });

  function open() {
    const views = [`1 to ${ctx.views.length}`, "choose a view"];
    const general = [views, ...SHORTCUTS.filter(([, description]) => description), ["Esc", "unpin the word"], [
      "?",
      "this help",
    ]];
    body.replaceChildren(
      el("h2", {}, "How to read the picture"),
      helpTerms([...HELP_TEXTS, ...Object.entries(KINDS).map(([kind, label]) => [label, TERMS[kind]])], "dfn"),
      el("h2", {}, "Keys"),
      helpTerms(general, "kbd"),
      ...((currentView().keys || []).length
        ? [el("h2", {}, "Keys in this view"), helpTerms(currentView().keys, "kbd")]
        : []),
    );
    dialog.showModal(); // keeps the focus inside and restores it when closed
    body.scrollTop = 0;
  }
  // A click on the backdrop has the dialog itself as its target.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  return { button: opener, dialog, open };
}

const helpTerms = (entries, tag) =>
  el(
    "dl",
    {},
    ...entries.flatMap(([term, description]) => [el("dt", {}, el(tag, {}, term)), el("dd", {}, description)]),
  );

// The button for the larger size.
/** @param {Context} ctx */
export function makeLarger(ctx, label = "Larger") {
  const node = button(label, () => ctx.set({ size: cycle(["normal", "large"], ctx.state.size) }));
  return { node, draw: () => node.setAttribute("aria-pressed", String(ctx.state.size === "large")) };
}

// The button for exact names, where the page has no such switch.
/** @param {Context} ctx */
export function makeExact(ctx) {
  const title = "Show tokens, special tokens and code, and count layers and heads from 0, as in Python";
  const node = button("Show tokens", () => ctx.set({ exact: 1 - ctx.state.exact }), { title });
  return { node, draw: () => node.setAttribute("aria-pressed", String(Boolean(ctx.state.exact))) };
}

// `refocus()` is called when the focused element has disappeared.
/** @param {Context} ctx */
export function listenForKeys(frame, ctx, help, refocus) {
  frame.addEventListener("keydown", (event) => {
    if (help.dialog.open || event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea")) return;
    const { key } = event;
    const shortcut = SHORTCUTS.find(([name]) => name === key);
    if (key === "?") help.open();
    else if (key === "Escape" && ctx.state.pin) ctx.set({ pin: "" });
    else if (/^[1-9]$/.test(key) && Number(key) <= ctx.views.length) ctx.set({ view: ctx.views[Number(key) - 1] });
    else if (shortcut) ctx.set(shortcut[2](ctx.state, ctx.side));
    else return;
    event.preventDefault();
    if (!help.dialog.open && !frame.contains(frame.getRootNode().activeElement)) refocus();
  });
}
