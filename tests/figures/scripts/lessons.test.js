// Lessons: the answers that a browser keeps, the models that fit, and the places of a question and of its answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { siteAddress } from "../../../transformer/client/common/site-places.js";
import { pathCells, pathLine } from "../../../transformer/client/app/learn/course-path.js";
import { makeGuesses } from "../../../transformer/client/app/learn/guesses.js";
import { isWordOf } from "../../../transformer/client/app/learn/lesson-picture.js";
import {
  checkPlace,
  lessonModels,
  needsOpening,
  placeOf,
  prepareLesson,
} from "../../../transformer/client/app/learn/lesson-places.js";

const memory = (content = null) => ({
  content,
  getItem() {
    return this.content;
  },
  setItem(_, value) {
    this.content = value;
  },
});

test("answers are kept, and a wrong first answer stays wrong", () => {
  const storage = memory();
  const guesses = makeGuesses(storage);
  guesses.keep("row", { label: "a", right: false });
  guesses.keep("row", { label: "b", right: true });
  guesses.keep("norm", { label: "c", right: true });
  guesses.giveUp("off"); // has the answer shown without a guess: it is done, but neither right nor wrong
  guesses.keep("row: His cat sleeps.", { label: "d", right: true }); // about a teacher's own sentence
  const again = makeGuesses(storage);
  assert.equal(again.of("row").label, "b");
  assert.equal(again.of("row: His cat sleeps.").label, "d");
  const lessons = ["row", "norm", "bag", "off"].map((name) => ({ name }));
  assert.deepEqual(again.count(lessons), { done: 3, answered: 2, right: 1 });
  again.reset();
  assert.equal(guesses.of("row"), null);
});

test("the answers that are kept are bounded", () => {
  const storage = memory();
  const guesses = makeGuesses(storage);
  for (let i = 0; i < 300; i++) guesses.keep(`lesson${i}`, { label: "a".repeat(10_000) });
  assert.equal(guesses.of("lesson0"), null);
  assert.equal(guesses.of("lesson299").label.length, 500);
  assert.ok(storage.content.length < 100_000);
});

test("whatever is stored, lessons can be answered", () => {
  const stored = ["{", "null", "3", "[]", '"a"', '{"row": 1, "norm": {"label": 2}, "__proto__": {"label": "a"}}'];
  for (const content of stored) {
    const guesses = makeGuesses(memory(content));
    for (const name of ["row", "norm", "__proto__", "constructor"]) assert.equal(guesses.of(name), null);
    guesses.keep("row", { label: "a" });
    assert.equal(guesses.of("row").label, "a");
  }
});

test("a browser that stores nothing keeps answers until the page is closed", () => {
  const refuse = () => {
    throw new DOMException("denied", "SecurityError");
  };
  const guesses = makeGuesses({ getItem: refuse, setItem: refuse });
  guesses.keep("row", { label: "a", right: true });
  assert.ok(guesses.of("row").right);
});

const model = (kind, languages, more = {}) => ({ kind, languages, label: "", ...more });
const MODELS = {
  "en-fr": model("", ["en", "fr"]),
  "en-de": model("", ["en", "de"]),
  "fr-en": model("fr", ["fr", "en"]),
  unknown: model("", ["", ""]),
  mine: model("reverse", ["", ""], { is_run: true }),
  theirs: model("reverse", ["", ""], { is_run: true, in_menu: false }),
  toy: model("reverse", ["", ""]),
};

test("the chosen model is tried first, and of a task the included one", () => {
  assert.deepEqual(lessonModels(MODELS, { task: "" }, "en-fr"), ["en-fr", "en-de"]);
  assert.deepEqual(lessonModels(MODELS, { task: "" }, "en-de"), ["en-de", "en-fr"]);
  assert.deepEqual(lessonModels(MODELS, { task: "reverse" }, "mine"), ["toy", "mine"]);
});

test("the first model that shows what a lesson is about is used", async () => {
  const question = { options: [] };
  const replies = { "en-de": { missing: "no head does" }, "en-fr": { text: "A.", question } };
  const ask = (kind, request) => Promise.resolve(kind === "models" ? { models: MODELS } : replies[request.model]);
  const lesson = { name: "row", task: "", sentences: ["B.", "A."] };
  const found = await prepareLesson(ask, lesson, "en-de", false);
  assert.deepEqual([found.model, found.text, found.reason], ["en-fr", "A.", "no head does"]);
  const none = await prepareLesson(ask, { ...lesson, task: "copy" }, "en-de", false);
  assert.equal(none.question, null);
  assert.equal(none.reason, "no available model can read such a text");
});

