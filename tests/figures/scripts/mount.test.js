// A view is created once for its element, and its choices go to Streamlit as they are made.

import assert from "node:assert/strict";
import { test } from "node:test";
import { streamlitComponent } from "../../../transformer/client/common/mount.js";

globalThis.document = /** @type {any} */ ({});
globalThis.location = /** @type {any} */ ({ href: "http://here/" });

test("a view is kept between calls, and uses the newest function that sends", () => {
  const [shown, sent] = [[], []];
  const makeView = (_, report) => ({ show: (data) => shown.push(data), close: () => sent.push("closed"), report });
  let view = null;
  const component = streamlitComponent((...args) => (view = makeView(...args)));
  const parentElement = {};
  const run = (data, name) =>
    component({ data, parentElement, setTriggerValue: (...value) => sent.push([name, ...value]) });
  run({ a: 1 }, "first");
  const first = view;
  const close = run(null, "second");
  assert.equal(view, first);
  assert.deepEqual(shown, [{ a: 1 }]);
  first.report({ head: 1 });
  first.report({ head: 1 });
  close();
  assert.deepEqual(sent, [["second", "choice", { head: 1 }], ["second", "choice", { head: 1 }], "closed"]);
});
