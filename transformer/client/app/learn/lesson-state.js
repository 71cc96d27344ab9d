// What the card of a lesson is drawn from.

import { LEARN, questionPage } from "./lesson-places.js";
import { readReplacedModel } from "./replaced-model.js";

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */
/** @typedef {import("./lesson-places.js").OpenLesson} OpenLesson */
/** @typedef {import("../../common/open.js").Place} Place */
/**
 * `lessons`, `counts`, `end`: the course or the extra lessons, how many are done and right, and the name of what follows;
 * `ready`: null until the question is there; `verdict`: of the last check; `isElsewhere`: whether another page than the
 * lesson's, or another sentence, is open; `answerPage`: name of the page that shows the answer; `classCounts`: answers of
 * the class to each option.
 * @typedef {{ lesson: OpenLesson, lessons: Lesson[], counts: ReturnType<ReturnType<typeof import("./guesses.js").makeGuesses>["count"]>, end: string, place: Place,
 *   ready: PreparedLesson | null, verdict: [boolean, string] | null, guess: import("./guesses.js").Guess | null,
 *   group: import("./class-answers.js").ClassState | null, classCounts: number[], otherModelReason: string,
 *   isDone: (name: string) => boolean, isRevealed: boolean, isSealed: boolean, isElsewhere: boolean,
 *   isOnQuestionPage: boolean, answerPage: string, canOpenAnswer: boolean }} CardState
 */

/**
 * @param {import("./lesson-card.js").LessonContext} context
 * @param {ReturnType<typeof import("./disclosure.js").makeDisclosure>} disclosure
 * @param {ReturnType<typeof import("./lesson-travel.js").makeTravel>} travel
 */
export function makeCardState({ guesses, getClass, titles, canOpen }, disclosure, travel) {
  /**
   * @param {Course} course @param {SiteData} site @param {OpenLesson} lesson @param {Place} place
   * @param {PreparedLesson | null} ready @param {[boolean, string] | null} verdict
   * @returns {CardState}
   */
  return (course, site, lesson, place, ready, verdict) => {
    const { key } = lesson;
    const [group, isRevealed] = [getClass(), disclosure.isRevealed(key)];
    const lessons = course.lessons.filter(({ extra }) => extra === lesson.extra);
    const depth = site.depths.slice(1).find(([depth]) => depth === lesson.fields.depth);
    return {
      lesson,
      lessons,
      counts: guesses.count(lessons),
      end: course.end,
      place,
      ready,
      verdict,
      guess: disclosure.guessOf(key),
      group,
      classCounts: disclosure.isShown(key) ? group.answers[key].counts : [],
      otherModelReason: otherModelReason(lesson, ready),
      isDone: (name) => Boolean(guesses.of(name)?.revealed),
      isRevealed,
      isSealed: disclosure.isSealed(key),
      isElsewhere: isElsewhere(lesson, place, ready, isRevealed),
      isOnQuestionPage: place.page === questionPage(lesson),
      answerPage: depth?.[1] ?? titles()[lesson.page] ?? "",
      canOpenAnswer: Boolean(ready) && canOpen(travel.answerPlace(lesson, ready, site)),
    };
  };
}

// Why the lesson uses another model than the visitor's; "" if it does not. It is remembered, for the lessons that follow.
/** @param {Lesson} lesson @param {PreparedLesson | null} ready */
function otherModelReason(lesson, ready) {
  if (!ready?.question || lesson.task) return "";
  const replaced = readReplacedModel();
  return ready.reason || (replaced?.lesson === lesson.name ? replaced.reason : "");
}

// Whether another page than the lesson's, or another sentence, is open.
/** @param {Lesson} lesson @param {Place} place @param {PreparedLesson | null} ready @param {boolean} isRevealed */
function isElsewhere(lesson, { page, params }, ready, isRevealed) {
  if (page === LEARN && !lesson.in_place) return false;
  const isOwn = page === lesson.page && (lesson.in_place || isRevealed);
  return !isOwn || Boolean(ready && !lesson.task && (params.text ?? ready.text) !== ready.text);
}
