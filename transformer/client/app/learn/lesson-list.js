// The page Learn: where to begin, all lessons with what the visitor has done, and the end of the course.

import { button, el, svgNode } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { LEARN } from "./lesson-places.js";

const COURSE =
  "{count} lessons, about {minutes} minutes. Guess first, then look: the answer is in the model's own numbers.";
const PROGRESS = "{done} of {count} lessons done, {right} correct at the first attempt.";
const CONTINUE = "Continue: {title} →";
const TRAINING = "A small model learns a task in this tab, and its heads form while you watch.";
const CLINIC = "Broken Transformers: find the mistake from what you see.";

/**
 * @param {HTMLElement} container
 * @param {{ ask: Engine["ask"], place: () => import("../../common/open.js").Place, titles: () => Record<string, string>,
 *   guesses: ReturnType<typeof import("./guesses.js").makeGuesses>, openLesson(name: string): void }} context
 *   titles: of the pages, by path
 */
export function lessonList(container, { ask, place, titles, guesses, openLesson }) {
  const node = el("div", { class: "hu-course" });
  container.append(node);
  /** @type {Course | null} */
  let course = null;
  /** @type {[string, string][]} */
  let depths = [];
  let drawnState = "";

  async function draw() {
    course ??= await ask("lessons");
    depths = (await ask("models")).depths;
    const { params, page } = place();
    if (page !== LEARN) return;
    const core = course.lessons.filter(({ extra }) => !extra);
    const others = course.lessons.filter(({ extra }) => extra);
    const open = params.lesson ?? "";
    const state = JSON.stringify([open, course.lessons.map(({ name }) => guesses.of(name))]);
    if (state === drawnState) return; // what is unfolded stays so, and a click that has begun is not lost
    drawnState = state;
    const lists = [
      ...parts(core),
      el("h2", {}, fill("Extra lessons · {minutes} minutes", { minutes: minutes(others) })),
      ...parts(others),
    ];
    node.replaceChildren(
      ...(open === course.end ? ending(core, others) : open ? [] : doors(core)),
      open ? el("details", {}, el("summary", {}, "All lessons"), ...lists) : el("div", {}, ...lists),
    );
  }

  // Where to begin.
  /** @param {Lesson[]} core */
  function doors(core) {
    const { done, right } = guesses.count(core);
    const next = core.find(({ name }) => !guesses.of(name)?.revealed) ?? core[0];
    const label = done && done < core.length ? fill(CONTINUE, { title: next.title }) : "Start the course →";
    return [
      el(
        "div",
        { class: "hu-doors" },
        door("The course", fill(COURSE, { count: core.length, minutes: minutes(core) }), core[0].picture, [
          ...(done ? [el("p", { class: "hu-note" }, fill(PROGRESS, { done, right, count: core.length }))] : []),
          button(label, () => openLesson(next.name), { class: "hu-button hu-primary hu-lesson-start" }),
        ]),
        door("Train a model", TRAINING, "000009 000090 000900 009000 090000 900000", [
          button("Train →", () => openPlace("train", {})),
        ]),
        door("Bug clinic", CLINIC, "909090 090909 909090 090009 909090 090909", [
          button("Open the clinic →", () => openPlace(LEARN, { clinic: "1" })),
        ]),
      ),
    ];
  }

  // The lessons by part of the course.
  /** @param {Lesson[]} lessons */
  function parts(lessons) {
    return [...new Set(lessons.map(({ part }) => part))].flatMap((part) => [
      el("h3", {}, part),
      el(
        "ol",
        { class: "hu-lessons" },
        ...lessons.filter((lesson) => lesson.part === part).map((lesson) => row(lesson, lessons.indexOf(lesson) + 1)),
      ),
    ]);
  }

  /** @param {Lesson} lesson @param {number} number */
  function row(lesson, number) {
    const depth = depths.slice(1).find(([name]) => name === lesson.fields.depth);
    const details = [
      fill(lesson.minutes === 1 ? "{minutes} minute" : "{minutes} minutes", { minutes: lesson.minutes }),
      fill("in {page}", { page: depth?.[1] ?? titles()[lesson.page] ?? "" }),
      ...(lesson.section ? [fill("paper, section {section}", { section: lesson.section })] : []),
      ...(lesson.misprint ? ["find the mistake"] : []),
    ];
    const guess = guesses.of(lesson.name);
    const status = guess?.revealed ? guess.right ? " · ✓ correct" : " · – done" : "";
    return el(
      "li",
      {},
      thumbnailPicture(lesson.picture),
      el(
        "div",
        {},
        button(`${number}. ${lesson.title}`, () => openLesson(lesson.name), { class: "hu-lesson-open" }),
        el("p", { class: "hu-note" }, details.join(" · "), status),
      ),
    );
  }

  // The last page of the course: a summary, the visitor's result and where to go next.
  /** @param {Lesson[]} core @param {Lesson[]} others */
  function ending(core, others) {
    const { done, right } = guesses.count(core);
    const left = core.filter(({ name }) => !guesses.of(name)?.revealed);
    const extra = guesses.count(others);
    return [
      el("h2", {}, "End of the course"),
      el("p", {}, fill(PROGRESS, { done, right, count: core.length })),
      ...(left.length ? [button(fill(CONTINUE, { title: left[0].title }), () => openLesson(left[0].name))] : []),
      el("p", {}, "What you learned:"),
      el("ul", {}, ...core.map(({ takeaway }) => el("li", {}, ...markdownNodes(takeaway)))),
      el(
        "div",
        { class: "hu-line" },
        button(fill("{count} extra lessons →", { count: others.length }), () => openLesson(others[0].name), {
          class: "hu-button hu-primary",
        }),
        button("Your own sentence →", () => openPlace("", {})),
        button("Train a model →", () => openPlace("train", {})),
        button("Published findings →", () => openPlace("research", { experiment: "findings" })),
        button("Start again", () => {
          guesses.reset();
          draw();
        }),
      ),
      ...(extra.done
        ? [
          el(
            "p",
            {},
            fill("Extra lessons: {done} of {count} done, {right} correct.", { ...extra, count: others.length }),
          ),
        ]
        : []),
    ];
  }
  return { draw };
}

function door(title, text, picture, nodes) {
  return el("div", { class: "hu-door" }, thumbnailPicture(picture), el("h2", {}, title), el("p", {}, text), ...nodes);
}

/** @param {Lesson[]} lessons */
const minutes = (lessons) => Math.round(lessons.reduce((sum, lesson) => sum + lesson.minutes, 0));

// A small picture of attention: rows of digits from 0 to 9, for weights from 0 to 1.
/** @param {string} levels rows separated by spaces */
function thumbnailPicture(levels) {
  const rows = levels.split(" ");
  const cells = rows.flatMap((row, y) =>
    [...row].map((level, x) => svgNode("rect", { x, y, width: 1, height: 1, "fill-opacity": Number(level) / 9 }))
  );
  const size = { viewBox: `0 0 ${rows[0].length} ${rows.length}`, width: 42, height: 42, "aria-hidden": "true" };
  return svgNode("svg", { ...size, class: "hu-lesson-thumbnail" }, ...cells);
}
