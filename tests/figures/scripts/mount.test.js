// Values of a view wait while the page of a clicked link opens.

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
