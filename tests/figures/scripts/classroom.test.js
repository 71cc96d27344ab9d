// Which of the teacher's changes a student's page draws itself, and which need the server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fillNumbers, onlyHeadDiffers } from "../../../transformer/client/app/frame/classroom.js";

const EXPLORER_FIELDS = ["view", "kind", "layer", "head", "row"];
const currentView = {
  page: "",
  params: { text: "A b.", model: "en-fr", layer: "1", head: "2" },
  explorer_fields: EXPLORER_FIELDS,
};
const teacherView = (params, page = "") => ({ page, params: { text: "A b.", model: "en-fr", ...params } });

test("another head of the same sentence is drawn in the browser", () => {
  assert.ok(onlyHeadDiffers(currentView, teacherView({ layer: "3", head: "0", row: "4", kind: "encoder" })));
  assert.ok(
    onlyHeadDiffers(currentView, { page: "", params: { head: "0", layer: "0", model: "en-fr", text: "A b." } }),
  );
});

test("another sentence, model, lesson or page needs the server", () => {
  assert.ok(!onlyHeadDiffers(currentView, teacherView({ layer: "3", head: "0", text: "Another." })));
  assert.ok(!onlyHeadDiffers(currentView, teacherView({ layer: "3", head: "0", model: "en-de" })));
  assert.ok(!onlyHeadDiffers(currentView, teacherView({ layer: "3", head: "0", lesson: "umbrella" })));
  assert.ok(!onlyHeadDiffers(currentView, teacherView({ layer: "3", head: "0" }, "inside")));
});

test("the server chooses the clearest head", () => {
  assert.ok(!onlyHeadDiffers(currentView, teacherView({ layer: "3" })));
  assert.ok(!onlyHeadDiffers(currentView, teacherView({})));
});

test("a line shows the message's numbers, and “…” while they are unknown", () => {
  assert.equal(fillNumbers("Leading {following} of {members}", { following: 0, members: 30 }), "Leading 0 of 30");
  assert.equal(fillNumbers("Leading {following}", {}), "Leading …");
  assert.equal(fillNumbers("Following <b>Ann</b>", {}), "Following <b>Ann</b>");
});
