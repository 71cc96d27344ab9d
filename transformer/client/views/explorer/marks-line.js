// The line above a view that writes the weights of the marked cells, which a lesson speaks of.

import { button, el } from "../../common/base.js";
import { markSentences } from "../../trace/marks.js";

/** @param {() => void} clear removes the marks */
export function makeMarks(clear) {
  const list = el("ul", { class: "hu-marks", "aria-label": "Marked cells" });
  const node = el("div", { class: "hu-marks-line" }, list, button("Unmark", clear));

  // `m` is the table that the view draws, null if it draws none.
  /** @param {Matrix | null} m @param {State} state */
  function draw(m, { marks }) {
    const sentences = m && marks ? markSentences(m, marks) : [];
    node.hidden = !sentences.length;
    list.replaceChildren(...sentences.map((sentence) => el("li", {}, sentence)));
  }
  return { node, draw };
}
