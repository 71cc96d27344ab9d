// The line below the picture of a translation: its least certain word, which is marked in the picture, and what is wrong
// with the translation, if that is known.

import { button, el, wordsNode } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { wholePercent } from "../../common/numbers.js";
import { fillNodes } from "../../common/sentences.js";
import { leastCertain, withoutPunctuation } from "./glance-playback.js";

const LEAST = "{word}: {share}, least certain";
const WHY = "Why?";

/** @typedef {{ text: string, p: number }} ShownWord */
/** @typedef {{ text: string, wrong: string, note: string }} Mistake a sentence, a word that shows what goes wrong, and an explanation (Markdown) */

// The known mistake of a sentence if the translation makes it, and the number of the wrong word; else null.
/** @param {{ mistakes?: Mistake[], text: string, words: ShownWord[] }} data */
export function mistakeIn({ mistakes = [], text, words }) {
  const mistake = mistakes.find((each) => each.text === text);
  const word = mistake ? words.findIndex((each) => withoutPunctuation(each.text) === mistake.wrong) : -1;
  return word < 0 ? null : { ...mistake, word };
}

// The line below the picture. `ask(word)` is called with the word to explain, -1 for none.
/** @param {(word: number) => void} ask */
export function makeLeast(ask) {
  let [word, isAsked] = [-1, false];
  const least = el("span", {});
  const question = el("span", { class: "hu-why" }, WHY);
  const why = button([least, question], () => ask(isAsked ? -1 : word), { class: "hu-button hu-least-button" });
  const wrong = el("p", { class: "hu-glance-mistake", role: "note" });
  const node = el("div", { class: "hu-glance-least" }, why, wrong);

  // `isPlaying`: while words are being written, nothing is said about them.
  /** @param {any} data @param {boolean} isPlaying */
  function draw(data, isPlaying) {
    word = leastCertain(data.words, data.forced_word);
    isAsked = data.why >= 0 && data.why === word;
    const mistake = mistakeIn(data);
    node.classList.toggle("hu-waits", isPlaying);
    why.hidden = word < 0;
    why.setAttribute("aria-pressed", String(isAsked));
    why.disabled = question.hidden = data.prefix.length > 0; // the address does not have the visitor's own words
    wrong.hidden = !mistake;
    wrong.replaceChildren(...(mistake ? markdownNodes(mistake.note) : []));
    if (word < 0) return;
    const { text, p } = data.words[word];
    const shownWord = wordsNode(withoutPunctuation(text), data.languages[1]);
    least.replaceChildren(...fillNodes(LEAST, { word: shownWord, share: wholePercent(p) }));
  }
  return { node, draw };
}
