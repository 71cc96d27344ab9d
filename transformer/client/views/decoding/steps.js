// The table of decoding steps: the decoder's input, the most probable next tokens, the chosen one.

import { button, el, tokenText } from "../../common/base.js";
import { hasExactNames } from "../../common/naming.js";
import { percentText } from "../../common/numbers.js";

const FIRST_CANDIDATES = 3; // candidates of a step until the reader expands it
const MAX_INPUT_TOKENS = 9; // maximum tokens of the decoder's input, the last ones

export const chip = (text, lang = "") => el("span", { class: "hu-chip" }, tokenText(text, lang));

// `actions.force(step, id)` is called to force a candidate, `actions.showAttention(step)` to show a step's attention; without
// one of them there is no button for it. `lang` is the code of the translation's language, `marked` are the steps whose rows
// are marked.
/** @param {import("../../trace/step-table.js").TableRow[]} steps @param {{ force?: Function, showAttention?: Function, lang?: string, marked?: number[] }} actions */
export function stepTable(steps, actions) {
  const body = el("tbody");
  const maxCandidates = Math.max(...steps.map((step) => step.candidates.length));
  const isExpanded = () => toggle.getAttribute("aria-expanded") === "true";
  const toggle = button("", () => fill(isExpanded() ? FIRST_CANDIDATES : maxCandidates), { class: "hu-more" });
  const fill = (count) => {
    toggle.textContent = count > FIRST_CANDIDATES ? "fewer candidates" : `all ${maxCandidates} candidates`;
    toggle.setAttribute("aria-expanded", String(count > FIRST_CANDIDATES));
    body.replaceChildren(...steps.map((step) => stepRow(step, count, actions)));
  };
  fill(FIRST_CANDIDATES);
  const names = hasExactNames() ? "Most probable next tokens" : "Alternatives";
  const canForce = actions.force && steps.some((step) => step.canForce);
  const next = canForce ? `${names}: choose one to continue from it` : names;
  const headings = ["Step", "Decoder input", next, "Chosen"];
  const row = el("tr", {}, ...headings.map((text) => el("th", { scope: "col" }, text)));
  if (maxCandidates > FIRST_CANDIDATES) row.children[2].append(" ", toggle);
  return el("table", { class: "hu-steps", "aria-label": "The translation, step by step" }, el("thead", {}, row), body);
}

function stepRow(step, count, actions) {
  const listed = step.candidates.slice(0, count);
  const isChosen = (candidate) => candidate.id === step.chosen.id && candidate.step === step.chosen.step;
  const force = actions.force && step.canForce &&
    ((candidate) => actions.force(candidate.step ?? step.first, candidate.id));
  const rows = listed.map((candidate) => candidateBar(candidate, isChosen(candidate), force, actions.lang));
  if (!listed.some(isChosen)) rows.push(candidateBar(step.chosen, true, force, actions.lang));
  const input = step.input.slice(-MAX_INPUT_TOKENS).map((token) => chip(token, actions.lang));
  if (step.input.length > MAX_INPUT_TOKENS) {
    const omitted = step.input.length - MAX_INPUT_TOKENS;
    input.unshift(
      chip(step.input[0], actions.lang),
      el("span", { class: "hu-label" }, omitted > 1 ? `… ${omitted - 1} more …` : ""),
    );
  }
  const isMarked = (actions.marked ?? []).some((first) => first >= step.first && first < step.first + step.tokens);
  return el(
    "tr",
    isMarked ? { class: "hu-marked", "aria-current": "true" } : {},
    el("th", { scope: "row" }, String(step.step)),
    el("td", { class: "hu-input" }, ...input),
    el("td", { class: "hu-candidates" }, ...rows),
    el(
      "td",
      { class: "hu-chosen" },
      chip(step.chosen.token, actions.lang),
      ...notesOf(step),
      actions.showAttention ? attentionButton(step, actions.showAttention) : null,
    ),
  );
}

// Notes on the chosen token or word.
function notesOf({ last, forced }) {
  const notes = [forced ? "you chose it" : null, last ? "the end" : null];
  return notes.filter(Boolean).map((text) => el("span", { class: "hu-label" }, text));
}

function attentionButton({ step, first }, showAttention) {
  const label = `Attention in step ${step}`;
  return button("attention", () => showAttention(first), { class: "hu-more", "aria-label": label });
}

function candidateBar(candidate, isChosen, force, lang) {
  const { token, probability } = candidate;
  const share = el("span", { class: "hu-share" });
  share.style.width = `${100 * probability}%`;
  const content = [
    el("span", { class: "hu-name" }, tokenText(token, lang)),
    el("span", { class: "hu-track" }, share),
    el("span", { class: "hu-number" }, percentText(probability)),
  ];
  if (isChosen || !force) return el("div", { class: isChosen ? "hu-candidate hu-this" : "hu-candidate" }, ...content);
  return button(content, () => force(candidate), { class: "hu-candidate", title: "choose this instead" });
}
