// The buttons of a lesson's card that lead to its neighbours, its own page and the list.

import { button } from "../../common/base.js";
import { scrollToFigure } from "./see-it.js";
import { LEARN } from "./lesson-places.js";
import { keptPlan } from "./kept-plan.js";
import { openPlace } from "../../common/open.js";

/**
 * @typedef {{ openLesson(name: string): void, returnToLesson(): void, close(): void }} WayActions `openLesson("")` opens
 *   the list
 */

/** @param {import("./lesson-state.js").CardState} state @param {WayActions} actions */
export function wayNodes({ lesson, lessons, end, place, ready, isRevealed, isElsewhere, isOnQuestionPage }, actions) {
  const at = lessons.findIndex(({ name }) => name === lesson.name);
  const [before, after] = [lessons[at - 1], lessons[at + 1]];
  const isFinished = ready && (isRevealed || !ready.question) && !isElsewhere;
  const label = after ? isFinished ? "Next →" : "Skip →" : "Finish →";
  return [
    ...(isOnQuestionPage && !isElsewhere ? [] : [
      button("Back to the lesson", actions.returnToLesson, {
        class: `hu-button${isElsewhere && ready?.question ? " hu-primary" : ""}`,
      }),
    ]),
    ...(before ? [button("← Previous", () => actions.openLesson(before.name))] : []),
    button(label, () => actions.openLesson(after ? after.name : end), {
      class: `hu-button hu-lesson-next${isFinished ? " hu-primary" : ""}`,
    }),
    ...planLink(),
    link("All lessons", () => actions.openLesson("")),
    ...(place.page === LEARN ? [] : [
      button("See it ↓", scrollToFigure, { class: "hu-link-text hu-lesson-see" }),
      link("Close", actions.close),
    ]),
  ];
}

// The way back to the plan that the visitor has opened in this tab.
function planLink() {
  const plan = keptPlan();
  return plan ? [link("Back to the plan", () => openPlace(LEARN, { plan }))] : [];
}

const link = (label, onClick) => button(label, onClick, { class: "hu-link-text" });
