// The table of decoding steps, by token or by whole word with its alternatives.

import { translatedWords } from "./glance-data.js";
import { wordNumbers } from "./words.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */
/** @typedef {{ token: string, id: number, probability: number, step?: number }} TableCandidate */
/**
 * `first` is the decoding step of a word's first token, `tokens` their number.
 * @typedef {{
 *   step: number, first: number, input: string[], candidates: TableCandidate[], chosen: TableCandidate, last: boolean,
 *   tokens: number, forced: boolean, canForce: boolean,
 * }} TableRow
 */

/**
 * @typedef {{ live?: boolean, forced?: number }} TableOptions
 *   live: whether the page reacts to a click; forced: the step at which a token was forced, from 0; -1 for none: only one
 *   can be forced, so candidates of later steps cannot be chosen
 */

/** @param {ViewTrace} trace @param {TableOptions} options @returns {TableRow[]} */
export const tokenRows = (trace, options) =>
  trace.steps.map(({ candidates, chosen }, step) => ({
    step: step + 1,
    first: step,
    input: trace.tgtTokens.slice(0, step + 1),
    candidates,
    chosen,
    last: chosen.token === "</s>",
    ...notesOfSteps([step], options),
  }));

// Rows of whole words. Probabilities are those of tokens, as products over different numbers of tokens cannot be
// compared. The last row is the end, if the translation is finished.
/** @param {ViewTrace} trace @param {import("./glance-data.js").WordAlternative[][]} alternatives @param {TableOptions} options @returns {TableRow[]} */
export function wordRows(trace, alternatives, options) {
  const numbers = wordNumbers(trace.predictedTokens);
  const words = translatedWords(trace);
  const input = ["<s>", ...words.map(({ text }) => text)];
  const rows = words.map(({ text, p }, word) => {
    const steps = numbers.flatMap((number, step) => (number === word ? [step] : []));
    const chosen = { token: text, id: trace.steps[steps[0]].chosen.id, step: steps[0], probability: p };
    const others = (alternatives[word] ?? []).map((other) => ({
      token: other.text,
      id: other.ids[0],
      step: other.step,
      probability: other.p,
    }));
    return {
      step: word + 1,
      first: steps[0],
      input: input.slice(0, word + 1),
      candidates: [chosen, ...others].sort((a, b) => b.probability - a.probability),
      chosen,
      last: false,
      ...notesOfSteps(steps, options),
    };
  });
  const end = trace.steps.length - 1;
  if (end >= 0 && trace.steps[end].chosen.token === "</s>") {
    const chosen = { ...trace.steps[end].chosen, step: end };
    rows.push({
      step: rows.length + 1,
      first: end,
      input,
      candidates: [chosen],
      chosen,
      last: true,
      ...notesOfSteps([end], options),
    });
  }
  return rows;
}

/** @param {number[]} steps of one row @param {TableOptions} options */
function notesOfSteps(steps, { live = false, forced = -1 }) {
  return {
    tokens: steps.length,
    forced: steps.includes(forced),
    canForce: live && (forced < 0 || forced >= steps[0]),
  };
}
