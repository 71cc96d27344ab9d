// The engine "server": a newer request replaces an older one, and a request waits for a server that is gone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeServerEngine } from "../../../transformer/client/engine/server.js";

// A server that answers with these responses, one after the other; null is no connection, and a number a pause in ms.
function mockServer(...replies) {
  const requests = [];
  globalThis.fetch = async (url, { headers, signal }) => {
    requests.push([url, headers["X-Request"]?.split(" ")[1]]);
    let reply = replies.length > 1 ? replies.shift() : replies[0];
    if (typeof reply === "number") {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, reply);
        signal.addEventListener("abort", () => reject(signal.reason, clearTimeout(timer)));
      });
      reply = ["late", 200];
    }
    if (reply === null) throw new TypeError("no connection");
    const [body, status = 200, version = "1"] = reply;
    return new Response(body, { status, headers: { "X-Heads-Up-Version": version } });
  };
  const news = [];
  const engine = makeServerEngine("../", (loading) => news.push(loading), { pauses: [1], slow: 20 });
  return { ask: engine.ask, requests, news };
}
const textOf = (bytes) => new TextDecoder().decode(bytes);

test("a newer request of a kind replaces an older one", async () => {
  const { ask, requests } = mockServer(10_000, ["new"]);
  const older = ask("glance", { text: "a" });
  assert.equal(textOf(await ask("glance", { text: "b" })), "new");
  assert.equal(await older, null);
  assert.deepEqual(requests, [["../api/ask/glance", "1"], ["../api/ask/glance", "2"]]);
});

test("a request is sent again until the server is back", async () => {
  const { ask, news } = mockServer(null, ["restarting", 503], null, ["back"]);
  assert.equal(textOf(await ask("glance", { model: "m", text: "a" })), "back");
  assert.match(news[0].problem, /does not answer/);
  assert.deepEqual(news.at(-1), { model: "m", ready: true, stored: true });
});

test("a newer request is sent although the older one still waits for the server", async () => {
  const { ask } = mockServer(null, ["new"]);
  const older = ask("glance", { text: "a" });
  assert.equal(textOf(await ask("glance", { text: "b" })), "new");
  assert.equal(await older, null);
});

test("a slow server and another version are reported", async () => {
  const { ask, news } = mockServer(["first"], 60, ["later", 200, "2"]);
  await ask("glance", { text: "a" });
  assert.deepEqual(news, []);
  await ask("glance", { text: "b" });
  assert.match(news[0].problem, /busy/);
  await ask("glance", { text: "c" });
  assert.match(news.at(-1).problem, /has been updated/);
});

test("the problem of a refused request is its error", async () => {
  const { ask } = mockServer(['{"problem":"The model has no head c9."}', 422], ["<html>", 500], ["{}", 409]);
  await assert.rejects(ask("glance", { text: "a" }), /^Error: The model has no head c9\.$/);
  await assert.rejects(ask("glance", { text: "a" }), /status 500/);
  assert.equal(await ask("glance", { text: "a" }), null);
});
