// A translation with the tokens read and written, or the table of decoding steps: the decoder's input, the most
// probable next tokens, the chosen one. `.show(data)` takes the data of figures/steps.py.

import { el, tokenText } from "../common/base.js";
import { hasExactNames, setExactNames } from "../common/naming.js";
import { percentText } from "../common/numbers.js";
import { unpackTrace } from "../trace/packed-trace.js";
import { tokenRows, wordRows } from "../trace/step-table.js";

const FIRST_CANDIDATES = 3; // candidates of a step until the reader expands it
const MAX_INPUT_TOKENS = 9; // maximum tokens of the decoder's input, the last ones

// `report({ step, id })` is called to force a candidate, `report({ step })` to show a step's attention.
export function translationView(root, report) {
  let drawnKey = "";
  const frame = el("div", { class: "hu hu-translation" });
  root.append(frame);

  function show(data) {
    const newKey = JSON.stringify(data);
    if (newKey === drawnKey) return; // unchanged data keep what the reader has expanded
    drawnKey = newKey;
    setExactNames(!data.words);
    frame.replaceChildren(...(data.trace ? [stepTable(tableRows(data), data.live ? report : null)] : sentence(data)));
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
    el("p", { class: "hu-text", dir: "auto", lang: data.language || null }, data.text),
    ...(data.words ? [] : [tokenLine("The model reads", data.source_tokens), tokenLine("and writes", data.tokens)]),
  ];
}

function tokenLine(label, tokens) {
  return el(
    "p",
    { class: "hu-pieces" },
    el("span", { class: "hu-label" }, label),
    ...tokens.map(chip),
  );
}

const chip = (text) => el("span", { class: "hu-chip" }, tokenText(text));

function stepTable(steps, report) {
  const body = el("tbody");
  const maxCandidates = Math.max(...steps.map((step) => step.candidates.length));
  const toggle = el("button", { type: "button", class: "hu-more", "aria-expanded": "false" });
  const fill = (count) => {
    toggle.textContent = count > FIRST_CANDIDATES ? "fewer candidates" : `all ${maxCandidates} candidates`;
    toggle.setAttribute("aria-expanded", String(count > FIRST_CANDIDATES));
    body.replaceChildren(...steps.map((step) => stepRow(step, count, report)));
  };
  toggle.addEventListener(
    "click",
    () => fill(toggle.getAttribute("aria-expanded") === "true" ? FIRST_CANDIDATES : maxCandidates),
  );
  fill(FIRST_CANDIDATES);
  const names = hasExactNames() ? "Most probable next tokens" : "Alternatives";
  const canForce = report && steps.some((step) => step.canForce);
  const next = canForce ? `${names}: click one to continue from it` : names;
  const headings = ["Step", "Decoder input", next, "Chosen"];
  const row = el("tr", {}, ...headings.map((text) => el("th", { scope: "col" }, text)));
  if (maxCandidates > FIRST_CANDIDATES) row.children[2].append(" ", toggle);
  return el("table", { class: "hu-steps" }, el("thead", {}, row), body);
}

function stepRow(step, count, report) {
  const listed = step.candidates.slice(0, count);
  const isChosen = (candidate) => candidate.id === step.chosen.id && candidate.step === step.chosen.step;
  const force = report && step.canForce &&
    ((candidate) => report({ step: candidate.step ?? step.first, id: candidate.id }));
  const rows = listed.map((candidate) => candidateBar(candidate, isChosen(candidate), force));
  if (!listed.some(isChosen)) rows.push(candidateBar(step.chosen, true, force));
  const input = step.input.slice(-MAX_INPUT_TOKENS).map(chip);
  if (step.input.length > MAX_INPUT_TOKENS) {
    const omitted = step.input.length - MAX_INPUT_TOKENS;
    input.unshift(chip(step.input[0]), el("span", { class: "hu-label" }, omitted > 1 ? `… ${omitted - 1} more …` : ""));
  }
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, String(step.step)),
    el("td", { class: "hu-input" }, ...input),
    el("td", { class: "hu-candidates" }, ...rows),
    el(
      "td",
      { class: "hu-chosen" },
      chip(step.chosen.token),
      ...notesOf(step),
      report ? attentionButton(step, report) : null,
    ),
  );
}

// Notes on the chosen token or word. The percentage of a word may be that of another token than the one from the tail.
export function notesOf({ last, forced, tail, tokens }) {
  const share = tail === undefined ? "" : percentText(tail);
  const notes = [
    forced ? "you chose it" : null,
    last ? "the end" : null,
    share && tokens === 1 ? `from the tail: more probable tokens have ${share} of the probability` : null,
    share && tokens > 1 ? `one of its ${tokens} tokens is from the tail: more probable ones have ${share}` : null,
  ];
  return notes.filter(Boolean).map((text) => el("span", { class: "hu-label" }, text));
}

function attentionButton({ step, first }, report) {
  const button = el(
    "button",
    { type: "button", class: "hu-more", "aria-label": `Attention in step ${step}` },
    "attention",
  );
  button.addEventListener("click", () => report({ step: first }));
  return button;
}

function candidateBar(candidate, isChosen, force) {
  const { token, probability } = candidate;
  const share = el("span", { class: "hu-share" });
  share.style.width = `${100 * probability}%`;
  const canForce = force && !isChosen;
  const row = el(
    canForce ? "button" : "div",
    {
      class: isChosen ? "hu-candidate hu-this" : "hu-candidate",
      type: canForce ? "button" : null,
      title: canForce ? "choose this instead" : null,
    },
    el("span", { class: "hu-name" }, tokenText(token)),
    el("span", { class: "hu-track" }, share),
    el("span", { class: "hu-number" }, percentText(probability)),
  );
  if (canForce) row.addEventListener("click", () => force(candidate));
  return row;
}
