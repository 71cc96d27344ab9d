// What a lesson's card needs of the visitor's class: whether its answers are sealed, and how many there are.

import { classConnection, onClassChange } from "../frame/class-connection.js";

/**
 * A visitor's class. `led`: whether the visitor is a student who follows the teacher; `answers`: of the class to each
 * lesson, with the number of each option once the teacher shows them.
 * @typedef {{ code: string, teacher: string, teaches: boolean, led: boolean, members: number,
 *   answers: Record<string, { answered: boolean, count: number, counts: number[], shown: boolean }>,
 *   send(message: import("../frame/class-connection.js").ClassMessage): boolean }} ClassState
 */
/** @typedef {import("../frame/class-connection.js").ClassNews} ClassNews */

// The class of this tab; `changed()` is called at its news.
/** @param {() => void} changed */
export function listenToClass(changed) {
  let news = /** @type {ClassNews | null} */ (null);
  let endNews = () => {};

  function connect() {
    endNews();
    news = null;
    endNews = classConnection()?.onNews((latest) => {
      news = latest;
      changed();
    }) ?? (() => {});
  }

  const endChanges = onClassChange(connect);
  connect();
  return {
    // The class, or null while there are no news of it.
    /** @param {{ code: string, teacher: string } | null} group */
    state: (group) => (group && news ? classState(group, news) : null),
    close() {
      endNews();
      endChanges();
    },
  };
}

/** @param {{ code: string, teacher: string }} group @param {ClassNews} news @returns {ClassState} */
export function classState(group, news) {
  const answers = Object.entries(news.answers).map(([lesson, { shown, answered, count = 0, counts = {} }]) => {
    const options = Math.max(-1, ...Object.keys(counts).map(Number)) + 1;
    const numbers = Array.from({ length: options }, (_, option) => counts[option] ?? 0);
    return [lesson, { shown, answered, count, counts: numbers }];
  });
  return {
    ...group,
    teaches: news.role === "teacher",
    led: news.state === "follows",
    members: news.members ?? 0,
    answers: Object.fromEntries(answers),
    send: (message) => classConnection()?.send(message) ?? false,
  };
}
