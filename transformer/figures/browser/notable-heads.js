// What to notice in this sentence, in a few lines; each opens the head that it describes.

import { el } from "./base.js";
import { headName, hasExactNames } from "./naming.js";
import { KINDS } from "./options.js";

// `look(changes)` is called with the state that a line opens.
/** @param {(changes: Partial<State>) => void} look */
export function makeNotableHeads(look) {
  const list = el("ul", {});
  const node = el("section", { class: "hu-notices", "aria-label": "What to notice in this sentence" }, list);

  /** @type {Notice[]} */
  let notices = [];
  let written = "";

  /** @param {Notice[]} newNotices */
  const show = (newNotices) => { notices = newNotices; };

  function draw() {
    const now = `${hasExactNames()} ${JSON.stringify(notices)}`;
    if (now === written) return;
    written = now;
    node.hidden = !notices.length;
    list.replaceChildren(...notices.map(({ segments, look: changes }) => {
      const button = el("button", { type: "button" }, `${KINDS[changes.kind]}, ${headName(/** @type {any} */ (changes))}`);
      button.addEventListener("click", () => look(changes));
      const text = segments.map(([part, word]) => (word ? el("strong", {}, el("bdi", {}, part)) : part));
      return el("li", {}, ...text, " ", button);
    }));
  }

  return { node, show, draw };
}
