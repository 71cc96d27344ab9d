// What tokens, layers and heads are called. Exactly: as the model has them, pieces, signs and numbers
// from 0. Else as people read them: no signs, numbers from 1. The same as figures/naming.py.

let exact = true;

// How this script's views name things from now on.
export const nameExactly = (on) => { exact = Boolean(on); };
export const isExact = () => exact;

const SIGNS = { "<s>": "start", "</s>": "end", "<unk>": "▯" };
const BLANK = "␣"; // a piece that begins a word and has no letter yet
const GOES_ON = "…"; // before a piece that goes on with a word

// A piece that is one byte of a character for which the vocabulary has no piece: its hexadecimal digits.
/** @param {string} text */
export const byteOf = (text) => /^<0x([0-9A-F]{2})>$/.exec(text)?.[1] ?? "";

export const isSign = (text) => /^<\/?[a-z]+>$/.test(text);

// A piece or a word where nothing is said of what stands before it.
/** @param {string} text */
export function tokenName(text) {
  if (exact) return text;
  if (byteOf(text)) return `byte ${byteOf(text)}`;
  return SIGNS[text] ?? (text.startsWith("▁") ? text.slice(1) || BLANK : text);
}

// A piece by itself: one that goes on with a word says so. A sign stays one, for who writes it.
/** @param {string} text */
export function pieceName(text, begins = text.startsWith("▁")) {
  if (exact || text in SIGNS) return text;
  const name = tokenName(text);
  return begins || /^[\p{P}\p{S}]+$/u.test(name) ? name : GOES_ON + name;
}

export const PIECES_HERE = "The model writes parts of words; one that continues a word begins with “…”.";

/** @param {{ tokens: string[], words: number[] }} labels */
export const pieceNames = ({ tokens, words }) =>
  (exact ? tokens : tokens.map((text, i) => pieceName(text, i === 0 || words[i] !== words[i - 1])));

// Layers and heads are counted from 1 where people read them.
/** @param {number} number */
export const counted = (number) => String(exact ? number : number + 1);
/** @param {number} layer */
export const layerName = (layer) => `layer ${counted(layer)}`;
/** @param {Head} one */
export const headName = ({ layer, head }) => `${layerName(layer)}, head ${counted(head)}`;
// No number can be read out of it.
/** @param {Head} one */
export const shortName = ({ layer, head }) => `L${counted(layer)}·H${counted(head)}`;

// What a file is called, without its ending: what it holds, of which model, on which sentence, and
// what else there is to say; in letters that every file system takes.
/** @param {string} what @param {string} model @param {string} text @param {string[]} more */
export const stampedName = (what, model, text, ...more) =>
  [what, plainWords(model), plainWords(text), ...more].filter((part) => part !== "").join("-");

/** @param {string} text */
function plainWords(text) {
  const words = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().match(/[a-z0-9]+/g) || [];
  return words.slice(0, 6).join("-").slice(0, 50);
}

/** @param {string} text */
export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);
