// Model files are stored in the browser, checked, and fetched again if they are damaged.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { fetchFile } from "../../../transformer/figures/browser/live/model-files.js";

const CONTENT = new Uint8Array(1000).map((_, i) => i % 251);
const FILE = { path: "models/m/model.safetensors", bytes: CONTENT.length, sha256: createHash("sha256").update(CONTENT).digest("hex") };

// A browser whose server gives `content`; `kept` is what its cache holds, `put` how it takes more.
function browser({ content = CONTENT, kept = null, put = null, open = null }) {
  const asked = [];
  globalThis.fetch = (url) => {
    asked.push(String(url));
    if (content === null) return Promise.reject(new TypeError("no network"));
    return Promise.resolve(typeof content === "number" ? new Response("", { status: content }) : new Response(content));
  };
  const cache = {
    match: () => Promise.resolve(kept ? new Response(kept) : undefined),
    put: put ?? ((_, response) => response.arrayBuffer().then((bytes) => { kept = bytes; })),
    delete: () => Promise.resolve(Boolean(kept = null)),
  };
  globalThis.caches = { open: open ?? (() => Promise.resolve(cache)) };
  return { asked, kept: () => kept };
}

test("what was fetched is kept, with its progress told, and not fetched again", async () => {
  const { asked, kept } = browser({});
  const told = [];
  const { bytes, stored } = await fetchFile(FILE, (loaded) => told.push(loaded));
  assert.deepEqual(bytes, CONTENT);
  assert.ok(stored && told.at(-1) === CONTENT.length);
  const again = browser({ kept: kept(), content: null });
  assert.deepEqual((await fetchFile(FILE, () => {})).bytes, CONTENT);
  assert.equal(asked.length, 1);
  assert.equal(again.asked.length, 0);
});

test("what is kept but cut off or changed is fetched again", async () => {
  const changed = CONTENT.slice();
  changed[500] += 1;
  for (const kept of [CONTENT.slice(0, 300), changed]) {
    const { asked } = browser({ kept });
    assert.deepEqual((await fetchFile(FILE, () => {})).bytes, CONTENT);
    assert.equal(asked.length, 1);
  }
});

test("storage that is full, forbidden or absent costs nothing but the keeping", async () => {
  const refuse = () => Promise.reject(new DOMException("no room", "QuotaExceededError"));
  for (const one of [{ put: refuse }, { open: refuse }]) {
    browser(one);
    const { bytes, stored } = await fetchFile(FILE, () => {});
    assert.deepEqual(bytes, CONTENT);
    assert.equal(stored, false);
  }
  browser({});
  delete globalThis.caches;
  assert.equal((await fetchFile(FILE, () => {})).stored, false);
});

test("what cannot be used is told in a sentence", async () => {
  const changed = CONTENT.slice();
  changed[1] += 1;
  const said = [
    [CONTENT.slice(0, 400), /has 400 bytes and must have 1000; reload the page to fetch it again\.$/],
    [new Uint8Array(2000), /bytes and must have 1000/], [changed, /is damaged; reload/], [404, /the server answers 404 for models/],
    [null, /^The model could not be fetched: check the connection/],
  ];
  for (const [content, message] of said) {
    browser({ content });
    await assert.rejects(fetchFile(FILE, () => {}), { message });
  }
});
