// A teacher's lesson plan from a link: unpacked, and checked as classroom/plan.py checks it on the server. A problem is an
// error with one sentence. All texts are plain text.

import { fill } from "../../common/sentences.js";

const [PLAN_FORMAT, PLAN_VERSION] = ["heads-up-plan", 1];
const [MAX_BYTES, MAX_STATIONS, MAX_MINUTES, MIN_OPTIONS, MAX_OPTIONS] = [64_000, 20, 120, 2, 8];
const NO_PLAN = "This is not a lesson plan of this app; its page Class makes one.";
const BROKEN_LINK = "The link of this lesson plan is incomplete or has been changed; copy it again.";
const HTML_TAG = /<(?!\/?s>|pad>|unk>)[A-Za-z/!?]/; // the names of special tokens are none
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const JOINERS = /[\u200c\u200d]/g; // part of some words

/**
 * `correct` is the number of the right option, from 1.
 * @typedef {{ text: string, options: string[], correct: number, explanation?: string }} PlanQuestion
 * @typedef {{ title: string, minutes: number, text?: string, lesson?: string, sentence?: string,
 *   question?: PlanQuestion }} Station
 * @typedef {{ title: string, stations: Station[] }} Plan
 */

// The plan of a link: base64url of raw DEFLATE.
/** @param {string} code @param {Lesson[]} lessons @returns {Promise<Plan>} */
export async function planOfLink(code, lessons) {
  let text;
  try {
    const bytes = Uint8Array.from(atob(code.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
    text = new TextDecoder("utf-8", { fatal: true }).decode(await unpacked(bytes));
  } catch {
    throw new Error(BROKEN_LINK);
  }
  return readPlan(text, lessons);
}

// At most so many bytes are unpacked that a plan that is too long is refused.
/** @param {Uint8Array<ArrayBuffer>} bytes */
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const parts = [];
  for (let size = 0; size <= MAX_BYTES;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts).arrayBuffer();
    parts.push(value);
    size += value.length;
  }
  throw new Error("more than a plan has");
}

/** @param {string} content JSON @param {Lesson[]} lessons @returns {Plan} */
export function readPlan(content, lessons) {
  let values;
  try {
    values = JSON.parse(content);
  } catch { /* the next line says it */ }
  if (!isObject(values) || values.format !== PLAN_FORMAT) throw new Error(NO_PLAN);
  const required = {
    format: lineOf(40),
    version: wholeFrom(PLAN_VERSION, PLAN_VERSION),
    title: lineOf(80),
    stations: listOf(MAX_STATIONS),
  };
  const { title, stations } = readFields(values, required);
  if (!stations.length) throw new Error("A lesson plan has at least one station.");
  return { title, stations: stations.map((station, n) => numbered(n + 1, () => readStation(station, lessons))) };
}

function numbered(number, read) {
  try {
    return read();
  } catch (error) {
    throw new Error(fill("Station {number}: {problem}", { number, problem: error.message }));
  }
}

/** @param {unknown} values @param {Lesson[]} lessons @returns {Station} */
function readStation(values, lessons) {
  const optional = { text: lineOf(500), lesson: lineOf(20), sentence: lineOf(200), question: (value) => value };
  const fields = readFields(values, { title: lineOf(80), minutes: wholeFrom(1, MAX_MINUTES) }, optional);
  const lesson = lessons.find(({ name }) => name === fields.lesson);
  if (fields.question && (fields.lesson || fields.sentence)) {
    throw new Error("A station with a question has no lesson and no sentence.");
  }
  if (fields.lesson && !lesson) throw new Error("There is no such lesson.");
  if (fields.sentence && lesson && !lesson.takes_sentence) {
    throw new Error(fill("The lesson {name} takes no sentence of your own.", { name: lesson.name }));
  }
  return fields.question ? { ...fields, question: readQuestion(fields.question) } : fields;
}

/** @param {unknown} values @returns {PlanQuestion} */
function readQuestion(values) {
  const required = { text: lineOf(500), options: listOf(MAX_OPTIONS, lineOf(200)), correct: wholeFrom(1, MAX_OPTIONS) };
  const question = readFields(values, required, { explanation: lineOf(500) });
  const { options, correct } = question;
  if (options.length < MIN_OPTIONS) throw new Error("A question has 2 to 8 options.");
  if (new Set(options).size < options.length) throw new Error("Two options are the same.");
  if (correct > options.length) throw new Error("The correct option is none of the options.");
  return question;
}

/** @param {unknown} values */
const isObject = (values) => typeof values === "object" && values !== null && !Array.isArray(values);

// The fields of an object, each checked by its function, which returns the value or throws what it must be.
/**
 * @param {any} values @param {Record<string, (value: any, name: string) => any>} required
 * @param {Record<string, (value: any, name: string) => any>} [optional] @returns {any}
 */
function readFields(values, required, optional = {}) {
  if (!isObject(values)) throw new Error("An object is needed here.");
  const checks = { ...required, ...optional };
  const unknown = Object.keys(values).find((name) => !Object.hasOwn(checks, name));
  if (unknown !== undefined) throw new Error(fill("There is no field “{name}” here.", { name: unknown.slice(0, 60) }));
  const missing = Object.keys(required).find((name) => !Object.hasOwn(values, name));
  if (missing) throw new Error(fill("The field {name} is missing.", { name: missing }));
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, checks[name](value, name)]));
}

/** @param {number} max characters */
const lineOf = (max) => (value, name = "each of them") => {
  const isText = typeof value === "string" && value.trim() && [...value].length <= max;
  if (!isText || INVISIBLE.test(value.replace(JOINERS, ""))) {
    throw new Error(fill("{name} must be one line of 1 to {max} characters.", { name, max }));
  }
  if (HTML_TAG.test(value)) throw new Error(fill("{name} must be plain text without HTML.", { name }));
  return value;
};

/** @param {number} low @param {number} high */
const wholeFrom = (low, high) => (value, name) => {
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new Error(fill("{name} must be a whole number from {low} to {high}.", { name, low, high }));
};

/** @param {number} max @param {(value: any) => any} [read] each item */
const listOf = (max, read = (value) => value) => (value, name) => {
  if (!Array.isArray(value) || value.length > max) {
    throw new Error(fill("{name} must be a list of at most {max}.", { name, max }));
  }
  return value.map((item) => read(item));
};
