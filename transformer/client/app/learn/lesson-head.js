// The top of a lesson's card: where in the course it is, and its title.

import { el } from "../../common/base.js";
import { fill } from "../../common/sentences.js";

/** @typedef {import("./lesson-state.js").CardState} CardState */

// Where the lesson is in the course, and its title.
/** @param {CardState} state */
export function headNodes({ lesson, lessons, counts, isDone, group }) {
  const number = lessons.indexOf(lesson) + 1;
  const count = fill(lesson.extra ? "Extra lesson {number} of {count}" : "Lesson {number} of {count}", {
    number,
    count: lessons.length,
  });
  const { done, right } = counts;
  const dots = lessons.map(({ name }) =>
    el("li", { "data-done": isDone(name) ? "" : null, "data-here": name === lesson.name ? "" : null })
  );
  return [
    el("p", { class: "hu-label" }, done && !group?.teaches ? `${count} · ${rightAnswers(right, done)}` : count),
    el("ol", { class: "hu-lesson-dots", "aria-hidden": "true" }, ...dots),
    el(
      "h2",
      { tabindex: -1 },
      lesson.title,
      lesson.section ? el("small", {}, ` Paper, section ${lesson.section}`) : null,
    ),
  ];
}

/** @param {number} right @param {number} done */
export function rightAnswers(right, done) {
  if (done === 1) return right ? "The one answer is right." : "The one answer is wrong.";
  return fill("{right} of {done} answers right", { right, done });
}
