// What a lesson's card knows of a class, from the news that the class sends.

import assert from "node:assert/strict";
import { test } from "node:test";

import { listenToClass } from "../../../transformer/client/app/learn/class-answers.js";

const GROUP = { code: "ABCD", teacher: "Ms Lee" };
const NEWS = {
  role: "student",
  state: "follows",
  leads: true,
  questions: 0,
  answers: {},
};

// A tab whose class sends `news`; returns what happened to it.
function tab(news) {
  const document = Object.assign(new EventTarget(), {});
  globalThis.document = document;
  const sent = [];
  const callbacks = new Set();
  const connection = {
    onNews(callback) {
      callbacks.add(callback);
      if (news) callback(news);
      return () => callbacks.delete(callback);
    },
    send(message) {
      sent.push(message);
      return true;
    },
  };
  return {
    sent,
    callbacks,
    connect() {
      document[Symbol.for("heads-up-class-connection")] = connection;
      document.dispatchEvent(new CustomEvent("heads-up-class-change"));
    },
    say(latest) {
      for (const callback of callbacks) callback(latest);
    },
  };
}

test("outside of a class, and before its first news, there is no class", () => {
  const page = tab(null);
  const group = listenToClass(() => {});
  assert.equal(group.state(null), null);
  page.connect();
  assert.equal(group.state(GROUP), null);
  page.say(NEWS);
  assert.equal(group.state(null), null);
  assert.equal(group.state(GROUP).teacher, "Ms Lee");
  group.close();
  assert.equal(page.callbacks.size, 0);
});

test("a student who follows is led, and the counts of the options are known once they are shown", () => {
  const page = tab(NEWS);
  let changes = 0;
  const group = listenToClass(() => changes++);
  page.connect();
  assert.equal(changes, 1);
  assert.equal(group.state(GROUP).led, true);
  page.say({ ...NEWS, answers: { row: { shown: false, answered: true } } });
  assert.deepEqual(group.state(GROUP).answers.row, {
    shown: false,
    answered: true,
    count: 0,
    counts: [],
  });
  page.say({
    ...NEWS,
    answers: {
      row: { shown: true, answered: true, count: 3, counts: { 0: 1, 2: 2 } },
    },
  });
  assert.deepEqual(group.state(GROUP).answers.row.counts, [1, 0, 2]);
  page.say({ ...NEWS, state: "away" });
  assert.equal(group.state(GROUP).led, false);
  assert.equal(changes, 4);
});

test("the teacher sees how many have answered, and messages go to the class", () => {
  const answers = { row: { shown: false, answered: false, count: 12 } };
  const page = tab({
    ...NEWS,
    role: "teacher",
    state: "leads",
    members: 30,
    following: 29,
    answers,
  });
  const group = listenToClass(() => {});
  page.connect();
  const { teaches, led, members, answers: known, send } = group.state(GROUP);
  assert.deepEqual([teaches, led, members, known.row.count], [
    true,
    false,
    30,
    12,
  ]);
  send({ show: "row" });
  assert.deepEqual(page.sent, [{ show: "row" }]);
});
