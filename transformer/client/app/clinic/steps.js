// The four steps of a case: say where you expect the mistake, mark what proves it, find and correct the line, read what
// it does in general.

import { button, download, el } from "../../common/base.js";
import { offersOf, pytestFile, pytorchFile, sourceLines } from "./case.js";
import { CASES } from "./cases.js";
import { VIEWS } from "./evidence.js";
import { MAX_POINTS } from "./result.js";

const NO_FREE_TEXT =
  "You choose among lines and do not type one, because this page, for your safety, never runs code that comes from a text field.";

/** @typedef {import("./case.js").Case} Case */

/**
 * @param {import("./progress.js").Progress} progress
 * @param {{ say: (text: string) => void, train: (offer: { line: string, settings: any }) => void, isTraining: () => boolean, showCase: (given: Case) => void, showList: () => void, onStep: (number: number) => void }} page
 */
export function makeSteps(progress, { say, train, isTraining, showCase, showList, onStep }) {
  const node = el("section", { class: "hu-clinic-steps", "aria-label": "Your diagnosis" });
  let open = /** @type {Case | null} */ (null);

  // Draws the steps that the visitor has reached.
  /** @param {Case} [given] another case */
  function draw(given = open) {
    open = given;
    const state = progress.stateOf(open.id);
    const hadFocus = node.contains(/** @type {any} */ (node.getRootNode()).activeElement);
    node.replaceChildren(
      ...expectationParts(state),
      ...(state.expected ? evidenceParts(state) : []),
      ...(state.evidence ? lineParts(state) : []),
      ...(state.points ? endParts(state) : hintParts(state)),
    );
    const titles = [...node.querySelectorAll("h3")];
    for (const title of titles) title.tabIndex = -1;
    if (hadFocus) titles.at(-1).focus({ preventScroll: true }); // the button that had it is gone
    onStep(state.points ? 4 : state.evidence ? 3 : state.expected ? 2 : 1);
  }

  // Store what an action has changed.
  function update() {
    progress.save();
    draw();
  }

  function expectationParts(state) {
    const expectations = Object.entries(VIEWS).map(([view, text]) => {
      const node = button(text, () => {
        state.expected = view;
        say("Now look, and mark what proves it.");
        update();
      }, { "aria-pressed": String(state.expected === view) });
      node.disabled = state.expected !== "";
      return node;
    });
    return [
      el("h3", {}, "1. Where do you expect to see the mistake?"),
      el("div", { class: "hu-line hu-clinic-expected" }, ...expectations),
    ];
  }

  const evidenceParts = ({ evidence }) => [
    el("h3", {}, "2. Mark what proves it"),
    el(
      "p",
      {},
      evidence
        ? `Your evidence: ${evidence}.`
        : "Choose a cell of an enlarged head, or the button of a curve or of outputs.",
    ),
  ];

  function lineParts(state) {
    const shown = state.points ? open.right : open.wrong;
    const lines = sourceLines(open, shown).map((line) => {
      const isFound = state.found && line === shown;
      const node = button(line, () => {
        state.lines++;
        state.found = line === open.wrong;
        say(state.found ? "That is the line. Choose the right one." : "That line is as it should be.");
        progress.save();
        if (state.found) draw();
      }, { class: "hu-clinic-line", "aria-pressed": String(isFound) });
      node.disabled = state.found;
      return line ? node : el("div", { class: "hu-clinic-line" }, " ");
    });
    return [
      el("h3", {}, "3. Find the wrong line"),
      el("div", { class: "hu-clinic-code", role: "group", "aria-label": "Source" }, ...lines),
      ...(state.found && !state.points ? offerParts(state) : []),
    ];
  }

  function offerParts(state) {
    const [, ...offers] = offersOf(open);
    const order = offers.sort((a, b) => (a.line < b.line ? -1 : 1));
    return [
      el("h3", {}, "Which line is right? The model is trained again with it."),
      ...order.map((offer) => {
        const node = button(offer.line.trim(), () => {
          state.corrections++;
          say("");
          train(offer);
          draw();
        }, { class: "hu-button hu-clinic-offer" });
        node.disabled = state.tried.includes(offer.line) || isTraining();
        return node;
      }),
      el("p", { class: "hu-note" }, NO_FREE_TEXT),
    ];
  }

  function hintParts(state) {
    const shown = open.hints.slice(0, state.hints).map((hint) => el("li", {}, hint));
    const more = button("Show a hint (costs 1 point)", () => {
      state.hints++;
      say(open.hints[state.hints - 1]);
      update();
    });
    more.disabled = state.hints >= open.hints.length;
    return [el("ol", { class: "hu-clinic-hints", "aria-label": "Hints" }, ...shown), more];
  }

  function endParts({ points }) {
    const files = { [`${open.id}.py`]: pytorchFile(open, open.wrong), [`test_${open.id}.py`]: pytestFile(open) };
    const next = CASES.find((other) => !progress.isSolved(other));
    return [
      el("h3", {}, `4. ${open.mistake}`),
      el("p", {}, open.explanation),
      el("p", {}, el("a", { href: open.source.url, rel: "noopener", target: "_blank" }, open.source.text)),
      el("p", {}, `Solved: ${points} of ${MAX_POINTS} points.`),
      el(
        "p",
        { class: "hu-note" },
        "The broken model as a PyTorch file, and its test, which turns green when the line is right:",
      ),
      el(
        "div",
        { class: "hu-line hu-trainer-tools" },
        ...Object.entries(files).map(([name, text]) =>
          button(name, () => download(new Blob([text], { type: "text/x-python" }), name))
        ),
        next ? button(`Next: ${next.title}`, () => showCase(next)) : button("All cases are solved", showList),
      ),
    ];
  }

  return { node, draw };
}
