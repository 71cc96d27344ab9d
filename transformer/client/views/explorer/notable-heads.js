// The heads worth noticing in this sentence, the first above the view; a button opens each.

import { button, el } from "../../common/base.js";
import { hasExactNames, headName } from "../../common/naming.js";
import { KINDS } from "../../common/head-codes.js";

// `openState(changes)` is called with the state of the explorer that shows the head.
/** @param {(changes: Partial<State>) => void} openState @param {(text: string, sentence: "s" | "t") => Node} wordOf */
export function makeNotableHeads(openState, wordOf) {
  const first = el("p", { class: "hu-first-notice" });
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
    const [lead, ...others] = notableHeads.map(({ segments, state: changes }) => {
      const name = `${KINDS[changes.kind]}, ${headName(/** @type {any} */ (changes))}`;
      const text = segments.map(([part, sentence]) => sentence ? el("strong", {}, wordOf(part, sentence)) : part);
      return [...text, " ", button(name, () => openState(changes), { class: null })];
    });
    [first.hidden, node.hidden] = [!lead, !others.length];
    first.replaceChildren(...(lead ?? []));
    list.replaceChildren(...others.map((nodes) => el("li", {}, ...nodes)));
  }

  return { first, node, show, draw };
}
