// The card of the open lesson, which the field `lesson` of the address names. On the page Learn it asks the question and
// shows the answer in the same place; on the page of the answer it is beside what it describes.

import { el, replaceChanged } from "../../common/base.js";
import { fill } from "../../common/sentences.js";
import { makeDisclosure } from "./disclosure.js";
import { headNodes } from "./lesson-head.js";
import { lessonPicture, plainLabel } from "./lesson-picture.js";
import { checkPlace, LEARN, lessonAbout, needsOpening, questionPage } from "./lesson-places.js";
import { bodyNodes } from "./lesson-question.js";
import { makeCardState } from "./lesson-state.js";
import { firstModel, makeTravel, openSoon, questionFields, takeFocus } from "./lesson-travel.js";
import { wayNodes } from "./lesson-way.js";
import { lessonKey, makePreparedLessons } from "./prepared-lessons.js";

const UNKNOWN_LESSON = "There is no lesson “{name}”. The first lesson is “{first}”.";
const ELSEWHERE = "The page now shows something else. Press *Back to the lesson* first.";
const AREAS = ["head", "drawing", "body", "way"]; // of the card

let hasOpenedPlace = false; // whether this document has shown a place; only its first one may be a link to an answer

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */
/** @typedef {import("./lesson-places.js").OpenLesson} OpenLesson */
/** @typedef {import("../../common/open.js").Place} Place */
/**
 * `titles`: of the pages, by path; `canOpen`: whether something opens a place.
 * @typedef {{ ask: Engine["ask"], place: () => Place, titles: () => Record<string, string>,
 *   canOpen: (place: Place) => boolean, getClass: () => import("./class-answers.js").ClassState | null,
 *   guesses: ReturnType<typeof import("./guesses.js").makeGuesses>, onVisible: (isVisible: boolean) => void }} LessonContext
 */

