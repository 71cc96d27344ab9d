// The body of a lesson's card: its introduction and question, the options, and the answer in the same place.

import { button, el } from "../../common/base.js";
import { KEPT_WORDS, markdownNodes } from "../../common/inline-markdown.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { isWordOf } from "./lesson-picture.js";

const OTHER_MODEL =
  "This lesson uses the model {model}, because the chosen model does not show the effect: {reason}. Other lessons open with the chosen model again.";
const NOT_SHOWN = "No model here shows this: {reason}.";
const FIND = "Find the answer on this page, then press *Check*.";
const WAITING = "Your answer: **{label}**. {teacher} will show all answers.";
const ANSWERED = "{count} of {members} answered";
const WRONG = "**Not quite.** You chose: {label}. {feedback}";
const OPEN_IN = "Open in {page} →";
const ONLY_IN_APP = "The full app shows this in {page}.";

/** @typedef {import("./lesson-state.js").CardState} CardState */
/**
 * @typedef {{ choose(number: number): void, showToClass(): void, check(): void, giveUp(): void, openAnswer(): void }} Actions
 */

// The question and, once it may be seen, its answer.
/** @param {CardState} state @param {Actions} actions */
export function bodyNodes(state, actions) {
  const { lesson, ready, isRevealed, isOnQuestionPage } = state;
  const question = ready?.question ?? null;
  const isSearch = question !== null && !question.options.length;
  return [
    ...modelNote(state),
    ...(isOnQuestionPage || !isRevealed ? introduction(lesson, question) : []),
    note("hu-lesson-question", lesson.question),
    ...(lesson.in_place ? [note("", FIND)] : []),
    ...(ready && !question ? [note("hu-lesson-note", fill(NOT_SHOWN, { reason: ready.reason }))] : []),
    ...(isSearch ? searchNodes(state, actions) : []),
    ...(question && !isSearch ? choiceNodes(state, question, actions) : []),
    ...(question && isRevealed ? answerNodes(state, question, actions) : []),
  ];
}

// Why the lesson uses another model than the visitor's.
/** @param {CardState} state */
function modelNote({ ready, otherModelReason }) {
  return otherModelReason
    ? [el("p", { class: "hu-note" }, fill(OTHER_MODEL, { model: ready.label, reason: otherModelReason }))]
    : [];
}

const SHORT_LABEL = 18; // characters; two such options fit beside each other on a phone

/** @param {Lesson} lesson @param {Question | null} question */
const introduction = (lesson, question) => [
  note("", lesson.text),
  ...(lesson.misprint ? [el("blockquote", {}, ...markdownNodes(`Misprint: ${lesson.misprint}`))] : []),
  ...(question?.exhibit
    ? [el("p", { class: "hu-lesson-exhibit", translate: "no" }, ...markdownNodes(question.exhibit))]
    : []),
];

// The options; in a class what has become of the answer.
/** @param {CardState} state @param {Question} question @param {Actions} actions */
function choiceNodes(state, question, { choose, showToClass }) {
  const { lesson, isOnQuestionPage, isRevealed, isSealed, guess, group } = state;
  if (isRevealed) return isOnQuestionPage ? [results(state, question)] : [];
  if (group?.teaches) {
    const count = group.answers[lesson.key]?.count ?? 0;
    return [
      el("ul", {}, ...question.options.map(({ label }) => el("li", {}, optionNode(question, label)))),
      note("", fill(ANSWERED, { count, members: group.members })),
      button("Show the answers", showToClass, { class: "hu-button hu-primary" }),
    ];
  }
  if (guess && isSealed) {
    const teacher = group.teacher.charAt(0).toUpperCase() + group.teacher.slice(1);
    return [note("hu-lesson-note", fill(WAITING, { label: guess.label, teacher }))];
  }
  const options = question.options.map(({ label }, number) =>
    button(optionNode(question, label), () => choose(number), { class: "hu-button hu-lesson-option" })
  );
  const areShort = question.options.every(({ label }) => label.length <= SHORT_LABEL);
  return [el("div", { class: `hu-lesson-options${areShort ? " hu-short" : ""}` }, ...options)];
}

// The options, each where its button was: the right one marked, and the visitor's; in a class with its number of answers.
/** @param {CardState} state @param {Question} question */
function results({ guess, classCounts }, question) {
  const total = classCounts.reduce((sum, count) => sum + count, 0);
  const rows = question.options.map(({ label }, number) => {
    const isRight = number === question.correct;
    const isChosen = guess?.label === label;
    const count = classCounts[number] ?? 0;
    return el(
      "li",
      { class: `hu-lesson-result${isRight ? " hu-right" : isChosen ? " hu-wrong" : ""}` },
      isRight ? "✓ " : isChosen ? "✗ " : "",
      optionNode(question, label),
      ...(isChosen ? [el("span", { class: "hu-note" }, " your answer")] : []),
      ...(total
        ? [` · ${count}`, el("span", { class: "hu-share", style: `width: ${(100 * count) / total}%; height: 0.4rem` })]
        : []),
    );
  });
  return el("ul", { class: "hu-lesson-options hu-lesson-results" }, ...rows);
}

// The buttons of a question whose answer is to be found on the page.
/** @param {CardState} state @param {Actions} actions */
function searchNodes({ isRevealed, verdict }, { check, giveUp }) {
  return [
    el(
      "div",
      { class: "hu-line" },
      button("Check", check, { class: `hu-button${isRevealed ? "" : " hu-primary"}` }),
      ...(isRevealed ? [] : [button("Show the answer", giveUp)]),
    ),
    ...(verdict ? [note("hu-lesson-verdict", verdict[0] ? `**Correct.** ${verdict[1]}` : verdict[1], "status")] : []),
  ];
}

// Whether the guess was right, the answer, and what shows it. A guess that is none of the options, because it was made
// about another model, is not judged.
/** @param {CardState} state @param {Question} question @param {Actions} actions */
function answerNodes(state, question, { openAnswer }) {
  const { lesson, guess, isOnQuestionPage, answerPage, canOpenAnswer } = state;
  const chosen = question.options.find(({ label }) => label === (guess?.label ?? ""));
  const isRight = chosen !== undefined && chosen === question.options[question.correct];
  const start = isRight ? "**Correct.** " : chosen ? `${fill(WRONG, chosen)} ` : "";
  const answer = note(`hu-lesson-answer${isRight ? " hu-right" : ""}`, start, "status");
  answer.append(...markdownNodes(question.answer, KEPT_WORDS));
  answer.tabIndex = -1;
  const train = button("Train such a model in this tab →", () => openPlace("train", { here: `task=${lesson.task}` }));
  const isElsewhere = isOnQuestionPage && !lesson.in_place;
  return [
    answer,
    ...(isElsewhere && !canOpenAnswer ? [note("hu-note", fill(ONLY_IN_APP, { page: answerPage }))] : []),
    el(
      "div",
      { class: "hu-line" },
      ...(isElsewhere && canOpenAnswer ? [button(fill(OPEN_IN, { page: answerPage }), openAnswer)] : []),
      ...(lesson.task ? [train] : []),
    ),
  ];
}

// An option's text; a word of the sentence stays as it is when the browser translates the page.
/** @param {Question} question @param {string} label Markdown */
const optionNode = ({ picture }, label) =>
  el("span", { translate: isWordOf(picture, label) ? "no" : null }, ...markdownNodes(label, KEPT_WORDS));

/** @param {string} className @param {string} markdown @param {string | null} role */
const note = (className, markdown, role = null) => el("p", { class: className, role }, ...markdownNodes(markdown));
