// The lessons whose question is about a sentence, by their names in addresses.

import { meeting, row, steps, umbrella } from "./first-questions.js";
import {
  ablation,
  attentionSink,
  checkAblation,
  checkPreviousWord,
  crossingWords,
  laterWord,
  previousWord,
} from "./head-questions.js";
import { infinity, lengths, memory, missing, norm, notSelf, units, value } from "./mathematics.js";

/** @typedef {import("./case.js").LessonCase} LessonCase */
/** @typedef {import("./case.js").Question} Question */

/** @type {Record<string, (lesson: LessonCase) => Question | Promise<Question>>} */
export const QUESTIONS = {
  umbrella,
  row,
  steps,
  meeting,
  back: previousWord,
  rest: attentionSink,
  ahead: laterWord,
  crossing: crossingWords,
  off: ablation,
  value,
  lengths,
  norm,
  missing,
  infinity,
  memory,
  self: notSelf,
  units,
};

// For lessons with something to find: whether these fields of the page show it.
/** @type {Record<string, (lesson: LessonCase, fields: any) => import("./head-questions.js").Check | Promise<import("./head-questions.js").Check>>} */
export const CHECKS = { back: checkPreviousWord, off: checkAblation };
