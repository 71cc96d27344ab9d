// Finds alternatives to the words of a translation: forces a probable piece that was not chosen, and completes
// its word greedily. The same as inference/alternatives.py.

import { BLANK, isControl } from "../common/naming.js";
import { softmax } from "../model/tensor.js";
import { beginsWord, joinBytes, withoutWordMark, wordNumbers } from "./words.js";

/** @typedef {{ word: number, step: number, ids: number[], text: string, probability: number, first: number }} Alternative `first` is the probability of the first piece that differs */

const MAX_FURTHER_PIECES = 8; // maximum number of further pieces
const MAX_ALTERNATIVES = 16; // maximum number of alternatives of one translation, the most probable
const MIN_PROBABILITY = 0.01; // minimum probability of an alternative
const MAX_ALTERNATIVES_PER_WORD = 3; // maximum number of alternatives of a word
const MIN_WORD_LETTERS = 4; // letters from which on a piece that can also begin a word is another word, not an ending

// For each word of the translation its alternatives, sorted by the probability of the first piece that differs. Yields
// before every step of the decoder, so that the caller can stop.
/** @param {import("../model/translator.js").Translator} translator @param {import("../model/translator.js").Trace} trace @param {any} hooks those of the translation @returns {Generator<void, Alternative[][]>} */
export function* wordAlternatives(translator, trace, hooks = null) {
  const words = wordNumbers(trace.predictedTokens);
  const firstCandidates = firstPieces(trace, words).sort((a, b) => b.probability - a.probability).slice(
    0,
    MAX_ALTERNATIVES,
  );
  const completedAlternatives = [];
  for (const candidate of firstCandidates) {
    completedAlternatives.push(yield* completeWord(translator, trace, candidate, hooks));
  }
  completedAlternatives.sort((a, b) => b.probability - a.probability);
  const texts = words.reduce((joined, word, i) => {
    joined[word] = (joined[word] ?? "") + trace.predictedTokens[i];
    return joined;
  }, []).map((text) => joinBytes(withoutWordMark(text)));
  const withPlainApostrophe = (text) => text.replaceAll("’", "'"); // words that differ only in the form of an apostrophe are equal
  const alternatives = texts.map(() => []);
  for (const alternative of completedAlternatives) {
    const knownTexts = [texts[alternative.word], ...alternatives[alternative.word].map(({ text }) => text)].map(
      withPlainApostrophe,
    );
    if (
      alternative.probability >= MIN_PROBABILITY && alternatives[alternative.word].length < MAX_ALTERNATIVES_PER_WORD &&
      !knownTexts.includes(withPlainApostrophe(alternative.text)) &&
      !joinsTwoWords(alternative, translator.vocabulary.pieces, words, texts)
    ) alternatives[alternative.word].push(alternative);
  }
  return alternatives.map((alternativesOfWord) => alternativesOfWord.sort((a, b) => b.first - a.first));
}

// Whether the alternative is the word before it and another word without a space, such as "unexamen".
/** @param {Alternative} alternative @param {{ text: string }[]} pieces @param {number[]} words @param {string[]} texts */
function joinsTwoWords({ ids, step, word }, pieces, words, texts) {
  const own = ids.map((id) => pieces[id].text);
  if (step === 0 || beginsWord(own[0]) || words[step - 1] === word) return false;
  const withoutEnd = (text) => text.replace(/[.,!?]+$/, "");
  const continuation = withoutEnd(joinBytes(own.join("")));
  return continuation === withoutEnd(texts[word]) ||
    ([...continuation].length >= MIN_WORD_LETTERS &&
      pieces.some(({ text }) => beginsWord(text) && withoutWordMark(text) === continuation));
}

// Returns an alternative for every probable piece that was not chosen. Its text begins with the pieces of the word that
// were written before it; a piece that does not begin a word continues the previous word.
function firstPieces(trace, words) {
  return trace.steps.flatMap(({ candidates, chosen }, step) => {
    if (isControl(chosen.token)) return [];
    const likelyCandidates = candidates.filter(({ id, token, probability }) =>
      id !== chosen.id && !isControl(token) && probability >= MIN_PROBABILITY
    );
    return likelyCandidates.map(({ id, token, probability }) => {
      const continuesWord = !beginsWord(token);
      const wordNumber = continuesWord && step ? words[step - 1] : words[step];
      const sharedSteps = continuesWord
        ? words.map((_, i) => i).filter((i) => i < step && words[i] === wordNumber)
        : [];
      // Multiply the probabilities of the earlier pieces of this word, but not those of the previous word.
      const prefixProbability = wordNumber === words[step]
        ? sharedSteps.reduce((p, i) => p * trace.steps[i].chosen.probability, 1)
        : 1;
      return {
        word: words[step],
        step,
        ids: [id],
        text: sharedSteps.map((i) => trace.predictedTokens[i]).join("") + token,
        probability: probability * prefixProbability,
        first: probability,
      };
    });
  });
}

// Complete the alternative greedily to the end of its word.
/** @param {import("../model/translator.js").Translator} translator @param {import("../model/translator.js").Trace} trace @param {Alternative} alternative @param {any} hooks @returns {Generator<void, Alternative>} */
function* completeWord({ model, vocabulary }, trace, alternative, hooks) {
  const { pad_id, bos_id, unk_id } = model.config;
  let { ids, text, probability } = alternative;
  for (let cache = trace.caches[alternative.step], pieces = 0; pieces < MAX_FURTHER_PIECES; pieces++) {
    yield;
    const step = model.decode([ids[ids.length - 1]], cache, hooks);
    cache = step.cache;
    const probabilities = model.project(step.states).values;
    softmax(probabilities);
    let bestId = -1;
    probabilities.forEach((probabilityOfId, id) => {
      if (id !== pad_id && id !== bos_id && id !== unk_id && (bestId < 0 || probabilityOfId > probabilities[bestId])) {
        bestId = id;
      }
    });
    const token = vocabulary.pieces[bestId].text;
    if (isControl(token) || beginsWord(token)) break;
    ids = [...ids, bestId];
    text += token;
    probability *= probabilities[bestId];
  }
  return { ...alternative, ids, text: joinBytes(withoutWordMark(text)) || BLANK, probability };
}
