// The sheet of a lesson plan: its questions, and the answers on the page after them. It is drawn as it is printed.

import { button, el } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { openPlace } from "../../common/open.js";
import { lessonPicture } from "./lesson-picture.js";
import { LEARN, lessonAbout, prepareLesson } from "./lesson-places.js";
import { firstModel } from "./lesson-travel.js";

const OPTION_LETTERS = "ABCDEFGH";
const ANSWER_LINES = 2; // for a question without options

/** @typedef {import("./plan-file.js").Station} Station */
/** @typedef {(string | Node)[]} Content of an element */
/**
 * One question of the sheet; `lead`: what comes before it.
 * @typedef {{ title: string, lead: Node[], question: Content, options: Content[], correct: number,
 *   explanation: Content }} SheetQuestion
 */

/**
 * @param {import("./plan-file.js").Plan} plan @param {Lesson[]} lessons
 * @param {import("./lesson-list.js").ListContext} context @param {string} code
 */
export async function planSheet(plan, lessons, context, code) {
  const questions = [];
  for (const station of plan.stations) { // one after the other: a newer request for a lesson replaces an older
    const question = await sheetQuestion(station, lessons, context);
    if (question) questions.push(question);
  }
  return [
    el(
      "div",
      { class: "hu-line hu-plan-tools" },
      button("Print", () => print(), { class: "hu-button hu-primary" }),
      button("Back to the plan", () => openPlace(LEARN, { plan: code })),
    ),
    el(
      "section",
      { class: "hu-sheet" },
      el("h2", {}, plan.title),
      el("p", { class: "hu-sheet-name" }, "Name:"),
      el("ol", {}, ...questions.map(questionNode)),
    ),
    el("section", { class: "hu-sheet" }, el("h2", {}, "Answers"), el("ol", {}, ...questions.map(answerNode))),
  ];
}

/**
 * @param {Station} station @param {Lesson[]} lessons @param {import("./lesson-list.js").ListContext} context
 * @returns {Promise<SheetQuestion | null>} null if the station asks nothing
 */
async function sheetQuestion({ title, lesson: name, sentence, question }, lessons, { ask, place }) {
  if (question) {
    const { text, options, correct, explanation = "" } = question;
    const texts = options.map((option) => [option]);
    return { title, lead: [], question: [text], options: texts, correct: correct - 1, explanation: [explanation] };
  }
  const known = lessons.find((each) => each.name === name);
  if (!known) return null;
  const lesson = lessonAbout(known, sentence);
  const { model = firstModel(await ask("models")), exact = "" } = place().params;
  const prepared = await prepareLesson(ask, lesson, model, exact === "1");
  const made = prepared?.question;
  const lead = [
    el("p", {}, ...markdownNodes(lesson.text)),
    ...(lesson.misprint ? [el("blockquote", {}, ...markdownNodes(lesson.misprint))] : []),
    ...(made?.exhibit ? [el("p", { translate: "no" }, ...markdownNodes(made.exhibit))] : []),
    ...(made?.picture ? [lessonPicture(made.picture, false)] : []),
  ];
  return {
    title,
    lead,
    question: markdownNodes(lesson.question),
    options: made?.options.map(({ label }) => markdownNodes(label)) ?? [],
    correct: made?.correct ?? 0,
    explanation: markdownNodes(made?.answer ?? prepared?.reason ?? ""),
  };
}

/** @param {SheetQuestion} question */
const questionNode = ({ title, lead, question, options }) =>
  el(
    "li",
    {},
    el("h3", {}, title),
    ...lead,
    el("p", {}, el("b", {}, ...question)),
    options.length
      ? el("ul", {}, ...options.map((option, n) => el("li", {}, `☐ ${OPTION_LETTERS[n]}: `, ...option)))
      : el("div", { class: "hu-sheet-lines" }, ...Array.from({ length: ANSWER_LINES }, () => el("hr"))),
  );

/** @param {SheetQuestion} question */
const answerNode = ({ title, options, correct, explanation }) =>
  el(
    "li",
    {},
    el("h3", {}, title),
    ...(options.length ? [el("p", {}, el("b", {}, `${OPTION_LETTERS[correct]}: `, ...clones(options[correct])))] : []),
    el("p", {}, ...explanation),
  );

/** @param {Content} content */
const clones = (content) => content.map((part) => typeof part === "string" ? part : part.cloneNode(true));
