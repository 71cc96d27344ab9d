// Which changes of the teacher a student's page draws itself, and for which it asks the server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fillNumbers, onlyHeadDiffers } from "../../../transformer/figures/browser/classroom.js";

const EXPLORED = ["view", "kind", "layer", "head", "row"];
const told = { page: "attention", params: { text: "A b.", model: "en-fr", layer: "1", head: "2" }, explored: EXPLORED };
const led = (params, page = "attention") => ({ page, params: { text: "A b.", model: "en-fr", ...params } });

test("another head of the same sentence is drawn here", () => {
  assert.ok(onlyHeadDiffers(told, led({ layer: "3", head: "0", row: "4", kind: "encoder" })));
  assert.ok(onlyHeadDiffers(told, { page: "attention", params: { head: "0", layer: "0", model: "en-fr", text: "A b." } }));
});

test("another sentence, model, lesson or page is not", () => {
  assert.ok(!onlyHeadDiffers(told, led({ layer: "3", head: "0", text: "Another." })));
  assert.ok(!onlyHeadDiffers(told, led({ layer: "3", head: "0", model: "en-de" })));
  assert.ok(!onlyHeadDiffers(told, led({ layer: "3", head: "0", lesson: "umbrella" })));
  assert.ok(!onlyHeadDiffers(told, led({ layer: "3", head: "0" }, "inside")));
});

test("the clearest head is the server's to find", () => {
  assert.ok(!onlyHeadDiffers(told, led({ layer: "3" })));
  assert.ok(!onlyHeadDiffers(told, led({})));
});

test("a line has the news' numbers, and says when they are not known", () => {
  assert.equal(fillNumbers("Leading {following} of {members}", { following: 0, members: 30 }), "Leading 0 of 30");
  assert.equal(fillNumbers("Leading {following}", {}), "Leading …");
  assert.equal(fillNumbers("Following <b>Ann</b>", {}), "Following <b>Ann</b>");
});
