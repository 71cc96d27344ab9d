// Words from pieces: which pieces form a word, and the attention between words. The same as measures/words.py
// and measures/pieces.py.

import { HeadWeights } from "./head-weights.js";
import { isControl } from "../common/naming.js";
import { charactersOf } from "../model/characters.js";

const BEGIN = "▁";

/** @param {string} token */
export const beginsWord = (token) => token.startsWith(BEGIN);

/** @param {string} text */
export const withoutWordMark = (text) => (text.startsWith(BEGIN) ? text.slice(1) : text);

// Replaces runs of byte pieces by the characters that they spell. A byte of an incomplete character becomes "�",
// as in decoded text; control characters, except those that join letters or emoji, are written as ⟨0A⟩.
/** @param {string} text */
export function joinBytes(text) {
  return text.replace(/(?:<0x[0-9A-F]{2}>)+/g, (run) => {
    const bytes = run.match(/[0-9A-F]{2}(?=>)/g).map((hex) => parseInt(hex, 16));
    const isPrintable = (letter) => /[\u200C\u200D]|[^\p{C}\p{Zl}\p{Zp}]/u.test(letter);
    const hex = (byte) => `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
    return charactersOf(bytes).map(({ text: letter, bytes }) =>
      letter === null ? "�" : isPrintable(letter) ? letter : bytes.map(hex).join("")
    ).join("");
  });
}

// Punctuation between words; an apostrophe or a hyphen belongs to a word.
/** @param {string} token */
export const isPunctuation = (token) => /^(?:(?!['’-])\p{P})+$/u.test(withoutWordMark(token));

// Whether a token has a letter or a digit.
/** @param {string} token */
export const hasLetterOrDigit = (token) => /[\p{L}\p{N}]/u.test(token);

// For each token the number of its word, from 0 and never falling.
/** @param {string[]} tokens */
export function wordNumbers(tokens) {
  let word = -1;
  return tokens.map((token, i) => {
    if (i === 0 || beginsWord(token) || isControl(token) || isControl(tokens[i - 1])) word += 1;
    return word;
  });
}

// The text of each word, without its leading "▁"; a lone "▁" is kept to be visible.
/** @param {string[]} tokens */
export function wordLabels(tokens) {
  const texts = [];
  wordNumbers(tokens).forEach((word, i) => {
    texts[word] = (texts[word] ?? "") + tokens[i];
  });
  return texts.map((text) => joinBytes(withoutWordMark(text)) || text);
}

// As `wordNumbers` and `wordLabels`, but with punctuation before and after a word separated; what is not a word
// has its own number and the label "".
/** @param {string[]} tokens @returns {{ numbers: number[], labels: string[] }} */
export function plainWords(tokens) {
  const [numbers, labels] = [[], []];
  const isSeparate = tokens.map((token) => isControl(token) || isPunctuation(token));
  const words = wordNumbers(tokens);
  tokens.forEach((token, i) => {
    if (i === 0 || words[i] !== words[i - 1] || isSeparate[i] || isSeparate[i - 1]) labels.push("");
    numbers.push(labels.length - 1);
    if (!isSeparate[i]) labels[labels.length - 1] += token;
  });
  return { numbers, labels: labels.map((label) => trimPunctuation(joinBytes(withoutWordMark(label)))) };
}

// Without punctuation at both ends.
/** @param {string} label */
export function trimPunctuation(label) {
  const letters = [...label];
  let [start, end] = [0, letters.length];
  while (start < end && isPunctuation(letters[start])) start++;
  while (start < end && isPunctuation(letters[end - 1])) end--;
  return letters.slice(start, end).join("");
}

// Tokens as the explorer reads them.
/** @param {string[]} tokens */
export function labelsOf(tokens) {
  const plain = plainWords(tokens);
  return {
    tokens,
    words: wordNumbers(tokens),
    word_labels: wordLabels(tokens),
    plain: plain.numbers,
    plain_labels: plain.labels,
    special: tokens.map(isControl),
  };
}

// Attention between words: summed over the pieces of a key word, averaged over the pieces of a query word
// (Clark et al. 2019, section 4.1). (heads, rows, columns) to (heads, row words, column words).
/** @param {HeadWeights} weights @param {number[]} rowWords @param {number[]} columnWords */
export function mergeWords(weights, rowWords, columnWords) {
  const [heads, rows, columns] = weights.shape;
  const [m, n] = [rowWords, columnWords].map((words) => words[words.length - 1] + 1);
  const sizes = new Float64Array(m);
  for (const word of rowWords) sizes[word] += 1;
  const merged = new HeadWeights([heads, m, n]);
  for (let h = 0, index = 0; h < heads; h++) {
    for (let i = 0; i < rows; i++) {
      const [start, size] = [(h * m + rowWords[i]) * n, sizes[rowWords[i]]];
      for (let j = 0; j < columns; j++, index++) merged.values[start + columnWords[j]] += weights.values[index] / size;
    }
  }
  return merged;
}
