// The steps of a case: say where you expect the mistake, choose what proves it, find and correct the line (or, of three
// models, say what is wrong), read what it does in general.

import { button, download, el } from "../../common/base.js";
import { fill } from "../../common/sentences.js";
import { press } from "./big-head.js";
import { MODELS, offersOf, pytestFile, pytorchFile, sourceLines } from "./case.js";
import { CASES } from "./cases.js";
import { VIEWS } from "./evidence.js";
import { MAX_POINTS, pointsOf, RULE } from "./result.js";

const NO_FREE_TEXT =
  "You choose among lines and do not type one, because this page, for your safety, never runs code that comes from a text field.";
const HELD = "{points} of {most} points left. {rule}";
const NOT_THIS_LINE = "Changing this line alone does not repair the model. This costs 1 point.";

/** @typedef {import("./case.js").Case} Case */

/**
 * @param {import("./progress.js").Progress} progress
 * @param {{ say: (text: string) => void, train: (offer: import("./case.js").Offer) => void, isTraining: () => boolean, solve: () => void, showCase: (given: Case) => void, showList: () => void, onStep: (number: number) => void }} page
 */
export function makeSteps(progress, { say, train, isTraining, solve, showCase, showList, onStep }) {
  const node = el("section", { class: "hu-clinic-steps", "aria-label": "Your diagnosis" });
  let open = /** @type {Case | null} */ (null);

  // Draws the steps that the visitor has reached.
  /** @param {Case} [given] another case */
  function draw(given = open) {
    open = given;
    const state = progress.stateOf(open.id);
    const hadFocus = node.contains(/** @type {any} */ (node.getRootNode()).activeElement);
    const points = { points: pointsOf(state), most: MAX_POINTS, rule: RULE };
    node.replaceChildren(
      ...(state.points ? [] : [el("p", { class: "hu-note hu-clinic-points" }, fill(HELD, points))]),
      ...expectationParts(state),
      ...(state.expected ? evidenceParts(state) : []),
      ...(state.evidence ? (open.statements ? statementParts(state) : lineParts(state)) : []),
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
    const options = open.statements ? MODELS.map((name) => [name, name]) : Object.entries(VIEWS);
    const expectations = options.map(([name, text]) => {
      const node = button(text, () => {
        state.expected = name;
        say("");
        update();
      });
      press(node, state.expected === name);
      node.disabled = state.expected !== "";
      return node;
    });
    return [
      el(
        "h3",
        {},
        open.statements ? "1. Which model do you expect to be broken?" : "1. Where do you expect to see the mistake?",
      ),
      el("div", { class: "hu-line hu-clinic-expected" }, ...expectations),
    ];
  }

  const evidenceParts = ({ evidence }) => [
    el("h3", {}, "2. Choose what proves it"),
    evidence ? el("p", {}, fill("Your evidence: {evidence}.", { evidence })) : el(
      "p",
      {},
      open.statements
        ? "Choose a cell, a row or a column of a head. It is compared with a correct run, which has the same seed."
        : "Choose a cell, a row or a column of a head, a curve, or outputs. It is compared with a correct run, which has the same seed; weights are the same if they differ by at most 0.1.",
    ),
  ];

  function lineParts(state) {
    const site = open.sites[state.site];
    const isSolved = state.points > 0;
    const marked = site ? (isSolved ? state.correction : site.wrong).split("\n") : [];
    const lines = (isSolved ? sourceLines(open, site, state.correction) : sourceLines(open)).map((line) => {
      const node = button(line, () => chooseLine(state, line), { class: "hu-clinic-line" });
      press(node, marked.includes(line));
      node.disabled = site !== undefined;
      return line ? node : el("div", { class: "hu-clinic-line" }, " ");
    });
    return [
      el("h3", {}, "3. Choose the line that you would change"),
      el("div", { class: "hu-clinic-code", role: "group", "aria-label": "Source", translate: "no" }, ...lines),
      ...(site && !isSolved ? offerParts(state, site) : []),
    ];
  }

  function chooseLine(state, line) {
    state.site = open.sites.findIndex(({ wrong }) => wrong === line);
    if (state.site < 0) state.wrongLines++;
    say(state.site < 0 ? NOT_THIS_LINE : "This line can repair the model. Choose what it should be.");
    update();
  }

  function offerParts(state, site) {
    const order = offersOf(site).sort((a, b) => (a.line < b.line ? -1 : 1));
    return [
      el("h3", {}, "Which line is right? The model is trained again with it."),
      ...order.map((offer) => {
        const node = button(dedented(offer.line), () => {
          say("");
          train(offer);
          draw();
        }, { class: "hu-button hu-clinic-offer", translate: "no" });
        node.disabled = state.tried.includes(offer.line) || isTraining();
        return node;
      }),
      el("p", { class: "hu-note" }, NO_FREE_TEXT),
    ];
  }

  function statementParts(state) {
    return [
      el("h3", {}, "3. What is wrong with it?"),
      ...open.statements.map(({ text, isRight, reply }) => {
        const node = button(text, () => {
          say(reply);
          if (isRight) solve();
          else {
            state.wrongLines++;
            state.tried.push(text);
          }
          update();
        }, { class: "hu-button hu-clinic-statement" });
        press(node, Boolean(isRight && state.points));
        node.disabled = state.tried.includes(text) || state.points > 0;
        return node;
      }),
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
    const next = CASES.find((other) => !progress.isSolved(other));
    return [
      el("h3", {}, `4. ${open.mistake}`),
      el("p", {}, open.explanation),
      el("p", {}, el("a", { href: open.source.url, rel: "noopener", target: "_blank" }, open.source.text)),
      el("p", {}, fill("Solved: {points} of {most} points.", { points, most: MAX_POINTS })),
      ...(open.statements ? [] : fileParts()),
      el(
        "div",
        { class: "hu-line hu-trainer-tools" },
        next ? button(`Next: ${next.title}`, () => showCase(next)) : button("All cases are solved", showList),
      ),
    ];
  }

  function fileParts() {
    const files = { [`${open.id}.py`]: pytorchFile(open), [`test_${open.id}.py`]: pytestFile(open) };
    const buttons = Object.entries(files).map(([name, text]) =>
      button(name, () => download(new Blob([text], { type: "text/x-python" }), name))
    );
    return [
      el(
        "p",
        { class: "hu-note" },
        "The broken model as a PyTorch file, and its test, which turns green when the line is right:",
      ),
      el("div", { class: "hu-line hu-trainer-tools" }, ...buttons),
    ];
  }

  return { node, draw };
}

// Lines without the indent of the first one.
/** @param {string} lines */
function dedented(lines) {
  const indent = lines.length - lines.trimStart().length;
  return lines.split("\n").map((line) => line.slice(indent)).join("\n");
}
