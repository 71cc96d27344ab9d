// A view's script is fetched again after a network error.

import assert from "node:assert/strict";
import { test } from "node:test";

import { importWithRetries } from "../../../transformer/figures/browser/view-loader.js";

const failing = (times, asked) => (url) => {
  asked.push(url);
  return asked.length > times ? Promise.resolve("the view") : Promise.reject(new TypeError(`failed ${asked.length}`));
};

test("what comes at once is asked for once", async () => {
  const asked = [];
  assert.equal(await importWithRetries("/v.js", failing(0, asked), [1, 1]), "the view");
  assert.deepEqual(asked, ["/v.js"]);
});

test("each further try asks at an address that no browser remembers as failed", async () => {
  const asked = [];
  assert.equal(await importWithRetries("/v.js", failing(2, asked), [1, 1]), "the view");
  assert.deepEqual(asked, ["/v.js", "/v.js?1", "/v.js?2"]);
});

test("in the end the last failure is said", async () => {
  const asked = [];
  await assert.rejects(importWithRetries("/v.js", failing(9, asked), [1, 1]), /failed 3/);
  assert.equal(asked.length, 3);
});
