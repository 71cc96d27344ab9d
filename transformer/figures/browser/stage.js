// A canvas that keeps its sharpness and its width, with a tip for the pointer. A view says how it is
// laid out and painted; both are used again, with another pen, when the picture is taken away.

import { el } from "./base.js";

export const LONGEST = 16000; // pixels of a canvas, which phones draw no longer

// `plan(pen, width)` gives a layout with a `height`, `paint(pen, plan)` draws it. `label` says to a
// screen reader what is to be seen.
export function makeStage({ plan, paint }) {
  const canvas = el("canvas", { class: "hu-canvas", tabindex: "0", role: "application", "aria-roledescription": "picture" });
  const tip = el("div", { class: "hu-tip", role: "status", hidden: "" });
  const node = el("div", { class: "hu-stage" }, canvas, tip);
  let placed = null;

  function draw(label) {
    const width = canvas.clientWidth;
    if (!width) return;
    canvas.setAttribute("aria-label", label);
    const pen = canvas.getContext("2d");
    placed = plan(pen, width);
    const height = Math.ceil(placed.height);
    const ratio = Math.min(globalThis.devicePixelRatio || 1, LONGEST / height);
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) {
      [canvas.width, canvas.height] = [wide, high];
      canvas.style.height = `${height}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    paint(pen, placed);
  }

  // A few lines beside the point (x, y) of the canvas, which covers `side` pixels; null hides it.
  function say(lines, x = 0, y = 0, side = 0) {
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines);
    const beside = Math.min(Math.max(x - tip.offsetWidth / 2, 0), canvas.clientWidth - tip.offsetWidth);
    const above = y - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(beside, 0)}px`;
    tip.style.top = `${above >= 0 ? above : y + side + 8}px`;
  }

  // For pictures to take away: { width, height, paint(pen) }.
  function figure() {
    const width = canvas.clientWidth;
    const planned = plan(document.createElement("canvas").getContext("2d"), width);
    return { width, height: Math.ceil(planned.height), paint: (pen) => paint(pen, planned) };
  }

  return { node, canvas, draw, say, figure, get placed() { return placed; } };
}
