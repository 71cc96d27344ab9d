// The widget's front-end module: selections reach Python, and what Python sets is drawn.

import assert from "node:assert/strict";
import { test } from "node:test";

import { explorerWidget } from "../../../transformer/figures/browser/explorer-widget.js";

const STATE = { view: "heads", kind: "cross", layer: 1, head: 2, pin: "", zoom: 3 };

function notebook(traits = {}) {
  const values = { ...STATE, ...traits, _data: new DataView(new Uint8Array([9, 1, 2, 3, 9]).buffer, 1, 3) };
  const listeners = new Map();
  const sent = [];
  return {
    sent, listeners, values,
    get: (name) => values[name],
    // As a notebook's model does: whoever listens is told at once, of the front end's changes too.
    set: (name, value) => {
      if (values[name] === value) return;
      values[name] = value;
      for (const told of listeners.get(`change:${name}`) || []) told();
    },
    save_changes: () => sent.push({ ...values }),
    on: (name, told) => listeners.set(name, [...(listeners.get(name) || []), told]),
    off: (name, told) => listeners.set(name, listeners.get(name).filter((one) => one !== told)),
  };
}

function opened(model) {
  const view = { shown: [], turned: [], closed: 0, ctx: { state: null } };
  const makeView = (place, report, views) => {
    Object.assign(view, { place, views, choose: (changes) => report(view.ctx.state = { ...view.ctx.state, ...changes }) });
    return {
      ctx: view.ctx,
      show: (bytes) => {
        view.ctx.state ||= { ...STATE };
        view.shown.push([...bytes]);
      },
      applyParams: (state) => (view.ctx.state = state, view.turned.push(state)),
      close: () => view.closed++,
    };
  };
  const classes = [];
  const el = { querySelector: () => ({ classList: { add: (...names) => classes.push(...names) } }) };
  const close = explorerWidget({ heads: null }, makeView).render({ model, el });
  return { view, close, el, classes };
}

test("it draws the bytes of the trait, and new ones when they come", () => {
  const model = notebook();
  const { view, el, classes } = opened(model);
  assert.equal(view.place, el);
  assert.deepEqual(view.views, { heads: null });
  assert.deepEqual(classes, ["hu-file", "hu-widget"]); // readable on a dark notebook's ground, too
  assert.deepEqual(view.shown, [[1, 2, 3]]);
  model.set("_data", new DataView(new Uint8Array([4]).buffer));
  assert.deepEqual(view.shown[1], [4]);
  assert.deepEqual(view.turned, []);
});

test("what the reader chooses reaches Python once, and is not drawn a second time", () => {
  const model = notebook();
  const { view } = opened(model);
  view.choose({ head: 0, layer: 0, pin: "s1", zoom: 5 });
  assert.equal(model.sent.length, 1);
  const { _data, ...sent } = model.sent[0];
  assert.deepEqual(sent, { ...STATE, head: 0, layer: 0, pin: "s1" }); // zoom stays in the browser
  assert.deepEqual(view.turned, []);
});

test("what Python sets is drawn, and the rest of the state stays", () => {
  const model = notebook();
  const { view } = opened(model);
  model.set("head", 3);
  model.set("view", "model");
  assert.deepEqual(view.turned.at(-1), { ...STATE, head: 3, view: "model" });
  assert.equal(view.turned.length, 2);
});

test("a second display opens where the first one is", () => {
  const { view } = opened(notebook({ head: 0 }));
  assert.deepEqual(view.turned, [{ ...STATE, head: 0 }]);
});

test("a closed display listens no longer", () => {
  const model = notebook();
  const { view, close } = opened(model);
  close();
  model.set("head", 0);
  assert.equal(view.closed, 1);
  assert.deepEqual(view.turned, []);
  assert.ok([...model.listeners.values()].every((told) => told.length === 0));
});
