// The engine "notebook": one request of a kind at a time, and requests wait for a kernel that is busy or gone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeNotebookEngine } from "../../../transformer/client/engine/notebook.js";

const bytesOf = (text) => new TextEncoder().encode(text);
const textOf = (bytes) => new TextDecoder().decode(bytes);

// A kernel that receives `sent`, and answers when `reply` is called.
function mockKernel(pauses = [10_000]) {
  const listeners = new Set();
  const [sent, news] = [[], []];
  const model = {
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
    send: (message) => sent.push(message),
  };
  const emit = (content, text = "") => {
    const bytes = bytesOf(`...${text}`);
    for (const listener of listeners) listener(content, [new DataView(bytes.buffer, 3)]);
  };
  return {
    sent,
    news,
    listeners,
    reply: (number, text) => emit({ id: sent[number].id }, text),
    refuse: (number, problem) => emit({ id: sent[number].id, problem }),
    engine: makeNotebookEngine(model, (loading) => news.push(loading), pauses),
    model,
  };
}
const pause = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));
const textsOf = (sent) => sent.map(({ request }) => request.text);

test("only the newest request of a kind waits for an older one", async () => {
  const { engine, sent, reply } = mockKernel();
  const answers = [engine.ask("glance", { text: "a" })];
  await pause();
  for (const text of ["b", "c"]) answers.push(engine.ask("glance", { text }));
  const other = engine.ask("change", { text: "d" });
  await pause();
  assert.deepEqual(sent.map(({ kind, request }) => [kind, request.text]), [["ask/glance", "a"], ["ask/change", "d"]]);
  reply(0, "of a");
  reply(1, "of d");
  await pause();
  assert.deepEqual(textsOf(sent), ["a", "d", "c"]);
  reply(2, "of c");
  assert.deepEqual([await answers[0], await answers[1], textOf(await answers[2])], [null, null, "of c"]);
  assert.equal(textOf(await other), "of d");
  engine.close();
});

test("requests of which several are needed are sent at once", async () => {
  const { engine, sent, reply } = mockKernel();
  const answers = [0, 1].map((row) => engine.ask("cells", { text: "a", row, head: null }));
  await pause();
  assert.equal(sent.length, 2);
  reply(1, '{"row":1}');
  reply(0, '{"row":0}');
  assert.deepEqual(await Promise.all(answers), [{ row: 0 }, { row: 1 }]);
});

test("a request is sent again until the kernel answers, and the page is told", async () => {
  const { engine, sent, news, reply, model } = mockKernel([5]);
  const { send } = model;
  model.send = () => {
    throw new Error("no connection");
  };
  const answer = engine.ask("glance", { model: "m", text: "a" });
  await pause(30);
  assert.match(news[0].problem, /kernel does not answer/);
  model.send = send;
  while (!sent.length) await pause(5);
  reply(0, "back");
  assert.equal(textOf(await answer), "back");
  assert.deepEqual(news.at(-1), { model: "m", ready: true, stored: true });
  const count = sent.length;
  await pause(30);
  assert.equal(sent.length, count);
});

test("the problem of a refused request is its error, and the next request is sent", async () => {
  const { engine, refuse, reply } = mockKernel();
  const answer = engine.ask("glance", { text: "a" });
  await pause();
  refuse(0, "The model has no head c9.");
  await assert.rejects(answer, /^Error: The model has no head c9\.$/);
  const next = engine.ask("glance", { text: "b" });
  await pause();
  reply(1, "of b");
  assert.equal(textOf(await next), "of b");
});

test("two displays of a widget do not take each other's answers, and a closed one sends nothing", async () => {
  const first = mockKernel([5]);
  const second = makeNotebookEngine(first.model, () => undefined);
  const answers = [first.engine.ask("glance", { text: "a" }), second.ask("glance", { text: "b" })];
  await pause();
  first.reply(1, "of b");
  first.reply(0, "of a");
  assert.deepEqual((await Promise.all(answers)).map(textOf), ["of a", "of b"]);
  first.engine.ask("glance", { text: "c" });
  await pause();
  first.engine.close();
  second.close();
  const count = first.sent.length;
  await pause(30);
  assert.equal(first.sent.length, count);
  assert.equal(first.listeners.size, 0);
});
