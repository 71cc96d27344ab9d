// A teacher's lesson plan on the page Learn, as its link opens it: the stations in order, or the sheet to print.

import { button, el } from "../../common/base.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { keepPlan } from "./kept-plan.js";
import { LEARN } from "./lesson-places.js";
import { planOfLink } from "./plan-file.js";
import { planSheet } from "./plan-sheet.js";

const PLAN_LENGTH = "{count} stations, {minutes} minutes.";
const WRONG_OPTION = "Not quite. The right answer: {option}.";

/** @typedef {import("./plan-file.js").Plan} Plan */
/** @typedef {import("./plan-file.js").Station} Station */
/** @typedef {import("./lesson-list.js").ListContext} ListContext */

/** @param {HTMLElement} container @param {ListContext} context */
export function planView(container, context) {
  const node = el("div", { class: "hu-plan", hidden: "" });
  container.append(node);
  let drawnState = "";

  async function draw() {
    const { page, params } = context.place();
    const { plan: code = "", sheet = "" } = page === LEARN && !params.lesson ? params : {};
    node.hidden = !code;
    const state = JSON.stringify([code, sheet]);
    if (state === drawnState) return; // an answer stays
    drawnState = state;
    node.replaceChildren();
    if (!code) return;
    const { lessons } = await context.ask("lessons");
    const plan = await planOfLink(code, lessons).catch((/** @type {Error} */ error) => error);
    if (state !== drawnState) return; // another place
    if (plan instanceof Error) return node.replaceChildren(el("p", { role: "alert" }, plan.message));
    keepPlan(code);
    const nodes = sheet === "1" ? await planSheet(plan, lessons, context, code) : planNodes(plan, context, code);
    if (state === drawnState) node.replaceChildren(...nodes);
  }
  return { draw };
}

/** @param {Plan} plan @param {ListContext} context @param {string} code */
function planNodes({ title, stations }, { openLesson, canOpen }, code) {
  const minutes = stations.reduce((sum, station) => sum + station.minutes, 0);
  const forClass = { page: "class", params: { plan: code } };
  return [
    el("h2", {}, title),
    el("p", { class: "hu-note" }, fill(PLAN_LENGTH, { count: stations.length, minutes })),
    el("ol", { class: "hu-plan-stations" }, ...stations.map((station) => stationNode(station, openLesson))),
    el(
      "div",
      { class: "hu-line" },
      button("Questions and answers to print", () => openPlace(LEARN, { plan: code, sheet: "1" })),
      ...(canOpen(forClass)
        ? [button("Use or change it on the page Class", () => openPlace(forClass.page, forClass.params))]
        : []),
    ),
  ];
}

/** @param {Station} station @param {ListContext["openLesson"]} openLesson */
function stationNode({ title, minutes, text, lesson, sentence, question }, openLesson) {
  const open = lesson ? () => openLesson(lesson, sentence) : sentence ? () => openPlace("", { text: sentence }) : null;
  return el(
    "li",
    {},
    el("h3", {}, title, el("small", {}, fill(" {minutes} min", { minutes }))),
    ...(text ? [el("p", {}, text)] : []),
    ...(sentence ? [el("p", { translate: "no" }, `“${sentence}”`)] : []),
    ...(open ? [button("Open →", open)] : []),
    ...(question ? ownQuestionNodes(question) : []),
  );
}

// The question; its options are replaced by the answer.
/** @param {import("./plan-file.js").PlanQuestion} question */
function ownQuestionNodes({ text, options, correct, explanation = "" }) {
  const answer = el("div", { class: "hu-lesson-options" });
  const right = options[correct - 1];
  function choose(chosen) {
    const rows = options.map((option) => {
      const sign = option === right ? "✓ " : option === chosen ? "✗ " : "";
      const style = option === right ? " hu-right" : option === chosen ? " hu-wrong" : "";
      return el("p", { class: `hu-lesson-result${style}` }, sign, option);
    });
    const verdict = chosen === right ? "Correct." : fill(WRONG_OPTION, { option: right });
    const note = el(
      "p",
      { class: "hu-lesson-answer", role: "status", tabindex: "-1" },
      el("b", {}, verdict),
      ` ${explanation}`,
    );
    answer.replaceChildren(...rows, note);
    note.focus({ preventScroll: true }); // the button that had the focus is gone
  }
  answer.append(
    ...options.map((option) => button(option, () => choose(option), { class: "hu-button hu-lesson-option" })),
  );
  return [el("p", { class: "hu-lesson-question" }, text), answer];
}
