// Model files are stored in the browser, checked, and fetched again if they are damaged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { fetchFile } from "../../../transformer/client/engine/model-files.js";

const CONTENT = new Uint8Array(1000).map((_, i) => i % 251);
const FILE = {
  path: "models/m/model.safetensors",
  bytes: CONTENT.length,
  sha256: createHash("sha256").update(CONTENT).digest("hex"),
};

// A browser whose server sends `content`; its cache holds `cached`, and `put` and `open` replace the cache's methods.
function mockBrowser({ content = CONTENT, cached = null, put = null, open = null }) {
  const requests = [];
  globalThis.fetch = (url) => {
    requests.push(String(url));
    if (content === null) return Promise.reject(new TypeError("no network"));
    return Promise.resolve(typeof content === "number" ? new Response("", { status: content }) : new Response(content));
  };
  const cache = {
    match: () => Promise.resolve(cached ? new Response(cached) : undefined),
    put: put ?? ((_, response) =>
      response.arrayBuffer().then((bytes) => {
        cached = bytes;
      })),
    delete: () => Promise.resolve(Boolean(cached = null)),
  };
  const caches = { open: open ?? (() => Promise.resolve(cache)) };
  Object.defineProperty(globalThis, "caches", { value: caches, configurable: true });
  return { requests, cached: () => cached };
}

test("a fetched file is cached, reports its progress and is not fetched again", async () => {
  const { requests, cached } = mockBrowser({});
  const progress = [];
  const { bytes, stored } = await fetchFile(FILE, (loaded) => progress.push(loaded));
  assert.deepEqual(bytes, CONTENT);
  assert.ok(stored && progress.at(-1) === CONTENT.length);
  const second = mockBrowser({ cached: cached(), content: null });
  assert.deepEqual((await fetchFile(FILE, () => {})).bytes, CONTENT);
  assert.equal(requests.length, 1);
  assert.equal(second.requests.length, 0);
});

test("a truncated or changed cached file is fetched again", async () => {
  const changed = CONTENT.slice();
  changed[500] += 1;
  for (const cached of [CONTENT.slice(0, 300), changed]) {
    const { requests } = mockBrowser({ cached });
    assert.deepEqual((await fetchFile(FILE, () => {})).bytes, CONTENT);
    assert.equal(requests.length, 1);
  }
});

test("the file is used but not stored if storage is full, forbidden or missing", async () => {
  const refuse = () => Promise.reject(new DOMException("quota exceeded", "QuotaExceededError"));
  for (const failure of [{ put: refuse }, { open: refuse }]) {
    mockBrowser(failure);
    const { bytes, stored } = await fetchFile(FILE, () => {});
    assert.deepEqual(bytes, CONTENT);
    assert.equal(stored, false);
  }
  mockBrowser({});
  Object.defineProperty(globalThis, "caches", { value: undefined });
  assert.equal((await fetchFile(FILE, () => {})).stored, false);
});

test("an unusable file is reported in a sentence", async () => {
  const changed = CONTENT.slice();
  changed[1] += 1;
  const cases = [
    [CONTENT.slice(0, 400), /has 400 bytes and must have 1000; reload the page to fetch it again\.$/],
    [new Uint8Array(2000), /bytes and must have 1000/],
    [changed, /is damaged; reload/],
    [404, /the server answers 404 for models/],
    [null, /^The model could not be fetched: check the connection/],
  ];
  for (const [content, message] of cases) {
    mockBrowser({ content });
    await assert.rejects(fetchFile(FILE, () => {}), { message });
  }
});

// A response that ends with an error after 300 bytes.
function cutResponse() {
  let count = 0;
  const pull = (controller) =>
    count++ ? controller.error(new TypeError("cut")) : controller.enqueue(CONTENT.slice(0, 300));
  return new Response(new ReadableStream({ pull }));
}

test("an interrupted download continues where it ended if the server sends parts, and starts again if it does not", async () => {
  for (const sendsParts of [true, false]) {
    const ranges = [];
    mockBrowser({});
    globalThis.fetch = (_, { headers }) => {
      ranges.push(headers?.Range ?? "");
      const start = sendsParts ? Number(/\d+/.exec(ranges.at(-1))?.[0] ?? 0) : 0;
      if (ranges.length > 1) return Promise.resolve(new Response(CONTENT.slice(start), { status: start ? 206 : 200 }));
      return Promise.resolve(cutResponse());
    };
    await assert.rejects(fetchFile(FILE, () => {}), { message: /try again to continue\.$/ });
    const progress = [];
    assert.deepEqual((await fetchFile(FILE, (loaded) => progress.push(loaded))).bytes, CONTENT);
    assert.deepEqual(ranges, ["", "bytes=300-"]);
    assert.equal(progress.at(-1), CONTENT.length);
  }
});

test("a part that does not fit is forgotten, so that the next try fetches the whole file", async () => {
  for (const offset of [0, 200]) { // the server sends the whole file as a part, or a part from another position
    const ranges = [];
    mockBrowser({});
    globalThis.fetch = (_, { headers }) => {
      ranges.push(headers?.Range ?? "");
      if (ranges.at(-1)) return Promise.resolve(new Response(CONTENT.slice(offset), { status: 206 }));
      if (ranges.length > 1) return Promise.resolve(new Response(CONTENT));
      return Promise.resolve(cutResponse());
    };
    await assert.rejects(fetchFile(FILE, () => {}), { message: /try again to continue\.$/ });
    await assert.rejects(fetchFile(FILE, () => {}), { message: /must have 1000/ });
    assert.deepEqual((await fetchFile(FILE, () => {})).bytes, CONTENT);
    assert.deepEqual(ranges, ["", "bytes=300-", ""]);
  }
});
