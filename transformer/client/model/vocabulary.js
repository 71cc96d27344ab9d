// Text to pieces and back: a SentencePiece unigram model (Kudo 2018) with byte fallback, read from a
// checkpoint's vocabulary.model. The same pieces as the sentencepiece package gives (tests/figures/test_browser_model.py).

import { charactersOf } from "./characters.js";
import { Normalizer } from "./normalizer.js";
import { readMessage } from "./protobuf.js";

const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [1, 2, 3, 4, 6]; // kinds of pieces
const [WHITESPACE_AS_SUFFIX, UNKNOWN_TEXT] = [24, 44]; // fields of TrainerSpec
const ESCAPES_SPACES = 5; // a field of NormalizerSpec
const UNIGRAM = 1;
const USUAL_NORMALIZER = { 3: 1, 4: 1, [ESCAPES_SPACES]: 1 }; // a space before the text, single spaces, "▁" for " "
const UNKNOWN_PENALTY = 10; // below the least probable piece

/** @typedef {{ text: string, score: number, kind: number }} Piece */

// The pieces of a vocabulary of words: the special ones, then one for each symbol, as Python's `symbol_model` makes them.
/** @param {string[]} symbols @returns {Piece[]} */
export const symbolPieces = (symbols) => [
  ...["<pad>", "<s>", "</s>"].map((text) => ({ text, score: 0, kind: CONTROL })),
  { text: "<unk>", score: 0, kind: UNKNOWN },
  ...symbols.map((symbol) => ({ text: `▁${symbol}`, score: 0, kind: NORMAL })),
];

export class Vocabulary {
  /** @param {Uint8Array | Piece[]} model the bytes of vocabulary.model, or its pieces */
  constructor(model) {
    const { pieces, trainer, normalizer, denormalizer } = Array.isArray(model)
      ? { pieces: model, trainer: {}, normalizer: USUAL_NORMALIZER, denormalizer: {} }
      : readModel(model);
    if (!pieces.length || (trainer[3] ?? UNIGRAM) !== UNIGRAM) {
      throw new Error("The vocabulary must be a SentencePiece unigram model.");
    }
    if (trainer[WHITESPACE_AS_SUFFIX] || pieces.some(({ kind }) => kind === USER_DEFINED)) {
      throw new Error("The vocabulary has user-defined symbols or spaces after words, which the browser cannot read.");
    }
    if (!normalizer[ESCAPES_SPACES] || denormalizer[2]?.length) {
      throw new Error("The vocabulary keeps spaces as they are or rewrites its output, which the browser cannot do.");
    }
    this.pieces = pieces;
    this.unknownText = trainer[UNKNOWN_TEXT] ? new TextDecoder().decode(trainer[UNKNOWN_TEXT]) : " ⁇ ";
    this.dropsFirstSpaces = normalizer[4] ? Infinity : normalizer[3] ? 1 : 0; // that `decode` drops before the text
    this.byteFallback = Boolean(trainer[35]);
    this.normalizer = new Normalizer(normalizer[2] ?? new Uint8Array(), {
      dummyPrefix: Boolean(normalizer[3]),
      singleSpaces: Boolean(normalizer[4]),
    });
    this.unknown = pieces.findIndex(({ kind }) => kind === UNKNOWN);
    this.end = trainer[42] ?? 2;
    this.trie = { id: -1, next: new Map() }; // of ordinary pieces
    this.bytes = new Map(); // ids of the pieces <0x00> … <0xFF>, by byte
    let minScore = Infinity;
    pieces.forEach(({ text, score, kind }, id) => {
      if (kind === BYTE) this.bytes.set(parseInt(text.slice(3, 5), 16), id);
      if (kind !== NORMAL) return;
      minScore = Math.min(minScore, score);
      let node = this.trie;
      for (const character of text) {
        if (!node.next.has(character)) node.next.set(character, { id: -1, next: new Map() });
        node = node.next.get(character);
      }
      node.id = id;
    });
    this.unknownScore = Math.fround(minScore - UNKNOWN_PENALTY);
  }

  // The ids of a text, `</s>` last: the segmentation with the greatest product of piece probabilities, found
  // from left to right (Viterbi 1967); sums in float32, as in SentencePiece.
  /** @param {string} text @returns {number[]} */
  encode(text) {
    const characters = [...this.normalizer.normalize(text)];
    const best = characters.map(() => null); // last piece of the best segmentation of the first i + 1 characters
    for (let from = 0; from < characters.length; from++) {
      const prefixScore = from ? best[from - 1].score : 0;
      const consider = (to, id, pieceScore) => {
        const score = Math.fround(pieceScore + prefixScore);
        if (!best[to] || score > best[to].score) best[to] = { id, from, score };
      };
      let node = this.trie;
      for (let to = from; to < characters.length; to++) {
        node = node.next.get(characters[to]);
        if (node && node.id >= 0) consider(to, node.id, this.pieces[node.id].score);
        else if (to === from) consider(to, this.unknown, this.unknownScore);
        if (!node) break;
      }
    }
    const ids = [];
    for (let to = characters.length - 1; to >= 0; to = best[to].from - 1) {
      const { id, from } = best[to];
      if (id !== this.unknown) ids.push(id);
      else if (this.byteFallback) ids.push(...this.bytesOf(characters[from]).reverse());
      else if (ids.at(-1) !== this.unknown) ids.push(id);
    }
    return [...ids.reverse(), this.end];
  }

  // The text of the ids up to the first `</s>`.
  /** @param {number[]} ids */
  decode(ids) {
    const endIndex = ids.indexOf(this.end);
    let [text, byteRun, dropped] = ["", [], 0];
    const finishBytes = () => {
      text += charactersOf(byteRun).map((character) => character.text ?? "�").join("");
      byteRun = [];
    };
    for (const id of endIndex < 0 ? ids : ids.slice(0, endIndex)) {
      const { text: piece, kind } = this.pieces[id];
      if (kind === BYTE) {
        byteRun.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      finishBytes();
      if (kind === UNKNOWN) text += this.unknownText;
      else if (kind !== CONTROL) {
        const drops = !text && dropped < this.dropsFirstSpaces && piece.startsWith("▁");
        if (drops) dropped++;
        text += piece.slice(drops ? 1 : 0).replaceAll("▁", " ");
      }
    }
    finishBytes();
    return text;
  }

  /** @param {number[]} ids */
  tokens(ids) {
    return ids.map((id) => this.pieces[id].text);
  }

  /** @param {string} character */
  bytesOf(character) {
    return [...new TextEncoder().encode(character)].map((byte) => this.bytes.get(byte));
  }
}

// The messages of a SentencePiece model: pieces, and the fields of trainer_spec and normalizer_spec by their numbers.
/** @param {Uint8Array} model */
function readModel(model) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const [pieces, trainer, normalizer, denormalizer] = [[], {}, { ...USUAL_NORMALIZER }, {}];
  try {
    readMessage(model, (number, value) => {
      if (number === 1) {
        const piece = { text: "", score: 0, kind: NORMAL };
        readMessage(value, (part, content) => {
          if (part === 1) piece.text = decoder.decode(content);
          if (part === 2) piece.score = content;
          if (part === 3) piece.kind = content;
        });
        pieces.push(piece);
      }
      const fields = { 2: trainer, 3: normalizer, 5: denormalizer }[number];
      if (fields) {
        readMessage(value, (part, content) => {
          fields[part] = content;
        });
      }
    });
  } catch {
    throw new Error("The vocabulary file is damaged: it is not a SentencePiece model.");
  }
  return { pieces, trainer, normalizer, denormalizer };
}
