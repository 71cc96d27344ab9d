// The lessons whose question is about a picture of one sentence, by their names in addresses.

import { LessonUnavailable } from "./case.js";
import { meeting, row, steps, umbrella } from "./first-questions.js";
import { attentionSink, crossingWords, laterWord, memory, notSelf, previousWord } from "./head-questions.js";

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
  memory,
  self: notSelf,
};

// The question of a lesson, or why the sentence does not show what the lesson is about.
/** @param {string} name @param {() => LessonCase} makeCase @returns {Promise<{ question?: Question, missing?: string }>} */
export async function questionOf(name, makeCase) {
  try {
    return { question: await QUESTIONS[name](makeCase()) };
  } catch (error) {
    if (!(error instanceof LessonUnavailable)) throw error;
    return { missing: error.message };
  }
}
