// What to notice on this sentence, in a few lines; each leads to the head that it is about.

import { el } from "./base.js";

// `look(changes)` is called with what a line leads to.
/** @param {(changes: Partial<State>) => void} look */
export function makeStory(look) {
  const list = el("ul", {});
  const node = el("section", { class: "hu-story", "aria-label": "What to notice on this sentence" }, list);

  /** @param {Notice[]} notices */
  function show(notices) {
    node.hidden = !notices.length;
    list.replaceChildren(...notices.map(({ said, label, look: changes }) => {
      const button = el("button", { type: "button" }, label);
      button.addEventListener("click", () => look(changes));
      const text = said.map(([part, word]) => (word ? el("strong", {}, el("bdi", {}, part)) : part));
      return el("li", {}, ...text, " ", button);
    }));
  }

  return { node, show };
}
