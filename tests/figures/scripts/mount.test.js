// A view is created once for its element, and its choices go to Streamlit as they are made.

import assert from "node:assert/strict";
import { test } from "node:test";
import { noteLeaving, streamlitComponent } from "../../../transformer/client/common/mount.js";

globalThis.document = /** @type {any} */ ({});

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

test("a choice waits while its page is being left, until the view is drawn again or closed", async () => {
  const sent = [];
  const views = [];
  const mount = (name) => {
    const parentElement = {};
    const make = streamlitComponent((_, report, reportAlways) => {
      views.push({ report, reportAlways });
      return { show() {}, close() {} };
    });
    return () => make({ data: {}, parentElement, setTriggerValue: (_, choice) => sent.push([name, choice]) });
  };
  const [drawStaying, drawLeft] = [mount("staying"), mount("left")];
  drawStaying();
  const close = drawLeft();
  await new Promise((resolve) => setTimeout(resolve, 2));
  noteLeaving();
  for (const view of views) view.report(1);
  views[1].reportAlways(2);
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.deepEqual(sent, [["left", 2]]);
  drawStaying();
  close();
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.deepEqual(sent, [["left", 2], ["staying", 1]]);
});
