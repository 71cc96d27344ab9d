// Three questions of learners, and what a race of the page answers them with.

import { button, el } from "../../common/base.js";
import { QUESTIONS, SCORE_QUESTION } from "./races.js";

/** @typedef {{ text: string, link: string, compared: number }} Question `compared` is the run that seeds compare */

/** @param {(question: Question) => void} ask */
export function makeQuestions(ask) {
  const buttonOf = (question) => button(question.text, () => ask(question));
  return el(
    "section",
    { class: "hu-trainer-questions", "aria-label": "Build your own question" },
    el("h2", {}, "Build your own question"),
    el("div", { class: "hu-line" }, ...QUESTIONS.map(buttonOf)),
    el("details", {}, el("summary", {}, "More questions"), buttonOf(SCORE_QUESTION)),
  );
}
