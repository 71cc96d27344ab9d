// The questions of lessons about the visitor's model, each requested once.

import { prepareLesson } from "./lesson-places.js";

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */

/** @param {Engine["ask"]} ask */
export function makePreparedLessons(ask) {
  /** @type {Map<string, Promise<PreparedLesson | null>>} */
  const requests = new Map();
  /** @type {Map<string, PreparedLesson>} */
  const answers = new Map();

  // The lesson with its question; null if a request for another lesson has replaced this one.
  /** @param {import("./lesson-places.js").OpenLesson} lesson @param {string} model @param {boolean} exact */
  function prepare(lesson, model, exact) {
    const key = lessonKey(lesson.key, model, exact);
    if (!requests.has(key)) {
      const answer = prepareLesson(ask, lesson, model, exact).then((result) => {
        if (result) answers.set(key, result);
        return result;
      }).finally(() => answers.has(key) || requests.delete(key));
      requests.set(key, answer);
    }
    return requests.get(key);
  }

  /** @param {string} key */
  const answerOf = (key) => answers.get(key) ?? null;
  return { prepare, answerOf };
}

/** @param {string} lesson its key @param {string} model @param {boolean} exact whether tokens are named as the model names them */
export const lessonKey = (lesson, model, exact) => JSON.stringify([lesson, model, exact]);
