// Why a text cannot be translated.

// Why this text cannot be translated, as a sentence, or "", as in api/answers.py. The model itself checks the
// number of pieces. A model without languages reads symbols.
/** @param {string} text @param {{ languages: string[] }} model */
export function textProblem(text, { languages }) {
  if (/^[\p{Cc}\p{Cf}\p{Z}]*$/u.test(text)) return "Type a few words to translate.";
  if (languages[0] && !/[\p{L}\p{N}\p{P}]/u.test(text)) return "The text contains only symbols; type a word.";
  if (text.length > 20_000) return `The text has ${text.length.toLocaleString("en")} characters; type at most 20,000.`;
  return "";
}
