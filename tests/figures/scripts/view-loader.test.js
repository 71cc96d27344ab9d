// A view's script is fetched again after a network error.

import assert from "node:assert/strict";
import { test } from "node:test";

import { importWithRetries } from "../../../transformer/client/common/view-loader.js";

const failingImport = (times, requests) => (url) => {
  requests.push(url);
  return requests.length > times
    ? Promise.resolve("the view")
    : Promise.reject(new TypeError(`failed ${requests.length}`));
};

test("a script that loads is fetched once", async () => {
  const requests = [];
  assert.equal(await importWithRetries("/v.js", failingImport(0, requests), [1, 1]), "the view");
  assert.deepEqual(requests, ["/v.js"]);
});

test("each retry uses a new address, because browsers cache failed imports", async () => {
  const requests = [];
  assert.equal(await importWithRetries("/v.js", failingImport(2, requests), [1, 1]), "the view");
  assert.deepEqual(requests, ["/v.js", "/v.js?1", "/v.js?2"]);
});

test("after the last retry the last error is thrown", async () => {
  const requests = [];
  await assert.rejects(importWithRetries("/v.js", failingImport(9, requests), [1, 1]), /failed 3/);
  assert.equal(requests.length, 3);
});
