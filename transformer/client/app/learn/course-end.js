// The last page of the course: a summary, the visitor's result and where to go next.

import { button, el } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { CLINIC_PLACE } from "./lesson-places.js";
import { stationPicture } from "./station-picture.js";

const FINDINGS = { page: "research", params: { experiment: "findings" } };
export const PROGRESS = "{done} of {count} lessons done, {right} correct at the first attempt.";
export const CONTINUE = "Continue: {title} →";
const EXTRA = "Extra lessons: {done} of {count} done, {right} correct.";

/**
 * @param {Lesson[]} core @param {Lesson[]} others the extra lessons
 * @param {import("./lesson-list.js").ListContext} context @param {() => void} restart
 */
export function courseEnd(core, others, { guesses, openLesson, canOpen }, restart) {
  const { done, right } = guesses.count(core);
  const left = core.filter(({ name }) => !guesses.of(name)?.revealed);
  const extra = guesses.count(others);
  const findings = button("Published findings →", () => openPlace(FINDINGS.page, FINDINGS.params));
  return [
    el("h2", {}, "End of the course"),
    el("p", {}, fill(PROGRESS, { done, right, count: core.length })),
    ...(left.length ? [button(fill(CONTINUE, { title: left[0].title }), () => openLesson(left[0].name))] : []),
    el("h3", {}, "What you learned"),
    el(
      "ul",
      { class: "hu-takeaways" },
      ...core.map(({ takeaway, picture }, n) =>
        el("li", {}, stationPicture(picture), el("span", {}, `${n + 1}. `, ...markdownNodes(takeaway)))
      ),
    ),
    el(
      "div",
      { class: "hu-line" },
      button(fill("{count} extra lessons →", { count: others.length }), () => openLesson(others[0].name), {
        class: "hu-button hu-primary",
      }),
      button("Your own sentence →", () => openPlace("", {})),
      button("Train a model →", () => openPlace("train", {})),
      button("Bug clinic →", () => openPlace(CLINIC_PLACE.page, CLINIC_PLACE.params)),
      ...(canOpen(FINDINGS) ? [findings] : []),
      button("All lessons", () => openLesson("")),
      button("Start again", restart),
    ),
    ...(extra.done ? [el("p", {}, fill(EXTRA, { ...extra, count: others.length }))] : []),
  ];
}