/** @param {HTMLElement} container @param {LessonContext} context */
export function lessonCard(container, context) {
  const { ask, guesses, getClass, onVisible } = context;
  const areas = Object.fromEntries(AREAS.map((name) => [name, el("div", { class: `hu-lesson-${name}` })]));
  const node = el("section", { class: "hu-lesson", "aria-label": "Lesson", hidden: "" }, ...Object.values(areas));
  container.append(node);
  /** @type {Course | null} */
  let course = null;
  /** @type {SiteData | null} */
  let site = null;
  /** @type {[boolean, string] | null} */
  let verdict = null; // of the last check
  let [drawnKey, drawnState] = ["", ""];

  async function load() {
    course ??= await ask("lessons");
    site ??= await ask("models");
    return { course, site };
  }

  const lessonNamed = (key) => course?.lessons.find(({ name }) => name === key.split(":")[0]);
  const disclosure = makeDisclosure({ guesses, getClass, lessonNamed });
  const { guessOf, isSealed, isRevealed } = disclosure;
  const questions = makePreparedLessons(ask);
  const travel = makeTravel({ place: context.place, load, prepare: questions.prepare, isRevealed });
  const cardState = makeCardState(context, disclosure, travel);

  async function draw() {
    const place = context.place();
    const name = place.params.lesson ?? "";
    const isFirst = !hasOpenedPlace;
    hasOpenedPlace = true;
    if (!name) return hide();
    await load();
    if (name !== context.place().params.lesson) return; // a newer place
    if (name === course.end) return hide();
    const known = lessonNamed(name);
    node.hidden = false;
    onVisible(true);
    if (!known) return showUnknown(name);
    const lesson = lessonAbout(known, place.params.lesson_text);
    const { model = firstModel(site), exact } = place.params;
    const key = lessonKey(lesson.key, model, exact === "1");
    if (key !== drawnKey) [drawnKey, verdict] = [key, null];
    if (isFirst && !isRevealed(lesson.key) && place.page === lesson.page && place.page !== questionPage(lesson)) {
      return openSoon(LEARN, questionFields(lesson, place.params));
    }
    if (!questions.answerOf(key)) {
      render(lesson, place, null);
      await questions.prepare(lesson, model, exact === "1");
      if (key !== drawnKey || !questions.answerOf(key)) return; // a newer request
    }
    const ready = questions.answerOf(key);
    const isAskedElsewhere = lesson.in_place && place.page === LEARN;
    if (isFirst && (isAskedElsewhere || needsOpening(lesson, place, isRevealed(lesson.key)))) {
      await travel.openAnswer(lesson, ready);
      return draw();
    }
    const guess = guessOf(lesson.key);
    const isDue = guess && !guess.revealed && guess.label && isRevealed(lesson.key);
    if (isDue) guesses.keep(lesson.key, { ...guess, revealed: true });
    render(lesson, context.place(), ready);
  }

  function hide() {
    node.hidden = true;
    clear();
    onVisible(false);
  }

  function clear() {
    drawnState = "";
    for (const area of Object.values(areas)) area.replaceChildren();
  }

  /** @param {string} name */
  function showUnknown(name) {
    clear();
    areas.head.append(el("p", { role: "alert" }, fill(UNKNOWN_LESSON, { name, first: course.lessons[0].name })));
  }

  // Draw the card if something on it has changed. What stays equal keeps its focus, and a click that has begun.
  /** @param {OpenLesson} lesson @param {Place} place @param {PreparedLesson | null} ready */
  function render(lesson, place, ready) {
    const state = cardState(course, site, lesson, place, ready, verdict);
    const { isElsewhere, guess, group } = state;
    const key = JSON.stringify([drawnKey, place.page, Boolean(ready), isElsewhere, verdict, guess, group]);
    if (key === drawnState) return;
    const isSameQuestion = drawnState && JSON.parse(drawnState)[0] === drawnKey;
    drawnState = key;
    node.classList.toggle("hu-lesson-wide", place.page === LEARN);
    const { openLesson, returnTo, close } = travel;
    const parts = {
      head: headNodes(state),
      drawing: pictureNodes(state),
      body: bodyNodes(state, bodyActions(lesson, ready)),
      way: wayNodes(state, { openLesson, returnToLesson: () => returnTo(lesson, ready), close }),
    };
    for (const [name, nodes] of Object.entries(parts)) {
      if (isSameQuestion) replaceChanged(areas[name], nodes);
      else areas[name].replaceChildren(...nodes);
    }
    if (takeFocus()) areas.head.querySelector("h2").focus({ preventScroll: true });
  }

  /** @param {OpenLesson} lesson @param {PreparedLesson | null} ready @returns {import("./lesson-question.js").Actions} */
  function bodyActions(lesson, ready) {
    const { key } = lesson;
    const asked = { lesson: lesson.name, sentence: lesson.ownSentence };
    const showToClass = () => {
      const { options = [], correct = 0 } = ready?.question ?? {};
      return getClass().send({ show: { ...asked, options: options.map(({ label }) => plainLabel(label)), correct } });
    };
    return {
      async choose(number) {
        const group = getClass(); // now, as this button may be older than the last news
        group?.send({ answer: { ...asked, option: number } });
        const { options, correct } = ready.question;
        const answer = { label: options[number].label, right: number === correct, group: group?.code };
        guesses.keep(key, { ...answer, revealed: !isSealed(key) });
        await draw(); // in a class its news draw the answer
        focusAnswer();
      },
      showToClass,
      async check() {
        const { page, params } = context.place();
        verdict = page === lesson.page && params.text === ready.text
          ? await checkPlace(ask, ready.question, ready, params)
          : [false, ELSEWHERE];
        guesses.keep(key, { right: verdict[0], revealed: verdict[0] || isRevealed(key) });
        draw();
      },
      async giveUp() {
        if (getClass()?.teaches) return showToClass();
        guesses.giveUp(key);
        await travel.openAnswer(lesson, ready);
        await draw();
        focusAnswer();
      },
      openAnswer: () => travel.openAnswer(lesson, ready),
    };
  }

  // The button that had the focus is gone.
  function focusAnswer() {
    const answer = areas.body.querySelector(".hu-lesson-answer");
    answer?.focus({ preventScroll: true });
    answer?.scrollIntoView({ block: "nearest" });
  }

  return { draw, openLesson: travel.openLesson };
}

// The picture of the question. Look inside and Train do not mark the numbers that the answer names.
/** @param {import("./lesson-state.js").CardState} state */
function pictureNodes({ place, ready, isRevealed, guess }) {
  const isShown = place.page === LEARN || (isRevealed && place.page !== "");
  if (isShown && !ready) return [el("div", { class: "hu-lesson-figure" })]; // so that nothing moves when it arrives
  const picture = isShown ? ready.question?.picture : null;
  return picture ? [lessonPicture(picture, isRevealed, guess?.label)] : [];
}
