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
    pathname = "/inside";
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

test("after a link and a step back values are sent again", () => {
  streamlitComponent(() => ({}));
  listeners.click({ target: new Element() });
  assert.equal(isOpeningPage(), true);
  location.pathname = "/inside";
  assert.equal(isOpeningPage(), false);
  location.pathname = "/";
  listeners.popstate();
  assert.equal(isOpeningPage(), false);
});
