// A translation with the tokens read and written, or the table of decoding steps: the decoder's input, the most
// probable next tokens, the chosen one. `.show(data)` takes the data of figures/steps.py.

import { el } from "../../common/base.js";
import { setExactNames } from "../../common/naming.js";
import { chip, stepTable } from "./steps.js";
import { unpackTrace } from "../../trace/packed-trace.js";
import { tokenRows, wordRows } from "../../trace/step-table.js";

// `report({ step, id })` is called to force a candidate, `report({ step })` to show a step's attention.
export function translationView(root, report) {
  let drawnKey = "";
  const actions = { force: (step, id) => report({ step, id }), showAttention: (step) => report({ step }) };
  const frame = el("div", { class: "hu hu-translation" });
  root.append(frame);

  function show(data) {
    const newKey = JSON.stringify(data);
    if (newKey === drawnKey) return; // unchanged data keep what the reader has expanded
    drawnKey = newKey;
    setExactNames(!data.words);
    frame.replaceChildren(...(data.trace ? [stepTable(tableRows(data), data.live ? actions : {})] : sentence(data)));
  }

  return { show, close: () => {} };
}

// The rows of the table of steps, from the data of figures/steps.py.
export function tableRows(data) {
  const trace = unpackTrace(data.trace, null);
  return data.words ? wordRows(trace, data.alternatives, data) : tokenRows(trace, data);
}

function sentence(data) {
  return [
    el("span", { class: "hu-label" }, "Translation"),
    el("p", { class: "hu-text", dir: "auto", lang: data.language || null, translate: "no" }, data.text),
    ...(data.words ? [] : [tokenLine("The model reads", data.source_tokens), tokenLine("and writes", data.tokens)]),
  ];
}

function tokenLine(label, tokens) {
  return el(
    "p",
    { class: "hu-line hu-pieces" },
    el("span", { class: "hu-label" }, label),
    ...tokens.map(chip),
  );
}
