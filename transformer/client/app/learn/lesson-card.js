// The card of the open lesson, which the field `lesson` of the address names. On the page Learn it asks the question and
// shows the answer in the same place; on the page of the answer it is beside what it describes.

import { el, replaceChanged } from "../../common/base.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { makeDisclosure } from "./disclosure.js";
import { headNodes } from "./lesson-head.js";
import { lessonPicture } from "./lesson-picture.js";
import { checkPlace, LEARN, needsOpening, placeOf, questionPage } from "./lesson-places.js";
import { bodyNodes } from "./lesson-question.js";
import { wayNodes } from "./lesson-way.js";
import { lessonKey, makePreparedLessons } from "./prepared-lessons.js";
import { keepReplacedModel, readReplacedModel } from "./replaced-model.js";

const UNKNOWN_LESSON = "There is no lesson “{name}”. The first lesson is “{first}”.";
const ELSEWHERE = "The page now shows something else. Press *Back to the lesson* first.";
const [OPEN_ATTEMPTS, OPEN_PAUSE_MS] = [100, 100];
const AREAS = ["head", "drawing", "body", "way"]; // of the card

let hasOpenedPlace = false; // whether this document has shown a place; only its first one may be a link to an answer
let focusesTitle = false; // whether a button of the card has opened the lesson, so that its title gets the focus

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */
/** @typedef {import("../../common/open.js").Place} Place */
/**
 * What the card is drawn from. `lessons`, `counts`, `end`: the course or the extra lessons, how many are done and right,
 * and the name of what follows; `ready`: null until the question is there; `verdict`: of the last check;
 * `isElsewhere`: whether another page than the lesson's, or another sentence, is open; `answerPage`: name of the page
 * that shows the answer; `classCounts`: answers of the class to each option.
 * @typedef {{ lesson: Lesson, lessons: Lesson[], counts: { done: number, right: number }, end: string, place: Place,
 *   ready: PreparedLesson | null, verdict: [boolean, string] | null, guess: import("./guesses.js").Guess | null,
 *   group: import("./class-answers.js").ClassState | null, classCounts: number[], otherModelReason: string,
 *   isDone: (name: string) => boolean, isRevealed: boolean, isSealed: boolean, isElsewhere: boolean,
 *   isOnQuestionPage: boolean, answerPage: string, canOpenAnswer: boolean }} CardState
 */
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
  const questions = makePreparedLessons(ask);
  /** @type {Course | null} */
  let course = null;
  /** @type {SiteData | null} */
  let site = null;
  /** @type {[boolean, string] | null} */
  let verdict = null; // of the last check
  let [drawnKey, drawnState] = ["", ""];

  const lessonNamed = (name) => course?.lessons.find((each) => each.name === name);
  const { guessOf, isSealed, isShown, isRevealed } = makeDisclosure({ guesses, getClass, lessonNamed });
  const firstModel = () => Object.keys(site.models)[0] ?? "";

  async function load() {
    course ??= await ask("lessons");
    site ??= await ask("models");
  }

  async function draw() {
    const place = context.place();
    const name = place.params.lesson ?? "";
    const isFirst = !hasOpenedPlace;
    hasOpenedPlace = true;
    if (!name) return hide();
    await load();
    if (name !== context.place().params.lesson) return; // a newer place
    if (name === course.end) return hide();
    const lesson = lessonNamed(name);
    node.hidden = false;
    onVisible(true);
    if (!lesson) return showUnknown(name);
    const { model = firstModel(), exact } = place.params;
    const key = lessonKey(name, model, exact === "1");
    if (key !== drawnKey) [drawnKey, verdict] = [key, null];
    if (isFirst && !isRevealed(name) && place.page === lesson.page && place.page !== questionPage(lesson)) {
      return openSoon(LEARN, { lesson: name, ...(place.params.model ? { model } : {}) });
    }
    if (!questions.answerOf(key)) {
      render(lesson, place, null);
      await questions.prepare(lesson, model, exact === "1");
      if (key !== drawnKey || !questions.answerOf(key)) return; // a newer request
    }
    const ready = questions.answerOf(key);
    const isAskedElsewhere = lesson.in_place && place.page === LEARN;
    if (isFirst && (isAskedElsewhere || needsOpening(lesson, place, isRevealed(name)))) {
      return openAnswerOf(lesson, ready);
    }
    const guess = guessOf(name);
    if (guess && !guess.revealed && guess.label && isRevealed(name)) guesses.keep(name, { ...guess, revealed: true });
    render(lesson, context.place(), ready);
  }

  function hide() {
    node.hidden = true;
    drawnState = "";
    for (const area of Object.values(areas)) area.replaceChildren();
    onVisible(false);
  }

  /** @param {string} name */
  function showUnknown(name) {
    drawnState = "";
    for (const area of Object.values(areas)) area.replaceChildren();
    areas.head.append(el("p", { role: "alert" }, fill(UNKNOWN_LESSON, { name, first: course.lessons[0].name })));
  }

  /** @param {Lesson} lesson @param {Place} place @param {PreparedLesson | null} ready @returns {CardState} */
  function stateOf(lesson, place, ready) {
    const { name } = lesson;
    const lessons = course.lessons.filter(({ extra }) => extra === lesson.extra);
    const group = getClass();
    const depth = site.depths.slice(1).find(([name]) => name === lesson.fields.depth);
    return {
      lesson,
      lessons,
      counts: guesses.count(lessons),
      end: course.end,
      place,
      ready,
      verdict,
      guess: guessOf(name),
      group,
      classCounts: isShown(name) ? group.answers[name].counts : [],
      otherModelReason: otherModelReason(lesson, ready),
      isDone: (name) => Boolean(guesses.of(name)?.revealed),
      isRevealed: isRevealed(name),
      isSealed: isSealed(name),
      isElsewhere: isElsewhere(lesson, place, ready),
      isOnQuestionPage: place.page === questionPage(lesson),
      answerPage: depth?.[1] ?? context.titles()[lesson.page] ?? "",
      canOpenAnswer: Boolean(ready) && context.canOpen(answerPlace(lesson, ready)),
    };
  }

  // Draw the card if something on it has changed. What stays equal keeps its focus, and a click that has begun.
  /** @param {Lesson} lesson @param {Place} place @param {PreparedLesson | null} ready */
  function render(lesson, place, ready) {
    const state = stateOf(lesson, place, ready);
    const { isElsewhere, guess, group } = state;
    const key = JSON.stringify([drawnKey, place.page, Boolean(ready), isElsewhere, verdict, guess, group]);
    if (key === drawnState) return;
    const isSameQuestion = drawnState && JSON.parse(drawnState)[0] === drawnKey;
    drawnState = key;
    // Look inside and Train do not mark the numbers that the answer names.
    const hasPicture = place.page === LEARN || (state.isRevealed && place.page !== "");
    const picture = hasPicture ? ready?.question?.picture : null;
    node.classList.toggle("hu-lesson-wide", place.page === LEARN);
    const parts = {
      head: headNodes(state),
      drawing: picture ? [lessonPicture(picture, state.isRevealed, guess?.label)] : [],
      body: bodyNodes(state, bodyActions(lesson, ready)),
      way: wayNodes(state, { openLesson, returnToLesson: () => returnTo(lesson, ready), close }),
    };
    for (const [name, nodes] of Object.entries(parts)) {
      if (isSameQuestion) replaceChanged(areas[name], nodes);
      else areas[name].replaceChildren(...nodes);
    }
    if (focusesTitle) areas.head.querySelector("h2").focus({ preventScroll: true });
    focusesTitle = false;
  }

  /** @param {Lesson} lesson @param {PreparedLesson | null} ready @returns {import("./lesson-question.js").Actions} */
  function bodyActions(lesson, ready) {
    const { name } = lesson;
    return {
      async choose(number) {
        const group = getClass(); // now, as this button may be older than the last news
        group?.send({ answer: { lesson: name, option: number } });
        const { options, correct } = ready.question;
        const answer = { label: options[number].label, right: number === correct, group: group?.code };
        guesses.keep(name, { ...answer, revealed: !isSealed(name) });
        await draw(); // in a class its news draw the answer
        focusAnswer();
      },
      showToClass: () => getClass().send({ show: name }),
      async check() {
        const { page, params } = context.place();
        verdict = page === lesson.page && params.text === ready.text
          ? await checkPlace(ask, ready.question, ready, params)
          : [false, ELSEWHERE];
        guesses.keep(name, { right: verdict[0], revealed: verdict[0] || isRevealed(name) });
        draw();
      },
      async giveUp() {
        if (getClass()?.teaches) return getClass().send({ show: name });
        guesses.keep(name, {});
        openAnswerOf(lesson, ready);
        await draw();
        focusAnswer();
      },
      openAnswer: () => openAnswerOf(lesson, ready),
    };
  }

  // The button that had the focus is gone.
  function focusAnswer() {
    const answer = areas.body.querySelector(".hu-lesson-answer");
    answer?.focus({ preventScroll: true });
    answer?.scrollIntoView({ block: "nearest" });
  }

  // Why the lesson uses another model than the visitor's; "" if it does not. It is remembered, for the lessons that follow.
  /** @param {Lesson} lesson @param {PreparedLesson | null} ready */
  function otherModelReason(lesson, ready) {
    if (!ready?.question || lesson.task) return "";
    const replaced = readReplacedModel();
    return ready.reason || (replaced?.lesson === lesson.name ? replaced.reason : "");
  }

  // Whether another page than the lesson's, or another sentence, is open.
  /** @param {Lesson} lesson @param {Place} place @param {PreparedLesson | null} ready */
  function isElsewhere(lesson, { page, params }, ready) {
    if (page === LEARN && !lesson.in_place) return false;
    const isOwn = page === lesson.page && (lesson.in_place || isRevealed(lesson.name));
    return !isOwn || Boolean(ready && !lesson.task && (params.text ?? ready.text) !== ready.text);
  }

  /** @param {Lesson} lesson @param {PreparedLesson} ready */
  const answerPlace = (lesson, ready) =>
    placeOf(lesson, ready, isRevealed(lesson.name), context.place().params, firstModel());

  // Open the page that shows the lesson's answer, or that asks the question until the answer may be seen.
  /** @param {Lesson} lesson @param {PreparedLesson} ready */
  function openAnswerOf(lesson, ready) {
    if (ready.reason && ready.question && !lesson.task) {
      const chosen = readReplacedModel()?.chosen ?? context.place().params.model ?? "";
      keepReplacedModel({ lesson: lesson.name, chosen, used: ready.model, reason: ready.reason });
    }
    const { page, params } = answerPlace(lesson, ready);
    openSoon(page, params);
    draw();
  }

  /** @param {Lesson} lesson @param {PreparedLesson | null} ready */
  const returnTo = (lesson, ready) => lesson.in_place && ready ? openAnswerOf(lesson, ready) : openLesson(lesson.name);

  function close() {
    const { page, params: { lesson: _, ...params } } = context.place();
    openPlace(page, params);
  }

  // Open a lesson, "" for the list, with the model that the visitor has chosen.
  /** @param {string} name */
  async function openLesson(name) {
    await load();
    focusesTitle = Boolean(name);
    const { params } = context.place();
    const replaced = readReplacedModel();
    let model = params.model ?? "";
    if (replaced && replaced.used === (model || firstModel())) model = replaced.chosen;
    if (replaced) keepReplacedModel(null);
    const lesson = lessonNamed(name);
    if (lesson?.in_place) {
      const ready = await questions.prepare(lesson, model || firstModel(), params.exact === "1");
      if (ready) openAnswerOf(lesson, ready);
      return;
    }
    const shared = Object.entries({ model, exact: params.exact, lesson: name }).filter(([, value]) => value);
    openPlace(LEARN, Object.fromEntries(shared));
  }

  return { draw, openLesson };
}

// Open a place, also while the page is being drawn and what opens places is not there yet.
/** @param {string} page @param {Record<string, string>} params */
async function openSoon(page, params) {
  for (let attempt = 0; attempt < OPEN_ATTEMPTS && !openPlace(page, params); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, OPEN_PAUSE_MS));
  }
}
