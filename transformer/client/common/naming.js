// Names of tokens, layers and heads. Exact names of tokens are the model's: pieces and special tokens. Readable names
// have no markers such as “▁”. Layers and heads are counted from 1. The same as measures/naming.py.

let exact = true;

// Set whether all views show exact names.
export const setExactNames = (isExact) => {
  exact = Boolean(isExact);
};
export const hasExactNames = () => exact;

const CONTROL_NAMES = { "<s>": "start", "</s>": "end", "<unk>": "▯" };
export const BLANK = "␣"; // a piece that begins a word and has no letters
const CONTINUATION = "…"; // before a piece that continues a word

// The hexadecimal digits of a byte piece, which is one byte of a character without a piece of its own.
/** @param {string} text */
export const byteOf = (text) => /^<0x([0-9A-F]{2})>$/.exec(text)?.[1] ?? "";

const CONTROL = new RegExp(
  "^(?:" + [
    String.raw`<\/?(?:s|2[a-z]{2,3}|[A-Za-z][\p{L}\p{N}_.:\-]{2,})>|<[|｜][^<>\s]+[|｜]>|<<\/?[A-Z]+>>|<\/?s>NOTUSED`,
    String.raw`\[(?:\/?[A-Z][A-Z_]*[0-9]*|[gs]MASK|unused[0-9]+)\]`,
    // Codes of languages: M2M100, NLLB, mBART, multilingual Marian models.
    "__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}|>>[a-z]{2,3}(?:_[A-Za-z]+)?<<",
  ].join("|") + ")$",
  "u",
);

// Whether a token stands for no text: <s>, <extra_id_0>, <|im_end|>, [CLS], fra_Latn. A byte piece such as <0x0A> does,
// and a short tag such as <b>.
/** @param {string} token */
export const isControl = (token) => CONTROL.test(token);

// The name of a piece or word regardless of the piece before it.
/** @param {string} text */
export function tokenName(text) {
  if (exact) return text;
  if (byteOf(text)) return `byte ${byteOf(text)}`;
  return CONTROL_NAMES[text] ?? (text.startsWith("▁") ? text.slice(1) || BLANK : text);
}

// The name of a single piece, which shows whether it continues a word. Special tokens keep their exact names.
/** @param {string} text */
export function pieceName(text, begins = text.startsWith("▁")) {
  if (exact || text in CONTROL_NAMES) return text;
  const name = tokenName(text);
  return begins || /^[\p{P}\p{S}]+$/u.test(name) ? name : CONTINUATION + name;
}

export const TOKENS_NOTE = "The model writes parts of words; one that continues a word begins with “…”.";

/** @param {{ tokens: string[], words: number[] }} labels */
export const pieceNames = ({ tokens, words }) =>
  exact ? tokens : tokens.map((text, i) => pieceName(text, i === 0 || words[i] !== words[i - 1]));

// Labels with the current names of their pieces.
export const withNames = (labels) => ({
  ...labels,
  get names() {
    return pieceNames(labels);
  },
});

// The labels of queries and keys of a kind; `writes` are the tokens that decoder queries write.
/** @param {{ src: any, tgt: any, predicted: any }} sentence @param {string} kind */
export const axisLabels = ({ src, tgt, predicted }, kind) => ({
  rows: kind === "encoder" ? src : tgt,
  columns: kind === "decoder" ? tgt : src,
  writes: kind === "encoder" ? null : predicted,
});

/** @param {number} index of a layer or head, from 0 */
export const displayNumber = (index) => String(index + 1);
/** @param {number} layer */
export const layerName = (layer) => `layer ${displayNumber(layer)}`;
/** @param {Head} head */
export const headName = ({ layer, head }) => `${layerName(layer)}, head ${displayNumber(head)}`;
// A short name, such as "L4·H2".
/** @param {Head} head */
export const shortName = ({ layer, head }) => `L${displayNumber(layer)}·H${displayNumber(head)}`;

// A file name without its extension: content, model, sentence and further parts, in characters that every file
// system accepts.
/** @param {string} content @param {string} model @param {string} text @param {string[]} more */
export const exportName = (content, model, text, ...more) =>
  [content, slugOf(model), slugOf(text), ...more].filter((part) => part !== "").join("-");

/** @param {string} text */
function slugOf(text) {
  const words = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().match(/[a-z0-9]+/g) || [];
  return words.slice(0, 6).join("-").slice(0, 50);
}

/** @param {string} text */
export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// The characters as a reader counts them (grapheme clusters): cut text between these, never inside an emoji or
// between a letter and its accent.
/** @param {string} text */
export const characters = (text) => Array.from(new Intl.Segmenter().segment(text), (part) => part.segment);

/** @param {string} text @param {number} limit */
export function truncated(text, limit) {
  const all = characters(text);
  return all.length > limit ? `${all.slice(0, limit - 1).join("")}…` : text;
}
