// When the page is disabled after a reconnect, by the states of Streamlit's connection and script.

import assert from "node:assert/strict";
import { test } from "node:test";

import { nextPhase } from "../../../transformer/client/app/frame/reconnect.js";

const phases = (...states) => {
  let phase = "connected";
  return states.map(([connectionState, scriptState]) => (phase = nextPhase(phase, connectionState, scriptState)));
};

test("the page is disabled from the reconnect to the end of the next run", () => {
  const offline = ["PINGING_SERVER", "notRunning"];
  const states = [offline, ["CONNECTED", "notRunning"], ["CONNECTED", "rerunRequested"], ["CONNECTED", "running"], [
    "CONNECTED",
    "notRunning",
  ]];
  assert.deepEqual(phases(...states), ["offline", "waiting", "waiting", "rerunning", "connected"]);
  assert.deepEqual(phases(offline, ["CONNECTED", "running"], offline, ["CONNECTED", "notRunning"]), [
    "offline",
    "rerunning",
    "offline",
    "waiting",
  ]);
});

test("runs without a reconnect do not disable it", () => {
  assert.deepEqual(phases(["CONNECTED", "running"], ["CONNECTED", "notRunning"]), ["connected", "connected"]);
});
