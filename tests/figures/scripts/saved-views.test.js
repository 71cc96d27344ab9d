// Saved views: an imported list links only to pages of the app.

import assert from "node:assert/strict";
import { test } from "node:test";

import { splitAddress } from "../../../transformer/client/common/address.js";
import {
  addressOf,
  jsonOf,
  MAX_VIEWS,
  movedView,
  parseViews,
  storedViews,
  storeViews,
  withView,
} from "../../../transformer/client/app/frame/saved-views.js";

const PAGES = ["", "inside", "research"];
const view = (query, more = {}) => ({ page: "inside", query, title: "T", note: "", day: "2026-11-23", ...more });
const listOf = (...views) => JSON.stringify({ format: "heads-up views 1", views });

test("an address is split and joined, at any path of the app", () => {
  for (
    const href of [
      "http://a:1/",
      "http://a:1/inside?text=a+b",
      "https://b/class/research?finding=single",
      "https://b/class/",
    ]
  ) {
    const { base, page, query } = splitAddress(href, PAGES);
    assert.equal(addressOf(base, { page, query }), href);
    assert.ok(PAGES.includes(page));
  }
  assert.deepEqual(splitAddress("https://b/class/research?finding=single", PAGES), {
    base: "https://b/class/",
    page: "research",
    query: "finding=single",
  });
  assert.deepEqual(splitAddress("https://b/class", PAGES), { base: "https://b/class/", page: "", query: "" });
});

test("an exported list is parsed again", () => {
  const views = [view("text=%3Cb%3E"), view("", { page: "", note: "a\n“b” </script>" })];
  assert.deepEqual(parseViews(jsonOf(views), PAGES), views);
});

test("an invalid list is refused with a message", () => {
  const cases = [
    ["{", "not valid JSON"],
    ["[]", "format must be"],
    ["null", "format must be"],
    [listOf(view("", { page: "javascript:alert(1)" })), "View 1 of this list belongs to a page"],
    [listOf(view(""), view("", { page: "//evil.example/" })), "View 2 of this list belongs to a page"],
    [listOf({ ...view(""), title: 3 }), "View 1 of this list has no title"],
    [listOf(null), "View 1 of this list has no query"],
    [listOf(view("", { note: "x".repeat(2001) })), "has 2001 characters; at most 2000"],
    [
      listOf(...Array.from({ length: MAX_VIEWS + 1 }, () => view(""))),
      `has ${MAX_VIEWS + 1} views; at most ${MAX_VIEWS}`,
    ],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseViews(text, PAGES), (error) => error.message.includes(message), message);
  }
});

test("a query cannot change the address's origin or fragment", () => {
  const [parsed] = parseViews(listOf(view('text=a#b" onclick="x&y=é')), PAGES);
  assert.equal(new URL(addressOf("http://a/", parsed)).origin, "http://a");
  assert.equal(new URL(addressOf("http://a/", parsed)).hash, "");
});

test("a view that is saved again keeps its title and note and moves to the front", () => {
  const [a, b] = [view("a=1", { note: "mine" }), view("b=1")];
  assert.deepEqual(withView([b, a], view("a=1", { title: "other" })), [a, b]);
  assert.equal(withView(Array.from({ length: MAX_VIEWS }, (_, i) => view(`a=${i}`)), view("new=1")).length, MAX_VIEWS);
});

test("a view moves up or down by one", () => {
  assert.deepEqual(movedView([1, 2, 3], 0, 1), [2, 1, 3]);
  assert.deepEqual(movedView([1, 2, 3], 2, -1), [1, 3, 2]);
});

test("storage that fails or holds invalid data gives an empty list", () => {
  const full = {
    getItem: () => {
      throw new Error("denied");
    },
    setItem: () => {
      throw new Error("full");
    },
  };
  assert.deepEqual(storedViews(full, PAGES), []);
  assert.equal(storeViews(full, []), false);
  assert.deepEqual(storedViews({ getItem: () => "5" }, PAGES), []);
  const store = new Map();
  const storage = { getItem: (name) => store.get(name) ?? null, setItem: (name, value) => store.set(name, value) };
  assert.ok(storeViews(storage, [view("a=1")]));
  assert.deepEqual(storedViews(storage, PAGES), [view("a=1")]);
});
