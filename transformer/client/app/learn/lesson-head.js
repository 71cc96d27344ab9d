// The top of a lesson's card: where in the course it is, and its title.

import { el } from "../../common/base.js";
import { fill } from "../../common/sentences.js";

/** @typedef {import("./lesson-state.js").CardState} CardState */

// Where the lesson is in the course, and its title.
/** @param {CardState} state */
export function headNodes({ lesson, lessons, counts, isDone, group }) {
  const number = lessons.findIndex(({ name }) => name === lesson.name) + 1;
  const count = fill(lesson.extra ? "Extra lesson {number} of {count}" : "Lesson {number} of {count}", {
    number,
    count: lessons.length,
  });
  const { answered, right } = counts;
  const dots = lessons.map(({ name }) =>
    el("li", { "data-done": isDone(name) ? "" : null, "data-here": name === lesson.name ? "" : null })
  );
  return [
    el("p", { class: "hu-label" }, answered && !group?.teaches ? `${count} · ${rightAnswers(right, answered)}` : count),
    el("ol", { class: "hu-lesson-dots", "aria-hidden": "true" }, ...dots),
    el(
      "h2",
      { tabindex: -1 },
      lesson.title,
      lesson.section ? el("small", {}, ` Paper, section ${lesson.section}`) : null,
    ),
  ];
}

/** @param {number} right @param {number} answered */
export function rightAnswers(right, answered) {
  if (answered === 1) return right ? "One answer so far, and it is right." : "One answer so far, and it is wrong.";
  return fill("{right} of {answered} answers right", { right, answered });
}
