// The service worker of the site: what it has stored, and what a frame shows offline of what it has not.

import assert from "node:assert/strict";

/** @type {any} */
const scope = globalThis;
const stored = new Map([["train.html", new Response("the page")]]);
const cache = { match: (path) => Promise.resolve(stored.get(path)?.clone()), put: () => Promise.resolve() };

Deno.test("a page that is not stored is explained offline", async () => {
  const listeners = {};
  const { addEventListener, fetch } = scope;
  scope.addEventListener = (name, listener) => listeners[name] = listener;
  scope.registration = { scope: "http://site.test/app/" };
  Object.defineProperty(scope, "caches", { value: { open: () => Promise.resolve(cache) }, configurable: true });
  scope.fetch = () => Promise.reject(new TypeError("Failed to fetch"));
  await import("../../../transformer/client/engine/service-worker.js");
  const answer = (path, mode) =>
    new Promise((resolve, reject) => {
      const request = { url: `http://site.test/app/${path}`, method: "GET", mode };
      listeners.fetch({ request, respondWith: (response) => response.then(resolve, reject) });
    });
  assert.equal(await (await answer("train.html", "navigate")).text(), "the page");
  const film = await answer("films/reverse.html", "navigate");
  assert.equal(film.status, 503);
  assert.match(await film.text(), /<p>You are offline, and this browser has not stored this page/);
  await assert.rejects(answer("films/reverse.bin", "cors"), /Failed to fetch/);
  Object.assign(scope, { addEventListener, fetch });
});
