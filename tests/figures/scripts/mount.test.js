// Values of a view wait while the page of a clicked link opens.

import assert from "node:assert/strict";
import { test } from "node:test";

const listeners = {};
const stub = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
const listen = (name, listener) => (listeners[name] = listener);
stub("location", { pathname: "/", origin: "http://here", href: "http://here/" });
stub("document", { addEventListener: listen, querySelector: () => ({ dataset: {} }) });
stub("addEventListener", listen);
stub(
  "Element",
  class {
    origin = "http://here";

    constructor(href) {
      this.href = href;
      this.pathname = href.startsWith("?") ? location.pathname : `/${href}`;
    }
    getAttribute() {
      return this.href;
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
  "../../../transformer/figures/browser/common/mount.js"
);

const click = (href) => listeners.click({ target: new Element(href) });
const show = (path) => Object.assign(location, { pathname: path, href: `http://here${path}` });
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

test("values wait for the first page, whose link has no path", () => {
  show("/inside");
  click("?text=A");
  assert.equal(isOpeningPage(), true);
  show("/");
  assert.equal(isOpeningPage(), false);
  click("?text=A");
  assert.equal(isOpeningPage(), false, "a link to the displayed page");
});

test("values do not wait on a page that another click opened", () => {
  show("/inside");
  click("glossary");
  show("/research");
  assert.equal(isOpeningPage(), false);
});
