// Pasted sentence pairs, read as transformer/text/pair_formats.py and pair_columns.py read them in the app and the shell:
// one table of texts in tests/text/pair_texts.json holds both to the same results.

import { withoutInvisible } from "../model/normalizer.js";

const SAMPLE_LINES = 200;
const MIN_ROWS = 3; // to recognise a header, quotes or a list
const MIN_SHARE = 0.9; // of the lines with exactly two parts, in a layout without tabs
const MIN_TEXT_SHARE = 0.8; // of the cells that look like text, in a column of text
const TYPED_SEPARATORS = ["|", " - ", " – ", " — ", " -> ", " => ", " → ", " ⇒ ", " = ", " / "];
const MAX_LABEL = 5; // characters of "a", "xii" or "12-b"
const ID = /^\s*\S*\d\S*\s*$/u; // one word with a digit
const CODE = /(?!\d|_)[\p{L}\p{N}]\d|\d(?!\d|_)[\p{L}\p{N}]|[_/\\@#[\]]|\.[\p{L}\p{N}_]/u; // of ids, paths and addresses
const MARKUP = /<\/[a-z]\w*>|<br\s*\/?>|&(nbsp|quot|amp|lt|gt|#\d+);/i;
const OTHER_FORMAT = /^\s*([[{<]|#?(sep=|separator:|html:)|%pdf-|\|[^\n]*\|\s*\n\|[\s|:-]+\|)/i;
const SIDES =
  "source src target tgt translation reference ref text sentence phrase lang front back question answer word meaning original translated input output term definition";
const LANGUAGES =
  "af Afrikaans ar Arabic be Belarusian bg Bulgarian bn Bengali br Breton ca Catalan cs Czech cy Welsh da Danish de German el Greek en English eo Esperanto es Spanish et Estonian eu Basque fa Persian fi Finnish fr French ga Irish gl Galician he Hebrew hi Hindi hr Croatian hu Hungarian hy Armenian id Indonesian is Icelandic it Italian ja Japanese ka Georgian ko Korean la Latin lt Lithuanian lv Latvian mk Macedonian ms Malay mt Maltese nb Norwegian nl Dutch no Norwegian pl Polish pt Portuguese ro Romanian ru Russian sk Slovak sl Slovene sq Albanian sr Serbian sv Swedish sw Swahili ta Tamil te Telugu th Thai tr Turkish uk Ukrainian ur Urdu vi Vietnamese zh Chinese";
const OTHER_NAMES =
  "eng:en anglais:en englisch:en fra:fr fre:fr français:fr francais:fr französisch:fr deu:de ger:de " +
  "allemand:de deutsch:de spa:es español:es espagnol:es spanisch:es";
const BESIDES = new Set(
  "id no nr number index score the in of language us gb uk ca france germany sent column".split(" "),
);

/** @typedef {string[]} Cells */

// The pairs of a text, as they are written. Throws one sentence if source and target are not clear.
/** @param {string} text @returns {[string, string][]} */
export function readPairs(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/).filter((line) => line.trim());
  if (!lines.length) {
    throw new RangeError(
      "There are no sentence pairs yet: paste one pair a line, with a tab between the two sentences.",
    );
  }
  refuseOtherFormats(lines);
  const { rows, exact } = layoutOf(lines);
  const sample = rows.slice(0, SAMPLE_LINES);
  const header = isHeader(sample) ? 1 : 0;
  const [source, target] = columnsOf(sample, header, exact);
  return rows.slice(header).map((cells, i) => {
    const pair = [cells[source] ?? "", cells[target] ?? ""].map((side) => side.trim().split(/\s+/u).join(" "));
    if (!pair[0] || !pair[1] || (exact && cells.length !== exact)) {
      const line = JSON.stringify(cells.join("\t").slice(0, 40));
      throw new RangeError(`Line ${i + header + 1} is ${line}; it must be a sentence, a tab and its translation.`);
    }
    return /** @type {[string, string]} */ (pair);
  });
}

/** @param {string[]} lines */
function refuseOtherFormats(lines) {
  if (OTHER_FORMAT.test(lines.slice(0, 20).join("\n"))) {
    throw new RangeError(
      `The text begins with ${
        JSON.stringify(lines[0].trim().slice(0, 40))
      }, as another format does; paste pairs as plain text.`,
    );
  }
  const sample = lines.slice(0, SAMPLE_LINES);
  if (2 * sample.filter((line) => MARKUP.test(line)).length > sample.length) {
    throw new RangeError("The sentences have HTML in them; paste them as plain text.");
  }
}

// The rows of cells; `exact` is the number of cells that every row must have, 0 if a row may have more.
/** @param {string[]} lines @returns {{ rows: Cells[], exact: number }} */
function layoutOf(lines) {
  for (const separator of ["\t", "|||"]) {
    if (2 * lines.filter((line) => line.includes(separator)).length < lines.length) continue;
    const rows = lines.map((line) => line.split(separator));
    return { rows: separator === "\t" && isQuoted(rows) ? quotedRows(lines, "\t") ?? rows : rows, exact: 0 };
  }
  for (const separator of TYPED_SEPARATORS) {
    const rows = lines.map((line) => line.split(separator));
    if (rows.filter(({ length }) => length === 2).length > MIN_SHARE * lines.length) return { rows, exact: 2 };
  }
  return commaLayout(lines) ?? { rows: lines.map((line) => line.split("\t")), exact: 0 };
}

// Comma-separated or semicolon-separated rows of equal length.
/** @param {string[]} lines */
function commaLayout(lines) {
  const spaced = (mark) => lines.filter((line) => line.includes(`${mark} `)).length;
  for (const separator of [",", ";"].sort((a, b) => spaced(a) - spaced(b))) {
    const rows = quotedRows(lines, separator);
    if (!rows || rows[0].length < 2 || rows.some(({ length }) => length !== rows[0].length)) continue;
    const isProse = lines.some((line) => line.includes(`${separator} `) && !line.includes('"'));
    if (!isProse || isHeader(rows)) return { rows, exact: rows[0].length };
  }
  return null;
}

// Whether a spreadsheet has quoted the cells with a comma or a quotation mark.
/** @param {Cells[]} rows */
function isQuoted(rows) {
  const marked = rows.flat().filter((cell) => cell.includes('"') || cell.includes(","));
  return marked.filter((cell) => cell.includes('"')).length >= MIN_ROWS &&
    marked.every((cell) => /^"(?:[^"]|"")*"$/.test(cell));
}

// Rows whose cells may be quoted, as in RFC 4180; null for text after a quote, or a quote without an end.
/** @param {string[]} lines @returns {Cells[] | null} */
function quotedRows(lines, separator) {
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}\\n][^${separator}\\n]*|))(${separator}|\\n)`, "y");
  const text = `${lines.join("\n")}\n`;
  const rows = [[]];
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text);
    if (!match) return null;
    rows.at(-1).push(match[1]?.replaceAll('""', '"') ?? match[2]);
    if (match[3] === "\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

/** @param {Cells[]} rows @returns {[number, number]} */
function columnsOf(rows, header, exact) {
  const body = rows.slice(header);
  const n = Math.min(...body.map(({ length }) => length), Infinity);
  if (n <= 2 || n === Infinity) {
    if (n === 2 && isList(body)) {
      throw new RangeError(
        `Line 1 is ${JSON.stringify(rows[0].join(" ").slice(0, 40))}; the first column may count the lines: remove it.`,
      );
    }
    return [0, 1];
  }
  const named = header ? rows[0].flatMap((cell, i) => (i < n && headerWord(cell) ? [i] : [])) : [];
  const texts = named.length >= 2 ? named : textColumns(body);
  if (texts.length < 2) {
    throw new RangeError("Only one column has sentences; a pair needs a source and its translation.");
  }
  const hasFurther = texts[0] === 0 && texts[1] === 1 && !exact && !header;
  if (texts.length > 2 && !hasFurther) {
    throw new RangeError(`${texts.length} columns have texts; paste the two columns of source and translation only.`);
  }
  return [texts[0], texts[1]];
}

// The columns whose cells look like text and do not repeat a few values, such as language codes; only those with sentences
// if there are two of them beside a column of labels such as "xii".
/** @param {Cells[]} rows */
function textColumns(rows) {
  const n = Math.min(...rows.map(({ length }) => length));
  const columns = Array.from({ length: n }, (_, i) => rows.map((row) => row[i]).filter((cell) => cell.trim()));
  const counts = columns.map((cells) => new Set(cells).size);
  const most = Math.max(...counts);
  const texts = columns.flatMap((cells, i) => {
    const isText = cells.filter(hasWords).length >= MIN_TEXT_SHARE * Math.max(1, cells.length);
    return isText && !((counts[i] === 1 && most > 1) || 4 * counts[i] <= most) ? [i] : [];
  });
  const wordsIn = (cells) => cells.reduce((sum, cell) => sum + cell.trim().split(/\s+/u).length, 0);
  const sentences = texts.filter((i) => wordsIn(columns[i]) >= 3 * columns[i].length);
  const hasLabels = texts.some((i) => columns[i].every((cell) => [...cell.trim()].length <= MAX_LABEL));
  return sentences.length >= 2 && hasLabels ? sentences : texts;
}

// Whether a cell has words, rather than "97,5 %", "12 min", a date, an id or an address.
/** @param {string} cell */
function hasWords(cell) {
  const count = (pattern) => cell.match(pattern)?.length ?? 0;
  return count(/\p{L}/gu) > 2 * count(/\p{Nd}/gu) && !CODE.test(cell);
}

// Whether the first of two columns has ids of the sentences in the second.
/** @param {Cells[]} rows */
function isList(rows) {
  const words = rows.reduce((sum, [_, second]) => sum + second.split(/\s+/u).filter(Boolean).length, 0);
  return new Set(rows.map(([first]) => first)).size === rows.length && rows.length >= 2 * MIN_ROWS &&
    rows.every(([first]) => ID.test(first)) && words >= 3 * rows.length && String(textColumns(rows)) === "1";
}

// Whether the first row names the columns: source and target, or two languages.
/** @param {Cells[]} rows */
function isHeader(rows) {
  if (rows.length <= MIN_ROWS) return false;
  const [first, ...others] = rows.map((row) => ID.test(row[0]));
  if (rows[0].length > 2 && others.every(Boolean) && !first) return true;
  const words = rows[0].filter((cell, i) => cell.trim() && rows[1][i] !== cell).map(headerWord);
  return new Set(words.filter(Boolean)).size >= 2 && (rows[0].length > 2 || !words.includes(""));
}

const HEADER_WORDS = new Map([
  ...SIDES.split(" ").map((word) => /** @type {[string, string]} */ ([word, word])),
  ...[...LANGUAGES.matchAll(/(\w+) (\w+)/g)].flatMap((
    [_, code, name],
  ) => /** @type {[string, string][]} */ ([...(["id", "no"].includes(code) ? [] : [[code, code]]), [
    name.toLowerCase(),
    code,
  ]])),
  ...OTHER_NAMES.split(" ").map((entry) => /** @type {[string, string]} */ (entry.split(":"))),
]);

// The side or language that a header cell names, "" if it names none.
/** @param {string} cell */
function headerWord(cell) {
  const words = cell.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const sides = words.map((word) => (HEADER_WORDS.has(word) ? word : word.replace(/\d+$/, "")));
  if (!sides.length || !sides.every((word) => HEADER_WORDS.has(word) || BESIDES.has(word))) return "";
  const named = sides.flatMap((word) => HEADER_WORDS.get(word) ?? []);
  return (named.length > 1 ? words : named).join(" ");
}

// Words and punctuation marks of a sentence; characters with their marks in scripts that write no spaces between words.
const UNSPACED = String
  .raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]`;
const SYMBOL = new RegExp(
  String.raw`${UNSPACED}\p{M}*|(?:(?!${UNSPACED})[\p{L}\p{M}\p{N}])+['’]?|[^\s\p{L}\p{M}\p{N}]`,
  "gu",
);

/** @param {string} sentence @returns {string[]} */
export const symbolsOf = (sentence) => normalised(sentence).match(SYMBOL) ?? [];

// Without characters that nobody sees, and with one spelling of what looks the same, as in transformer/text/visible.py.
/** @param {string} text */
export const normalised = (text) => withoutInvisible(text).replaceAll("\u200b", " ").normalize("NFKC");
