// The page Learn: the course as a path, training, the Bug clinic, and the end of the course.

import { button, el } from "../../common/base.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { symptomPicture } from "../clinic/symptoms.js";
import { CONTINUE, courseEnd, PROGRESS } from "./course-end.js";
import { coursePath } from "./course-path.js";
import { CLINIC_PLACE, LEARN } from "./lesson-places.js";
import { stationPicture } from "./station-picture.js";

const COURSE =
  "{count} lessons, about {minutes} minutes. Guess first, then look: the answer is in the model's own numbers.";
const TRAINING =
  "A small model learns a task in this tab, and its heads form while you watch. Switch one off, and see both runs go on.";
const CLINIC = "Broken Transformers: find the mistake from what you see, then the line that repairs it.";
const IN_TAB = { page: "train", params: { here: "task=reverse" } };
const FILM = [
  "344444 443444 444434 434443 444344 344434",
  "223346 332363 223633 336322 363232 632332",
  "000009 000090 000900 009000 090000 900000",
]; // a head of the task Reverse: before, during and after training

/**
 * @typedef {import("./lesson-card.js").LessonContext & { openLesson: (name: string, sentence?: string) => void }} ListContext
 */

/** @param {HTMLElement} container @param {ListContext} context */
export function lessonList(container, context) {
  const { ask, place, guesses, openLesson } = context;
  const node = el("div", { class: "hu-course" });
  container.append(node);
  /** @type {Course | null} */
  let course = null;
  let drawnState = "";

  async function draw() {
    course ??= await ask("lessons");
    const { params, page } = place();
    if (page !== LEARN) return;
    const [core, others] = [false, true].map((isExtra) => course.lessons.filter(({ extra }) => extra === isExtra));
    const open = params.lesson ?? "";
    node.hidden = Boolean(params.plan);
    const state = JSON.stringify([open, course.lessons.map(({ name }) => guesses.of(name))]);
    if (state === drawnState) return; // a click that has begun is not lost
    drawnState = state;
    const nodes = open === course.end
      ? courseEnd(core, others, context, restart)
      : open
      ? []
      : [overview(core), ...extraLessons(others)];
    node.replaceChildren(...nodes);
  }

  function restart() {
    guesses.reset();
    draw();
  }

  // The course, and beside it the two other places to learn.
  /** @param {Lesson[]} core */
  function overview(core) {
    const { done, right } = guesses.count(core);
    const next = core.find(({ name }) => !guesses.of(name)?.revealed) ?? core[0];
    const label = done && done < core.length ? fill(CONTINUE, { title: next.title }) : "Start the course →";
    const progress = fill(PROGRESS, { done, right, count: core.length });
    return el(
      "div",
      { class: "hu-learn" },
      el(
        "div",
        { class: "hu-learn-head" },
        el("h2", {}, "The course"),
        el("p", {}, fill(COURSE, { count: core.length, minutes: minutes(core) })),
        ...(done ? [el("p", { class: "hu-note" }, progress)] : []),
        button(label, () => openLesson(next.name), { class: "hu-button hu-primary hu-lesson-start" }),
      ),
      el(
        "div",
        { class: "hu-doors" },
        door("Train a model", TRAINING, FILM.map(stationPicture), "Train →", IN_TAB),
        door("Bug clinic", CLINIC, [symptomPicture("perfect_loss")], "Open the clinic →", CLINIC_PLACE),
      ),
      coursePath(core, guesses, openLesson),
    );
  }

  /** @param {Lesson[]} others */
  const extraLessons = (others) => [
    el("h2", {}, fill("Extra lessons · {minutes} minutes", { minutes: minutes(others) })),
    coursePath(others, guesses, openLesson),
  ];
  return { draw };
}

// A place to learn: all of the card opens it.
/**
 * @param {string} title @param {string} text @param {Node[]} pictures @param {string} label
 * @param {import("../../common/open.js").Place} place
 */
const door = (title, text, pictures, label, { page, params }) =>
  el(
    "section",
    { class: "hu-door" },
    el("div", { class: "hu-door-art" }, ...pictures),
    el("h2", {}, title),
    el("p", {}, text),
    button(label, () => openPlace(page, params)),
  );

/** @param {Lesson[]} lessons */
const minutes = (lessons) => Math.round(lessons.reduce((sum, lesson) => sum + lesson.minutes, 0));
