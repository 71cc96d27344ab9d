// The line of a class, and how a tab follows or leads the teacher's places.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const events = () => {
  const target = new EventTarget();
  return {
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
    dispatchEvent: target.dispatchEvent.bind(target),
  };
};
globalThis.document = { ...events(), querySelector: () => null, visibilityState: "visible" };
const windowEvents = events();
globalThis.addEventListener = windowEvents.addEventListener;
globalThis.removeEventListener = windowEvents.removeEventListener;
globalThis.location = { href: "http://app.example/" };
globalThis.history = {
  pushState: (_, __, address) => (location.href = new URL(address, location.href).href),
  replaceState: (_, __, address) => (location.href = new URL(address, location.href).href),
};

const { announceMoves, onOpenPlace, setPages } = await import("../../../transformer/client/common/open.js");
const { followPlaces, sendPlaces } = await import("../../../transformer/client/app/frame/class-places.js");
const { isOutdated, lineText } = await import("../../../transformer/client/app/frame/classroom.js");

setPages(["", "inside", "glossary", "class"]);
announceMoves();
const goTo = (address) => history.pushState(null, "", address);
const act = () => document.dispatchEvent(new Event("click"));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let [sent, callback] = [[], null];
const connection = {
  onNews(given) {
    callback = given;
    return () => {};
  },
  send(message) {
    sent.push(message);
    return true;
  },
};
onOpenPlace(({ page, params }) => {
  goTo(`/${page}?${new URLSearchParams(params)}`);
  return true;
});
const news = (number, page, params = {}, state = "follows") => callback({ number, page, params, state, leads: true });
beforeEach(() => {
  sent = [];
  goTo("/");
});

test("a student who follows opens the teacher's newest place, with the student's own settings", async () => {
  goTo("/?exact=1");
  const following = followPlaces(connection, ["exact", "size"]);
  news(1, "", { text: "A b.", head: "2" });
  assert.equal(location.href, "http://app.example/?text=A+b.&head=2&exact=1");
  news(2, "", { text: "A b.", head: "3" });
  news(3, "", { text: "A b.", head: "4" });
  assert.equal(location.href, "http://app.example/?text=A+b.&head=4&exact=1");
  news(4, "inside", { head: "4" });
  await wait(150);
  assert.equal(location.href, "http://app.example/inside?head=4&exact=1");
  assert.deepEqual(sent, []);
  following.end();
});

test("an address that the page corrects, or a recent place, does not end following", async () => {
  const following = followPlaces(connection, []);
  news(1, "inside", { head: "99" });
  goTo("/inside?head=7"); // the model has eight heads
  await wait(150);
  act();
  goTo("/inside?head=99");
  goTo("/inside?head=7");
  assert.deepEqual(sent, []);
  goTo("/inside?head=6");
  assert.deepEqual(sent, [{ follow: false }]);
  following.end();
});

test("an address that nobody has chosen does not end following", () => {
  const following = followPlaces(connection, []);
  news(1, "", { text: "A b." });
  goTo("/?text=A+b.&model=en-fr");
  assert.deepEqual(sent, []);
  following.end();
});

test("a click, a key or a step in the history ends following, and Follow again returns", async () => {
  for (const [name, target] of [["click", document], ["keydown", document], ["popstate", globalThis]]) {
    sent = [];
    const following = followPlaces(connection, []);
    news(1, "", { text: "A b." });
    const move = () => goTo("/glossary");
    if (target === document) {
      document.dispatchEvent(new Event(name));
      move();
    } else {
      location.href = "http://app.example/glossary";
      windowEvents.dispatchEvent(new Event(name));
    }
    assert.deepEqual(sent, [{ follow: false }], name);
    news(1, "", { text: "A b." }, "away");
    assert.equal(location.href, "http://app.example/glossary");
    await wait(350); // a click is not interrupted
    news(1, "", { text: "A b." });
    await wait(150);
    assert.equal(location.href, "http://app.example/?text=A+b.");
    following.end();
  }
});

test("the teacher's tab sends each place once, the last one always, and at most five a second", async () => {
  goTo("/?head=0");
  const leading = sendPlaces(connection, ["exact"], "class");
  callback({ leads: true, number: 1 });
  await wait(100);
  assert.deepEqual(sent, [{ lead: { page: "", params: { head: "0" } } }]);
  for (let head = 1; head <= 30; head++) {
    goTo(`/?head=${head}&exact=1`);
    await wait(10);
  }
  await wait(300);
  assert.deepEqual(sent.at(-1), { lead: { page: "", params: { head: "30" } } });
  assert.ok(sent.length <= 5, `${sent.length} messages`);
  const count = sent.length;
  goTo("/class"); // the teacher's own page
  await wait(300);
  goTo("/?head=30");
  await wait(300);
  assert.equal(sent.length, count);
  callback({ leads: false, number: 0 });
  goTo("/?head=31");
  await wait(300);
  assert.equal(sent.length, count);
  leading.end();
});

test("after a restart of the server the tab that led sends its place again", async () => {
  const leading = sendPlaces(connection, [], "class");
  callback({ leads: true, number: 5 });
  await wait(100);
  callback({ leads: true, number: 0 });
  await wait(300);
  assert.equal(sent.length, 2);
  leading.end();
});

const STUDENT = {
  teaches: false,
  teacher: "Ms Curie",
  pages: { "": "Try", inside: "Look inside" },
  depths: { heads: "All heads" },
};

test("the line says who leads and where", () => {
  const line = (state, page = "", params = {}) => lineText(STUDENT, { state, page, params });
  assert.equal(lineText(STUDENT, null), "In the class of Ms Curie");
  assert.equal(line("follows"), "Following Ms Curie");
  assert.equal(line("away"), "Exploring on your own; Ms Curie is at Try");
  assert.equal(line("away", "", { depth: "heads" }), "Exploring on your own; Ms Curie is at All heads");
  assert.equal(line("away", "inside", { depth: "heads" }), "Exploring on your own; Ms Curie is at Look inside");
  const teacher = { ...STUDENT, teaches: true };
  assert.equal(lineText(teacher, { state: "leads", following: 0, members: 30 }), "Leading: 0 of 30 following");
  assert.equal(lineText(teacher, { state: "alone", members: 2 }), "Your class: 2 joined");
  assert.equal(lineText(teacher, null), "Leading: … of … following");
});

test("a page is drawn again when it shows something else than the news", () => {
  const newest = { questions: 2, state: "follows", answers: { umbrella: { shown: true }, row: { shown: false } } };
  assert.ok(!isOutdated({ questions: 2 }, newest));
  assert.ok(!isOutdated({ questions: 2, shown: 1, state: "follows" }, newest));
  assert.ok(isOutdated({ questions: 1 }, newest));
  assert.ok(isOutdated({ questions: 2, shown: 0 }, newest));
  assert.ok(isOutdated({ questions: 2, state: "away" }, newest));
});
