// Pinned words: which words can be pinned, and how much every head attends to or from one.

import { allHeads, rowsAreRead } from "../../common/matrix.js";

/** @typedef {{ sentence: "s" | "t", word: number, label: string, members: number[] }} Pinned */
/** @typedef {{ kind: Kind, layer: number, head: number, weight: number, way: "to" | "from", other: string, otherSentence: "s" | "t", isRead: boolean }} PinAttention `isRead`: the row is that of the position that reads the word */

// The words of the source ("s") and of the translation ("t"), in order.
/** @param {Side} side @returns {Pinned[]} */
export function pinnableWords(side) {
  const wordsOf = (sentence, { plain, plain_labels }) =>
    plain_labels.map((label, word) => {
      const members = plain.flatMap((number, position) => (number === word ? [position] : []));
      return { sentence, word, label, members };
    }).filter(({ label }) => label);
  const target = side.kinds.some((kind) => kind !== "encoder") ? wordsOf("t", side.tgt) : [];
  return [...wordsOf("s", side.src), ...target];
}

// The pinned word of the state, found by any of its pieces; null if there is none.
/** @param {Side} side @param {string} pin @returns {Pinned | null} */
export function pinnedWord(side, pin) {
  const position = Number(pin.slice(1));
  return pin
    ? pinnableWords(side).find((pinned) => pinned.sentence === pin[0] && pinned.members.includes(position)) ?? null
    : null;
}

// The word of a row or column of a kind; null if it is not a word. A row of cross-attention belongs to the word
// it writes, which the decoder reads one position later, or to the word that it reads.
/** @param {Side} side @param {State} state @param {"q" | "k"} axis @param {number} position */
export function wordAt(side, state, axis, position) {
  const { kind } = state;
  const source = kind === "encoder" || (kind === "cross" && axis === "k");
  const readPosition = kind === "cross" && axis === "q" && !rowsAreRead(state) ? position + 1 : position;
  return pinnedWord(side, `${source ? "s" : "t"}${readPosition}`);
}

/** @param {Pinned} pinned */
export const pinOf = ({ sentence, members }) => `${sentence}${members[0]}`;

// How a kind of attention contains the word: as a column that gets attention, as a row that gives it.
const DIRECTIONS_BY_KIND = {
  s: { encoder: ["to", "from"], cross: ["to"] },
  t: { decoder: ["to", "from"], cross: ["from"] },
};
/** @param {Side} side @param {Pinned} pinned @param {State["way"]} way @returns {[Kind, ("to" | "from")[]][]} */
export function positionsIn(side, { sentence }, way) {
  return side.kinds.flatMap((kind) => {
    const directions = (DIRECTIONS_BY_KIND[sentence][kind] || []).filter((direction) =>
      way === "both" || direction === way
    );
    return directions.length ? [[kind, directions]] : [];
  });
}

// The strongest attention of one head: to the word, from it, or the stronger of the two.
/** @param {Side} side @param {Pinned} pinned @returns {PinAttention} */
function headAttention(side, pinned, kind, directions, isRead, { layer, head }) {
  const attentions = directions.map((way) => {
    const { weights, others, words } = (isRead ? side.readPinWeights : side.pinWeights)[kind][way];
    const isWritten = kind === "cross" && !isRead;
    // In cross-attention, a token is written by the row before the one that reads it.
    const word = isWritten && way === "from" ? side.predicted.plain[pinned.members[0] - 1] : pinned.word;
    const index = (layer * side.n_heads + head) * words + word;
    const { rows, columns, writes } = side.labels(kind);
    const labels = way === "from" ? columns : isWritten ? writes : rows;
    const other = labels.plain_labels[others[index]];
    return {
      kind,
      layer,
      head,
      way,
      weight: weights[index],
      other,
      otherSentence: labels === side.src ? "s" : "t",
      isRead,
    };
  });
  return attentions.reduce((best, attention) => (attention.weight > best.weight ? attention : best));
}

// All heads of a kind, layer by layer, from the rows that the state draws.
/** @param {Side} side @param {State} state @param {Pinned} pinned @param {Kind} kind @param {("to" | "from")[]} directions */
export function strongestAttention(side, state, pinned, kind, directions) {
  return allHeads(side, kind).map((head) => headAttention(side, pinned, kind, directions, rowsAreRead(state), head));
}

// The heads of all kinds with the strongest attention to or from the word, at most `limit` with a weight above 0.
/** @param {Side} side @param {State} state @param {Pinned} pinned */
export function strongestHeads(side, state, pinned, limit = 5) {
  return positionsIn(side, pinned, state.way).flatMap(([kind, directions]) =>
    strongestAttention(side, state, pinned, kind, directions)
  )
    .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight).slice(0, limit);
}

// The rows ("q…") and columns ("k…") of a kind that belong to the pinned word.
/** @param {Side} side @param {State} state */
export function pinnedTokens(side, state) {
  const { pin, way, kind } = state;
  const pinned = pinnedWord(side, pin);
  const [, directions] = pinned ? positionsIn(side, pinned, way).find(([otherKind]) => otherKind === kind) || [] : [];
  const rowShift = Number(kind === "cross" && !rowsAreRead(state)); // the row that writes a token is the one before
  return (directions || []).flatMap((direction) =>
    pinned.members.map((position) => (direction === "to" ? `k${position}` : `q${position - rowShift}`))
  );
}

// "parapluie attends to umbrella" as [text, the sentence of a word]. With `isFullSentence` it adds that in cross-attention
// a word attends when it is written, or when it is read.
/** @param {PinAttention} attention @param {Pick<Pinned, "label" | "sentence">} pinned @returns {Notice["segments"]} */
export function attentionText({ way, other, otherSentence, kind, weight, isRead }, pinned, isFullSentence = false) {
  if (!(weight > 0)) return [["no other word", ""]];
  const atRow = isRead ? "attends, when it is read, to" : "attends, when it is written, to";
  const verb = isFullSentence && kind === "cross" ? atRow : "attends to";
  /** @type {Notice["segments"]} */
  const [first, last] = [[other, otherSentence], [pinned.label, pinned.sentence]];
  return way === "to" ? [first, [verb, ""], last] : [last, [verb, ""], first];
}
