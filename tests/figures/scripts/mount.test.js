// Values of a view wait while the page of a clicked link opens, and are sent one by one.

import assert from "node:assert/strict";
import { test } from "node:test";

const listeners = {};
const stub = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
const listen = (name, listener) => (listeners[name] = listener);
stub("location", { pathname: "/", origin: "http://here" });
stub("document", { addEventListener: listen, querySelector: () => ({ dataset: {} }) });
stub("addEventListener", listen);
stub(
  "Element",
  class {
    origin = "http://here";

    constructor(href) {
      this.pathname = `/${href}`;
    }
    closest() {
      return this;
    }
  },
);
stub(
  "MutationObserver",
  class {
    observe() {} // a run may end before Streamlit's state has changed
  },
);

const { isOpeningPage, streamlitComponent } = await import(
  "../../../transformer/client/common/mount.js"
);

const click = (href) => listeners.click({ target: new Element(href) });
const show = (path) => (location.pathname = path);
streamlitComponent(() => ({}));

test("after a link and a step back values are sent again", () => {
  show("/");
  click("inside");
  assert.equal(isOpeningPage(), true);
  show("/inside");
  assert.equal(isOpeningPage(), false);
  show("/");
  listeners.popstate();
  assert.equal(isOpeningPage(), false);
});

test("values do not wait for the displayed page", () => {
  show("/inside");
  click("inside");
  assert.equal(isOpeningPage(), false);
});

test("values do not wait on a page that another click opened", () => {
  show("/inside");
  click("glossary");
  show("/research");
  assert.equal(isOpeningPage(), false);
});

// Streamlit sends the values of one task as one message for one fragment; a view's fragment changes when an element
// above it appears or disappears.
test("views that report at once send a message each, to the fragment that they are in now", async () => {
  listeners.popstate();
  const messages = [];
  let message = null;
  const sender = (fragment) => () => {
    if (!message) setTimeout(() => message = null);
    if (!message) messages.push(message = []);
    message.push(fragment);
  };
  const views = ["page", "glance"].map((fragment) => {
    const view = { parentElement: {}, report: (_) => {} };
    const component = streamlitComponent((_, report) => (view.report = report, { show() {}, close() {} }));
    const run = (name) => component({ parentElement: view.parentElement, setTriggerValue: sender(name) });
    run(fragment);
    return { run, report: () => view.report({}) };
  });
  const reportAll = async (count) => {
    views[1].report();
    views[0].report();
    sender("button")();
    while (messages.length < count) await new Promise((done) => setTimeout(done, 5));
  };
  await reportAll(3);
  views[1].run("new-fragment");
  await reportAll(6);
  assert.deepEqual(messages, [["button"], ["glance"], ["page"], ["button"], ["new-fragment"], ["page"]]);
});
