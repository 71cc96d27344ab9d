// The model that the visitor has chosen, while a lesson uses another one, which shows its effect. Kept in the session.

const MODEL_KEY = "heads-up-lesson-model";

/** @typedef {{ lesson: string, chosen: string, used: string, reason: string }} ReplacedModel */

/** @returns {ReplacedModel | null} */
export function readReplacedModel() {
  try {
    return JSON.parse(sessionStorage.getItem(MODEL_KEY) ?? "null");
  } catch {
    return null;
  }
}

/** @param {ReplacedModel | null} value */
export function keepReplacedModel(value) {
  try {
    sessionStorage.setItem(MODEL_KEY, JSON.stringify(value));
  } catch { /* the lessons that follow open with the other model */ }
}
