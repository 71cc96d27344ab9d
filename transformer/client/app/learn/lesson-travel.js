// The way through the course: opens lessons, the pages that show their answers, and the list.

import { openPlace } from "../../common/open.js";
import { LEARN, lessonAbout, placeOf } from "./lesson-places.js";
import { keepReplacedModel, readReplacedModel } from "./replaced-model.js";

const [OPEN_ATTEMPTS, OPEN_PAUSE_MS] = [100, 100];

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */
/** @typedef {import("./lesson-places.js").OpenLesson} OpenLesson */
/** @typedef {import("../../common/open.js").Place} Place */
/**
 * `load`: the course and the models, which it returns at once when they are known; `prepare`: as in prepared-lessons.js;
 * `isRevealed`: whether the answer of a lesson may be seen.
 * @typedef {{ place: () => Place, load: () => Promise<{ course: Course, site: SiteData }>,
 *   prepare: (lesson: OpenLesson, model: string, exact: boolean) => Promise<PreparedLesson | null>,
 *   isRevealed: (name: string) => boolean }} TravelContext
 */

let opensWithFocus = false; // whether a button of the card has opened the lesson that is drawn next

// Whether the lesson that is drawn now was opened by a button of the card, whose focus it takes over.
export function takeFocus() {
  const takes = opensWithFocus;
  opensWithFocus = false;
  return takes;
}

/** @param {TravelContext} context */
export function makeTravel({ place, load, prepare, isRevealed }) {
  // The place that shows the lesson's answer, or that asks the question until the answer may be seen.
  /** @param {OpenLesson} lesson @param {PreparedLesson} ready @param {SiteData} site */
  const answerPlace = (lesson, ready, site) =>
    placeOf(lesson, ready, isRevealed(lesson.key), place().params, firstModel(site));

  /** @param {OpenLesson} lesson @param {PreparedLesson} ready */
  async function openAnswer(lesson, ready) {
    if (ready.reason && ready.question && !lesson.task) {
      const chosen = readReplacedModel()?.chosen ?? place().params.model ?? "";
      keepReplacedModel({ lesson: lesson.name, chosen, used: ready.model, reason: ready.reason });
    }
    const { page, params } = answerPlace(lesson, ready, (await load()).site);
    await openSoon(page, params);
  }

  // Open a lesson, "" for the list, with the model that the visitor has chosen; `sentence` is a teacher's own.
  /** @param {string} name @param {string} [sentence] */
  async function openLesson(name, sentence = "") {
    const { course, site } = await load();
    opensWithFocus = Boolean(name);
    const { params } = place();
    const replaced = readReplacedModel();
    let model = params.model ?? "";
    if (replaced && replaced.used === (model || firstModel(site))) model = replaced.chosen;
    if (replaced) keepReplacedModel(null);
    const known = course.lessons.find((each) => each.name === name);
    if (known?.in_place) {
      const lesson = lessonAbout(known, sentence);
      const ready = await prepare(lesson, model || firstModel(site), params.exact === "1");
      if (ready) await openAnswer(lesson, ready);
      return;
    }
    openPlace(LEARN, questionFields({ name, ownSentence: sentence }, { ...params, model }));
  }

  // Return from another page or sentence to that of the lesson.
  /** @param {OpenLesson} lesson @param {PreparedLesson | null} ready */
  const returnTo = (lesson, ready) =>
    lesson.in_place && ready ? openAnswer(lesson, ready) : openLesson(lesson.name, lesson.ownSentence);

  function close() {
    const { page, params: { lesson: _, lesson_text: __, ...params } } = place();
    openPlace(page, params);
  }

  return { answerPlace, openAnswer, openLesson, returnTo, close };
}

// The fields of the address that asks a lesson's question, with the visitor's model and names of tokens.
/** @param {{ name: string, ownSentence: string }} lesson @param {Record<string, string | undefined>} params */
export function questionFields({ name, ownSentence }, { model, exact }) {
  const fields = Object.entries({ model, exact, lesson: name, lesson_text: ownSentence }).filter(([, value]) => value);
  return /** @type {Record<string, string>} */ (Object.fromEntries(fields));
}

/** @param {SiteData} site */
export const firstModel = (site) => Object.keys(site.models)[0] ?? "";

// Open a place, also while the page is being drawn and what opens places is not there yet.
/** @param {string} page @param {Record<string, string>} params */
export async function openSoon(page, params) {
  for (let attempt = 0; attempt < OPEN_ATTEMPTS && !openPlace(page, params); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, OPEN_PAUSE_MS));
  }
}
