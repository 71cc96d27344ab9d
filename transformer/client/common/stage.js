// A canvas that stays sharp and as wide as its container, with a tooltip. A view provides layout and painting
// functions, which are also used for export.

import { el } from "./base.js";

export const MAX_CANVAS_HEIGHT = 16000; // maximum canvas height in pixels that phones can draw

// `plan(pen, width)` returns a layout with a `height`, `paint(pen, layout)` draws it. The label of `draw` describes the
// picture to screen readers.
export function makeStage({ plan, paint }) {
  const canvas = el("canvas", {
    class: "hu-canvas",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "picture",
  });
  const tip = el("div", { class: "hu-tip", role: "status", hidden: "" });
  const node = el("div", { class: "hu-stage" }, canvas, tip);
  let layout = null;

  function draw(label) {
    const width = canvas.clientWidth;
    if (!width) return;
    canvas.setAttribute("aria-label", label);
    const pen = canvas.getContext("2d");
    layout = plan(pen, width);
    const height = Math.ceil(layout.height);
    const ratio = Math.min(globalThis.devicePixelRatio || 1, MAX_CANVAS_HEIGHT / height);
    const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
      [canvas.width, canvas.height] = [pixelWidth, pixelHeight];
      canvas.style.height = `${height}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    paint(pen, layout);
  }

  // Show a few lines next to the point (x, y) of the canvas, which covers `side` pixels; null hides them.
  function showTooltip(lines, x = 0, y = 0, side = 0) {
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines);
    const tipLeft = Math.min(Math.max(x - tip.offsetWidth / 2, 0), canvas.clientWidth - tip.offsetWidth);
    const tipTop = y - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(tipLeft, 0)}px`;
    tip.style.top = `${tipTop >= 0 ? tipTop : y + side + 8}px`;
  }

  // For export: { width, height, paint(pen) }.
  function figure() {
    const width = canvas.clientWidth;
    const planned = plan(el("canvas").getContext("2d"), width);
    return { width, height: Math.ceil(planned.height), paint: (pen) => paint(pen, planned) };
  }

  return {
    node,
    canvas,
    draw,
    showTooltip,
    figure,
    get layout() {
      return layout;
    },
  };
}
