// The widget's front-end module sends selections to Python and draws the state that Python sets.

import assert from "node:assert/strict";
import { test } from "node:test";

import { explorerWidget } from "../../../transformer/client/views/explorer/explorer-widget.js";

const STATE = { view: "heads", kind: "cross", layer: 1, head: 2, pin: "", zoom: 3 };

function notebookModel(traits = {}) {
  const values = { ...STATE, ...traits, _data: new DataView(new Uint8Array([9, 1, 2, 3, 9]).buffer, 1, 3) };
  const listeners = new Map();
  const sent = [];
  return {
    sent,
    listeners,
    values,
    get: (name) => values[name],
    // Like a notebook's model, call listeners at once, for changes of the front end too.
    set: (name, value) => {
      if (values[name] === value) return;
      values[name] = value;
      for (const listener of listeners.get(`change:${name}`) || []) listener();
    },
    save_changes: () => sent.push({ ...values }),
    on: (name, listener) => listeners.set(name, [...(listeners.get(name) || []), listener]),
    off: (name, removed) => listeners.set(name, listeners.get(name).filter((listener) => listener !== removed)),
  };
}

function openWidget(model) {
  const view = { shownBytes: [], appliedStates: [], closed: 0, ctx: { state: null } };
  const makeView = (root, report, views) => {
    Object.assign(view, {
      root,
      views,
      choose: (changes) => report(view.ctx.state = { ...view.ctx.state, ...changes }),
    });
    return {
      ctx: view.ctx,
      show: (bytes) => {
        view.ctx.state ||= { ...STATE };
        view.shownBytes.push([...bytes]);
      },
      applyState: (state) => (view.ctx.state = state, view.appliedStates.push(state)),
      close: () => view.closed++,
    };
  };
  const classes = [];
  const el = { querySelector: () => ({ classList: { add: (...names) => classes.push(...names) } }) };
  const close = explorerWidget({ heads: null }, makeView).render({ model, el });
  return { view, close, el, classes };
}

test("the widget draws the bytes of the trait and later changes", () => {
  const model = notebookModel();
  const { view, el, classes } = openWidget(model);
  assert.equal(view.root, el);
  assert.deepEqual(view.views, { heads: null });
  assert.deepEqual(classes, ["hu-file", "hu-widget"]); // readable on a dark background too
  assert.deepEqual(view.shownBytes, [[1, 2, 3]]);
  model.set("_data", new DataView(new Uint8Array([4]).buffer));
  assert.deepEqual(view.shownBytes[1], [4]);
  assert.deepEqual(view.appliedStates, []);
});

test("a selection is sent to Python once and not drawn a second time", () => {
  const model = notebookModel();
  const { view } = openWidget(model);
  view.choose({ head: 0, layer: 0, pin: "s1", zoom: 5 });
  assert.equal(model.sent.length, 1);
  const { _data, ...sent } = model.sent[0];
  assert.deepEqual(sent, { ...STATE, head: 0, layer: 0, pin: "s1" }); // zoom stays in the browser
  assert.deepEqual(view.appliedStates, []);
});

test("values set by Python are drawn and keep the rest of the state", () => {
  const model = notebookModel();
  const { view } = openWidget(model);
  model.set("head", 3);
  model.set("view", "model");
  assert.deepEqual(view.appliedStates.at(-1), { ...STATE, head: 3, view: "model" });
  assert.equal(view.appliedStates.length, 2);
});

test("a second display opens with the current state", () => {
  const { view } = openWidget(notebookModel({ head: 0 }));
  assert.deepEqual(view.appliedStates, [{ ...STATE, head: 0 }]);
});

test("a closed display removes its listeners", () => {
  const model = notebookModel();
  const { view, close } = openWidget(model);
  close();
  model.set("head", 0);
  assert.equal(view.closed, 1);
  assert.deepEqual(view.appliedStates, []);
  assert.ok([...model.listeners.values()].every((registered) => registered.length === 0));
});
