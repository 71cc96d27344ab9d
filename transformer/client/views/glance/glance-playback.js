// The animation of the first page: its timing, the bands, the sentence about each step, the alternatives and
// the playback buttons.

import { button, el, wordsNode } from "../../common/base.js";
import { decidingNodes } from "./glance-deciding.js";
import { wholePercent } from "../../common/numbers.js";
import { byPointer } from "../../common/pointing.js";
import { fill } from "../../common/sentences.js";

const PLAYBACK_HINT =
  "Hover over a word to see what the marked head attends to {time}; click it to see how it was chosen.";
const PLAYBACK_TAP_HINT = "Tap a word to see what the marked head attends to {time}, and how it was chosen.";

// What the percentages of words mean; shown where words are compared.
const PERCENTAGES_NOTE =
  "Each percentage is the probability of the first part of a word that differs from the chosen word.";

const MIN_BAND_WEIGHT = 0.04; // smallest weight with a band

const PLAY_DURATIONS = [5200, 420, 1150]; // ms: the whole translation, minimum and maximum per step
const TYPING_DURATIONS = [1500, 90, 420]; // the same while the user is typing

// The first word that differs from the previous translation.
export function firstDifference(before, after) {
  let index = 0;
  while (index < Math.min(before.length, after.length) && before[index] === after[index]) index++;
  return index;
}

// Duration of a step in ms, given the number of steps.
export function stepDuration(count, isTyping) {
  const [totalMs, minMs, maxMs] = isTyping ? TYPING_DURATIONS : PLAY_DURATIONS;
  return Math.min(Math.max(totalMs / Math.max(count, 1), minMs), maxMs);
}

// Indices of the greatest weights, greatest first.
export const strongest = (weights) => weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a] || a - b);

// A band for each visible weight, { source, target, weight, sourceOffset, targetOffset }: the indices of a source and a
// target word, and the offsets of its middle from theirs, in units of weight. The offsets keep bands from overlapping.
export function bandsOf(words, minWeight = MIN_BAND_WEIGHT) {
  const bands = words.flatMap(({ weights }, target) =>
    weights.map((weight, source) => ({ source, target, weight, sourceOffset: 0, targetOffset: 0 }))
  ).filter(({ weight }) => weight >= minWeight);
  const setOffsets = (group, offsetName) => {
    let start = -group.reduce((sum, { weight }) => sum + weight, 0) / 2;
    for (const band of group) {
      band[offsetName] = start + band.weight / 2;
      start += band.weight;
    }
  };
  const groupsBy = (key) =>
    [...new Set(bands.map((band) => band[key]))].map((index) => bands.filter((band) => band[key] === index));
  for (const group of groupsBy("target")) setOffsets(group.sort((a, b) => a.source - b.source), "targetOffset");
  for (const group of groupsBy("source")) setOffsets(group.sort((a, b) => a.target - b.target), "sourceOffset");
  return bands;
}

// A word without its final punctuation, unless it consists of punctuation.
export const withoutPunctuation = (text) => text.replace(/([^\p{P}])\p{P}+$/u, "$1");

// A head is unsure about a word if it gives no place half of its weight, in the whole percent that are shown.
const isUnsure = ({ weights, end_weight: endWeight }) => Math.round(100 * Math.max(endWeight, ...weights)) < 50;

// Number of words about which the head is unsure.
export const unsureWords = (words) => words.filter(isUnsure).length;

// The sentence about a step: texts, and words as { source } or { target } with their indices.
export function stepSentence(data, step) {
  const { p } = data.words[step];
  const timing = data.to === "input" ? "just after, this head " : "this head ";
  return [
    "The model writes ",
    { target: step },
    ` (${wholePercent(p)}); ${timing}`,
    ...attendedWords(data.words[step]),
    ".",
  ];
}

function attendedWords(word) {
  const { weights, end_weight: endWeight } = word;
  const [first, second] = strongest(weights);
  const top = weights[first] ?? 0;
  const unsure = isUnsure(word);
  if (endWeight >= top) {
    const place = `to the end of the sentence (${wholePercent(endWeight)})`;
    return [unsure ? `is unsure: it attends most ${place}` : `attends mostly ${place}`];
  }
  if (top < 0.6 && weights[second] >= 0.6 * top && top + weights[second] >= 0.6) {
    const verb = unsure ? "is unsure: it attends to " : "attends to ";
    return [verb, { source: Math.min(first, second) }, " and to ", { source: Math.max(first, second) }];
  }
  const verb = unsure ? "is unsure: it attends to many words, most to " : "attends to ";
  return [verb, { source: first }, ` (${wholePercent(top)})`];
}

// The word with the lowest probability, without punctuation and a word that the visitor has chosen; -1 if there is none.
/** @param {{ text: string, p: number }[]} words @param {number} forcedWord */
export function leastCertain(words, forcedWord = -1) {
  const candidates = words.map((_, i) => i).filter((i) => i !== forcedWord && /[\p{L}\p{N}]/u.test(words[i].text));
  return candidates.length ? candidates.reduce((least, i) => words[i].p < words[least].p ? i : least) : -1;
}

