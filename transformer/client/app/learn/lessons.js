// The lessons of a page: the card of the open lesson, and on the page Learn the course. The address says which lesson is open.

import { el } from "../../common/base.js";
import { makeGuesses } from "./guesses.js";
import { lessonCard } from "./lesson-card.js";
import { lessonList } from "./lesson-list.js";
import { LEARN } from "./lesson-places.js";
import { planView } from "./plan-view.js";

/**
 * @param {HTMLElement} container
 * @param {{ page: string, ask: Engine["ask"], place: () => import("../../common/open.js").Place,
 *   titles: () => Record<string, string>, canOpen?: (place: import("../../common/open.js").Place) => boolean,
 *   getClass?: () => import("./class-answers.js").ClassState | null, onVisible?: (isVisible: boolean) => void }} context
 *   `page`: the path of the page; `titles`: of all pages, by path; `canOpen`: whether something opens a place
 */
export function openLessons(container, context) {
  const { page, canOpen = () => true, getClass = () => null, onVisible = () => {} } = context;
  const problem = el("p", { class: "hu-note", role: "status" });
  container.append(problem);
  const full = { ...context, ask: withMemory(context.ask), canOpen, getClass, onVisible, guesses: makeGuesses() };
  const card = lessonCard(container, full);
  const more = { ...full, openLesson: card.openLesson };
  const others = page === LEARN ? [lessonList(container, more), planView(container, more)] : [];
  return {
    /** @param {string} text */
    say(text) {
      problem.textContent = text;
    },
    draw() {
      problem.textContent = "";
      for (const part of [card, ...others]) {
        part.draw().catch((error) => {
          problem.textContent = error.message;
        });
      }
    },
  };
}

// `ask` that asks for the course and the models only once.
/** @param {Engine["ask"]} ask @returns {Engine["ask"]} */
function withMemory(ask) {
  const answers = new Map();
  return (kind, request) => {
    if (kind !== "lessons" && kind !== "models") return ask(kind, request);
    if (!answers.has(kind)) answers.set(kind, ask(kind, request));
    return answers.get(kind);
  };
}
