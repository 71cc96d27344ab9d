// The list of heads worth noticing in this sentence; a button opens each.

import { button, el } from "../../common/base.js";
import { hasExactNames, headName } from "../../common/naming.js";
import { KINDS } from "../../common/head-codes.js";

// `openState(changes)` is called with the state of the explorer that shows the head.
/** @param {(changes: Partial<State>) => void} openState @param {(text: string, sentence: "s" | "t") => Node} wordOf */
export function makeNotableHeads(openState, wordOf) {
  const list = el("ul", {});
  const node = el("section", { class: "hu-callout hu-notices", "aria-label": "What to notice in this sentence" }, list);

  /** @type {Notice[]} */
  let notableHeads = [];
  let drawnKey = "";

  /** @param {Notice[]} newHeads */
  const show = (newHeads) => {
    notableHeads = newHeads;
  };

  function draw() {
    const newKey = `${hasExactNames()} ${JSON.stringify(notableHeads)}`;
    if (newKey === drawnKey) return;
    drawnKey = newKey;
    node.hidden = !notableHeads.length;
    list.replaceChildren(...notableHeads.map(({ segments, state: changes }) => {
      const name = `${KINDS[changes.kind]}, ${headName(/** @type {any} */ (changes))}`;
      const text = segments.map(([part, sentence]) => sentence ? el("strong", {}, wordOf(part, sentence)) : part);
      return el("li", {}, ...text, " ", button(name, () => openState(changes), { class: null }));
    }));
  }

  return { node, show, draw };
}
