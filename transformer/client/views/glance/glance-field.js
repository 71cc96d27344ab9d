// The text field of the first page. Input is reported after a short pause, and the server's text never replaces
// what is being typed.

import { button, el, wordsNode } from "../../common/base.js";
import { fillNodes } from "../../common/sentences.js";
import { listenForText } from "../../common/text-field.js";

const MISTAKES = "This model is small, and its mistakes are the interesting part. Hard sentences:";
const BUSY_DELAY_MS = 100; // ms after the last key, while another text is being translated
const UNKNOWN = "Not in the vocabulary: {words}. The model reads “▯” (an unknown token) instead.";

// `onInput()` is called at every key, `onText()` for a new text to translate, `onDepth(name)` for another depth of the page.
// `isIdle()`: whether a text would be translated at once.
export function makeField({ onInput, onText, onDepth, isIdle }) {
  const name = el("span", { class: "hu-label" });
  const area = el("textarea", {
    rows: 1,
    spellcheck: "false",
    dir: "auto",
    translate: "no",
    autocapitalize: "sentences",
    "aria-describedby": "hu-glance-problem",
  });
  const label = el("label", { class: "hu-glance-field" }, name, area);
  const examples = el("div", {
    class: "hu-glance-examples",
    role: "group",
    "aria-label": "Sentences to try",
    translate: "no",
  });
  const mistakes = el("div", {
    class: "hu-glance-examples hu-glance-mistakes",
    role: "group",
    "aria-label": MISTAKES,
    translate: "no",
  });
  const shelf = el("div", { class: "hu-glance-shelf" }, el("p", { class: "hu-label" }, MISTAKES), mistakes);
  const depths = el("div", { class: "hu-segments hu-glance-depths", role: "group", "aria-label": "How much to show" });
  const problem = el("p", { class: "hu-glance-problem", id: "hu-glance-problem", role: "alert" });
  const node = el("div", {}, label, el("div", { class: "hu-glance-choices" }, depths, examples), shelf, problem);
  let shownExamples = "";

  const typing = listenForText(area, () => isIdle() ? 0 : BUSY_DELAY_MS, () => {
    markExample();
    onText();
  });
  area.addEventListener("input", () => {
    fitHeight();
    onInput();
  });

  function fitHeight() {
    area.style.height = "auto";
    if (area.scrollHeight) area.style.height = `${area.scrollHeight + 4}px`;
  }

  function markExample() {
    for (const example of [...examples.children, ...mistakes.children]) {
      example.setAttribute("aria-pressed", String(example.textContent === area.value));
    }
  }

  function depthButton([name, label]) {
    const open = ({ currentTarget }) => currentTarget.getAttribute("aria-pressed") === "true" || onDepth(name);
    return button(label, open, { class: null });
  }

  function exampleButton(text) {
    return button(text, () => {
      area.value = text;
      fitHeight();
      typing.report();
    });
  }

  // `fromServer`: the text was set by the server, not typed here.
  function draw(data, fromServer) {
    name.textContent = data.languages[0] ? `Your sentence, in ${data.reads}` : "Input";
    area.placeholder = data.hint;
    area.lang = examples.lang = mistakes.lang = data.languages[0];
    if (fromServer && !typing.isPending && area.value !== data.typed) area.value = data.typed;
    const allExamples = JSON.stringify([data.examples, data.mistakes]);
    if (allExamples !== shownExamples) {
      shownExamples = allExamples;
      examples.replaceChildren(...data.examples.map(exampleButton));
      mistakes.replaceChildren(...data.mistakes.map(({ text }) => exampleButton(text)));
    }
    shelf.hidden = !data.mistakes.length || data.depth !== data.depths[0][0];
    if (!depths.children.length) depths.append(...(data.depths ?? []).map(depthButton)); // once: a new button would lose the focus
    [...depths.children].forEach((depth, i) =>
      depth.setAttribute("aria-pressed", String(data.depths[i][0] === data.depth))
    );
    const words = wordsNode(data.unknown.join(", "), data.languages[0]);
    const unknownNote = data.unknown.length ? fillNodes(UNKNOWN, { words }) : [];
    problem.replaceChildren(...(data.problem ? [data.problem] : unknownNote));
    area.setAttribute("aria-invalid", String(Boolean(data.problem)));
    markExample();
    fitHeight();
  }

  return { node, area, draw, fitHeight, forgetTyped: typing.forget, close: typing.forget };
}