test("a question is asked on Learn, and its answer is on the lesson's page", () => {
  const lesson = { name: "norm", page: "inside", task: "", fields: { box: "norm", layer: 0 }, in_place: false };
  const question = { startFields: {}, answerFields: { row: 2, pin: "" } };
  const ready = { model: "en-fr", text: "I go.", question };
  assert.deepEqual(placeOf(lesson, ready, false, { exact: "1", kind: "encoder" }, "en-fr"), {
    page: "learn",
    params: { exact: "1", lesson: "norm" },
  });
  assert.deepEqual(placeOf(lesson, ready, true, {}, "en-de"), {
    page: "inside",
    params: { model: "en-fr", lesson: "norm", text: "I go.", box: "norm", layer: "0", row: "2" },
  });
  const inPlace = { ...lesson, page: "", in_place: true };
  assert.equal(placeOf(inPlace, ready, false, {}, "en-fr").page, "");
  assert.ok(needsOpening(lesson, { page: "inside", params: { box: "norm" } }, false));
  assert.ok(!needsOpening(lesson, { page: "inside", params: { box: "norm" } }, true));
  assert.ok(needsOpening(lesson, { page: "inside", params: { lesson: "norm" } }, true));
  assert.ok(!needsOpening(inPlace, { page: "", params: { view: "heads" } }, false));
  assert.ok(!needsOpening(lesson, { page: "research", params: {} }, false));
});

test("a check reads the head or the heads that are off from the address", async () => {
  const verdicts = { encoder: [[[false, "no"], [true, "yes"]]] };
  const ready = { model: "en-fr", text: "I go." };
  const ask = (_, { off }) => Promise.resolve({ text: off === "c5" ? "Rien." : "Je vais." });
  const check = (question, params) => checkPlace(ask, question, ready, params);
  assert.deepEqual(await check({ verdicts }, { kind: "encoder", layer: "0", head: "1" }), [true, "yes"]);
  assert.equal((await check({ verdicts }, { kind: "encoder", layer: "9", head: "x" }))[0], false);
  const question = { verdicts: null, unchanged: "Je vais." };
  assert.equal((await check(question, {}))[0], false);
  assert.equal((await check(question, { off: "c1" }))[0], false);
  assert.deepEqual(await check(question, { off: "c5" }), [true, "Without these heads the translation is: Rien."]);
});

test("stations of the path are neighbours, to the right and back in turn", () => {
  for (const [count, columns] of [[15, 5], [15, 3], [13, 4], [2, 5], [1, 3]]) {
    const cells = pathCells(count, columns);
    assert.equal(new Set(cells.map(({ row, column }) => `${row} ${column}`)).size, count);
    for (const [n, { row, column }] of cells.slice(1).entries()) {
      assert.equal(Math.abs(row - cells[n].row) + Math.abs(column - cells[n].column), 1);
      assert.ok(column >= 0 && column < columns);
    }
    const line = pathLine(cells.map(({ row, column }) => [100 * column, 130 * row]), 46);
    assert.equal(line.match(/[ML]/g).length, count - Math.ceil(count / columns) + 1); // the others are turns
    assert.equal(line.match(/[MLC]/g).length, count);
  }
});

test("a place of the site is a file, the most special one, or nothing", () => {
  const files = [
    { page: "learn", params: { clinic: "1" }, file: "clinic.html" },
    { page: "learn", params: {}, file: "learn.html" },
    { page: "", params: {}, file: "index.html" },
  ];
  const address = (page, params) => siteAddress(files, { page, params });
  assert.equal(address("learn", { clinic: "1", lesson: "row" }), "clinic.html?lesson=row");
  assert.equal(address("learn", { lesson: "row" }), "learn.html?lesson=row");
  assert.equal(address("", { text: "I go." }), "index.html?text=I+go.");
  assert.equal(address("", {}), "index.html");
  for (const page of ["inside", "constructor"]) assert.equal(address(page, {}), null);
});

test("an option is a word of the picture, or text of ours", () => {
  const picture = /** @type {any} */ ({ rows: ["son", "l'eau_"], columns: ["her.", "<s>"] });
  const labels = ["her", "`son`", "l'eau\\_", "Her", "the word her", "?"];
  assert.deepEqual(labels.map((label) => isWordOf(picture, label)), [true, true, true, false, false, false]);
  assert.equal(isWordOf(null, "her"), false);
});
