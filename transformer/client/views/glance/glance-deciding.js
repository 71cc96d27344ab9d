// Which head decides about a word of the translation: the one without which its probability changes most.

import { argmax, button, el } from "../../common/base.js";
import { headOfCode, KINDS } from "../../common/head-codes.js";
import { headName } from "../../common/naming.js";
import { twoPercents } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";

const PENDING = "Switching off each head once, to see which one decides …";
const DECIDES = {
  falls: "{head} decides most, for this word: without it the probability falls from {before} to {after}.",
  rises: "{head} decides most, against this word: without it the probability rises from {before} to {after}.",
  none: "No single head decides: without any one of them the probability stays the same.",
};

/** @typedef {{ code: string, before: number, after: number }} DecidingHead `code` as in the address; the word's probability with and without the head */

// The head without which the probability of a word changes most. `losses` are those of the request "importance".
/** @param {[string, number][]} losses @param {number} before @returns {DecidingHead | null} */
export function decidingHead(losses, before) {
  if (!losses.length) return null;
  const probabilities = losses.map(([, loss]) => Math.min(1, before * Math.exp(-loss)));
  const number = argmax(probabilities.map((after) => Math.abs(after - before)));
  return { code: losses[number][0], before, after: probabilities[number] };
}

/** @param {DecidingHead} deciding */
export function decidingSentence({ code, before, after }) {
  const percents = twoPercents(before, after);
  if (!percents) return DECIDES.none;
  const { kind, layer, head } = headOfCode(code);
  return fill(DECIDES[after < before ? "falls" : "rises"], {
    head: `${KINDS[kind]}, ${headName({ layer, head })},`,
    before: percents[0],
    after: percents[1],
  });
}

// Which head decides about the explained word, with a button that switches it off; nothing if that is not asked.
/** @param {any} data @param {(code: string) => void} switchOff @returns {Node[]} */
export function decidingNodes({ why, deciding }, switchOff) {
  if (why < 0 || !deciding) return [];
  if (deciding.problem) return [el("p", {}, deciding.problem)];
  if (!deciding.head) return [el("p", { class: "hu-note" }, PENDING)];
  const sentence = decidingSentence(deciding.head);
  const off = button("Switch it off", () => switchOff(deciding.head.code), { class: "hu-button" });
  return [el("p", {}, sentence), ...(sentence === DECIDES.none ? [] : [off])];
}