// `force(alternative)` forces an alternative, `undo()` removes it; `toggle()` plays or pauses, `go(step)` shows a
// step, `switchOff(code)` switches off a head.
export function makePlayback({ force, undo, toggle, go, switchOff }) {
  const step = el("span", { class: "hu-label" });
  const sentence = el("p", { class: "hu-glance-sentence" });
  const alternatives = el("div", { class: "hu-line hu-glance-close" });
  const decides = el("div", { class: "hu-line hu-glance-decides" });
  const play = button("", toggle, { class: "hu-button hu-glance-play" });
  let shownStep = 0;
  const back = button("‹", () => go(shownStep - 1), { "aria-label": "Previous step" });
  const next = button("›", () => go(shownStep + 1), { "aria-label": "Next step" });
  const controls = el("div", { class: "hu-line hu-glance-controls" }, play, back, next, step);
  const details = el("div", { class: "hu-glance-details", role: "status" }, sentence, decides, alternatives);
  const node = el("div", { class: "hu-glance-panel" }, controls, details);
  let drawnKey = "";

  function draw(data, currentStep, playing, showSummary) {
    shownStep = currentStep;
    const count = data.words.length;
    const isComplete = currentStep >= count;
    const action = playing ? "Pause" : isComplete ? "Play again" : "Play";
    play.textContent = `${playing ? "❚❚" : isComplete ? "↻" : "▶"} ${action}`;
    play.setAttribute("aria-label", action);
    [back.disabled, next.disabled] = [currentStep <= 0, isComplete];
    step.textContent = isComplete
      ? `${count} ${count === 1 ? "word" : "words"}`
      : `word ${currentStep + 1} of ${count}`;
    details.setAttribute("aria-live", playing ? "off" : "polite");
    const describedWord = isComplete || showSummary ? leastCertain(data.words, data.forced_word) : currentStep;
    const key = JSON.stringify([
      data.number,
      data.has_alternatives,
      data.layer,
      data.head,
      currentStep,
      isComplete,
      showSummary,
      data.why,
      data.deciding,
    ]);
    if (key === drawnKey) return; // do not replace a button that is being pressed
    drawnKey = key;
    sentence.replaceChildren(
      ...(isComplete || showSummary
        ? summarySentence(data, describedWord)
        : sentenceNodes(data, stepSentence(data, currentStep))),
    );
    alternatives.replaceChildren(...alternativeChips(data, describedWord, isComplete || showSummary));
    if (data.forced_word >= 0) alternatives.append(undoNote(data));
    decides.replaceChildren(...decidingNodes(data, switchOff));
  }

  function sentenceNodes(data, parts) {
    return parts.map((part) => {
      if (typeof part === "string") return part;
      return "target" in part
        ? el("strong", {}, targetWord(data, data.words[part.target].text))
        : el("em", {}, wordsNode(withoutPunctuation(data.source[part.source]), data.languages[0]));
    });
  }

  function summarySentence(data, describedWord) {
    if (!data.words.length) return ["The translation is empty."];
    const time = data.to === "input" ? "just after writing it" : "while writing it";
    const hint = fill(byPointer(PLAYBACK_HINT, PLAYBACK_TAP_HINT), { time });
    if (describedWord < 0) return [hint];
    const { text, p } = data.words[describedWord];
    const word = el("strong", {}, targetWord(data, text));
    return [hint, " It is least certain of ", word, ` (${wholePercent(p)}).`];
  }

  function alternativeChips(data, describedWord, isComplete) {
    if (describedWord < 0 || !data.has_alternatives) return [];
    const alternativesOfWord = data.words[describedWord].alternatives;
    if (!alternativesOfWord.length) return [el("span", { class: "hu-label" }, "No strong alternative.")];
    return [
      el(
        "span",
        { class: "hu-label", title: PERCENTAGES_NOTE },
        isComplete ? "Choose another word; the model continues from it:" : "Alternatives:",
      ),
      ...alternativesOfWord.map((alternative) => {
        const share = el("span", { class: "hu-glance-share" });
        share.style.width = `${Math.max(100 * alternative.p, 2)}%`;
        const [text, percent] = [withoutPunctuation(alternative.text), wholePercent(alternative.p)];
        const content = [targetWord(data, text), el("span", { class: "hu-label" }, percent), share];
        return button(content, () => force(alternative), {
          class: "hu-glance-alternative",
          "aria-label": `Write ${text} instead, ${percent}`,
        });
      }),
      el("span", { class: "hu-label hu-glance-compared" }, PERCENTAGES_NOTE),
    ];
  }

  function undoNote(data) {
    return el(
      "p",
      { class: "hu-glance-undo" },
      "You forced ",
      el("strong", {}, targetWord(data, data.words[data.forced_word]?.text || "a word")),
      "; the model chose the words after it. ",
      button("Back to the model's own words", undo),
    );
  }

  return { node, draw };
}

const targetWord = (data, text) => wordsNode(withoutPunctuation(text), data.languages[1]);
