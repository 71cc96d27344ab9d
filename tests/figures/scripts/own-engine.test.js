// The engine of a student whose browser computes: the worker answers what it can, the server the rest.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { withOwnModel } from "../../../transformer/client/engine/own-engine.js";
import { OWN_MODEL } from "../../../transformer/client/engine/worker-client.js";

globalThis.document = /** @type {any} */ ({});
let asked = [];
let pending = new Map(); // by engine and text: what ends the request

// An engine that answers with its name, and a text that begins with "?" when the test says so.
const engine = (name, refused = "") => ({
  ask(kind, { text = "" } = {}) {
    asked.push(`${name} ${kind}`);
    if (text && text === refused) return Promise.reject(new Error(`${name} refuses`));
    if (!text.startsWith("?")) return Promise.resolve(name);
    return new Promise((resolve) => pending.set(`${name} ${text}`, () => resolve(name)));
  },
});
const share = (refused = "") => {
  document[OWN_MODEL] = { ...engine("worker", refused), isReady: (model) => model === "m" };
};
const { ask } = withOwnModel(/** @type {any} */ (engine("server", "nonsense")));

beforeEach(() => {
  [asked, pending] = [[], new Map()];
  share();
});

test("the worker answers with a model that it has loaded", async () => {
  for (const kind of ["glance", "explore", "part", "change", "importance", "cells", "translate"]) {
    assert.equal(await ask(kind, { model: "m", text: "a" }), "worker");
  }
  assert.equal(await ask("explore", { model: "m", other_model: "m", text: "a" }), "worker");
  assert.equal(await ask("lesson", { model: "m", lesson: "umbrella", texts: [] }), "worker");
});

test("the server answers what the worker cannot", async () => {
  const requests = [
    ["models"],
    ["load", { model: "m" }],
    ["file", { model: "m", text: "a" }],
    ["glance", { model: "m", text: "a", method: "sample" }],
    ["glance", { model: "other", text: "a" }],
    ["glance", { text: "a" }],
    ["explore", { model: "m", other_model: "other", text: "a" }],
    ["lesson", { model: "m", lesson: "python-makes-this-one", texts: [] }],
  ];
  for (const [kind, request] of requests) assert.equal(await ask(kind, request), "server");
  assert.ok(asked.every((entry) => entry.startsWith("server")));
});

test("the server answers without an own model, and after the worker has failed", async () => {
  delete document[OWN_MODEL];
  assert.equal(await ask("glance", { model: "m", text: "a" }), "server");
  share("a");
  assert.equal(await ask("glance", { model: "m", text: "a" }), "server");
  assert.deepEqual(asked, ["server glance", "worker glance", "server glance"]);
  share("nonsense");
  await assert.rejects(ask("glance", { model: "m", text: "nonsense" }), /server refuses/);
});

test("a newer request replaces an older one of the other engine", async () => {
  for (const [before, after] of [["sample", "greedy"], ["greedy", "sample"]]) {
    const older = ask("glance", { model: "m", text: "?older", method: before });
    const newer = await ask("glance", { model: "m", text: "newer", method: after });
    assert.equal(newer, after === "greedy" ? "worker" : "server");
    pending.get(`${before === "greedy" ? "worker" : "server"} ?older`)();
    assert.equal(await older, null);
  }
  const cells = ask("cells", { model: "m", text: "?a" });
  await ask("cells", { model: "m", text: "b" });
  pending.get("worker ?a")();
  assert.equal(await cells, "worker"); // several rows are asked for at once
});
