// What a student hands in: a file with the result of each case, and the same as a page to print.

import { el } from "../../common/base.js";
import { checksumOf } from "../../training/checkpoint.js";

/**
 * @typedef {{ vagueMarks: number, wrongMarks: number, wrongLines: number, wrongCorrections: number, hints: number }} Attempts evidence that shows no mistake, evidence that a correct model has too, lines or statements, corrections, and hints
 * @typedef {Attempts & { id: string, expected: string, evidence: string, seconds: number, points: number }} CaseResult a solved case
 * @typedef {{ format: string, version: number, name: string, cases: CaseResult[], code: string }} Result
 */

const [FORMAT, VERSION] = ["heads-up-bug-clinic", 1];
export const MAX_POINTS = 10; // of a case
export const RULE =
  "Each of these costs 1 point: a hint, evidence that a correct model has too, a line that cannot repair the model, a correction that leaves the symptom.";
export const NO_PROOF =
  "The code shows that a file was not changed by accident. It is no proof against a determined cheat: the page computes it, and so can anyone who reads the page.";

// The points of a case: every wrong attempt and every hint costs one, but a solved case gives at least one.
/** @param {Attempts} attempts */
export const pointsOf = ({ wrongMarks, wrongLines, wrongCorrections, hints }) =>
  Math.max(1, MAX_POINTS - wrongMarks - wrongLines - wrongCorrections - hints);

const ATTEMPTS = ["vagueMarks", "wrongMarks", "wrongLines", "wrongCorrections", "hints"];
const COUNTS = ["Vague evidence", "Wrong evidence", "Wrong lines", "Wrong corrections", "Hints"]; // the same as words
const HEADS = ["Case", "Expected in", "Evidence", ...COUNTS, "Minutes", "Points"];

/** @param {string} name @param {CaseResult[]} cases @returns {Result} */
export const makeResult = (name, cases) => ({
  format: FORMAT,
  version: VERSION,
  name,
  cases,
  code: codeOf(name, cases),
});

const codeOf = (name, cases) => checksumOf(new TextEncoder().encode(JSON.stringify([FORMAT, VERSION, name, cases])));

// The result of a file. Throws an error with one sentence that says what is wrong with it.
/** @param {string} text @returns {Result} */
export function readResult(text) {
  let result = null;
  try {
    result = JSON.parse(text);
  } catch { /* not JSON */ }
  if (result?.format !== FORMAT) {
    throw new RangeError("This is no result of the Bug clinic: choose the file that its page saved.");
  }
  if (result.version !== VERSION) {
    throw new RangeError(`This result has version ${result.version}; this page checks version ${VERSION}.`);
  }
  const { name, cases, code } = result;
  if (typeof name !== "string" || !Array.isArray(cases) || code !== codeOf(name, cases) || !cases.every(isResult)) {
    throw new RangeError("This result was changed after it was saved: its code does not match its content.");
  }
  return result;
}

/** @param {any} entry */
const isResult = (entry) =>
  ["id", "expected", "evidence"].every((field) => typeof entry?.[field] === "string") &&
  [...ATTEMPTS, "seconds"].every((field) => Number.isInteger(entry[field]) && entry[field] >= 0) &&
  entry.points === pointsOf(entry);

// The result as a table; `titles` are those of the cases, by id.
/** @param {Result} result @param {Record<string, string>} titles @param {Record<string, string>} views */
export function resultTable({ name, cases, code }, titles, views) {
  const points = cases.reduce((sum, entry) => sum + entry.points, 0);
  const row = (entry) => [
    titles[entry.id] ?? entry.id,
    views[entry.expected] ?? entry.expected,
    entry.evidence,
    ...ATTEMPTS.map((field) => entry[field]),
    (entry.seconds / 60).toFixed(1),
    entry.points,
  ];
  return el(
    "table",
    {},
    el("caption", {}, `${name || "No name"}: ${points} of ${MAX_POINTS * cases.length} points, code ${code}`),
    el("thead", {}, el("tr", {}, ...HEADS.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...cases.map((entry) => el("tr", {}, ...row(entry).map((text) => el("td", {}, String(text)))))),
  );
}

// A page to print: the table, without scripts.
/** @param {HTMLElement} table */
export function resultPage(table) {
  const page = el(
    "html",
    { lang: "en" },
    el("head", {}, el("meta", { charset: "utf-8" }), el("title", {}, "Bug clinic: result"), el("style", {}, PRINTED)),
    el("body", {}, el("h1", {}, "Bug clinic"), table.cloneNode(true), el("p", {}, RULE), el("p", {}, NO_PROOF)),
  );
  return new Blob([`<!doctype html>\n${page.outerHTML}`], { type: "text/html" });
}

const PRINTED =
  "body { font: 12pt/1.4 system-ui, sans-serif; margin: 2cm; } table { border-collapse: collapse; } caption { text-align: left; font-weight: bold; } th, td { border: 1px solid #888; padding: 2pt 5pt; text-align: left; }";
