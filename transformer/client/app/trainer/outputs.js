// What the model writes for the examples: source, output and whether it is right. A click shows the heads of an example.

import { button, el } from "../../common/base.js";

/** @typedef {import("../../training/protocol.d.ts").Example} Example */

/** @param {(index: number) => void} onChoose */
export function makeOutputs(onChoose) {
  const node = el("div", { class: "hu-trainer-outputs", translate: "no" });

  /** @param {Example[]} examples */
  function draw(examples, chosen) {
    while (node.childElementCount > examples.length) node.lastElementChild.remove();
    while (node.childElementCount < examples.length) {
      const index = node.childElementCount;
      node.append(button("", () => onChoose(index), { class: "hu-trainer-output", dir: "auto" }));
    }
    examples.forEach((example, index) => {
      const row = node.children[index];
      row.setAttribute("aria-pressed", String(index === chosen));
      const key = `${example.src} ${example.output} ${example.correct}`; // an unchanged row is not written again
      if (row.dataset.key !== key) row.replaceChildren(...parts(example));
      row.dataset.key = key;
    });
  }
  return { node, draw };
}

/** @param {Example} example */
function parts({ src, output, gold, correct }) {
  const expected = gold && withoutEnds(gold);
  const written = withoutEnds(output ?? []).flatMap((token, i) => [
    el("span", expected && token !== expected[i] ? { class: "hu-trainer-wrong" } : {}, token),
    " ",
  ]);
  const mark = correct === null || !gold ? "" : correct ? "✓" : "✗";
  return [withoutEnds(src).join(" "), el("span", { class: "hu-note" }, " → "), ...written, el("b", {}, mark)];
}

// The tokens without start and end.
export const withoutEnds = (tokens) => tokens.filter((token) => token !== "</s>" && token !== "<s>");
