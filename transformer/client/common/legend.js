// The colour scale of weights, on the page and in exported pictures.

import { el } from "./base.js";
import { SMALL_LABEL_SIZE } from "./token-labels.js";

const LEGEND_HEIGHT = 52; // of the exported scale, at the normal size

// Text below the scale: ticks as [position from 0 to 1, text], and a caption.
function legendOf(scale) {
  const stops = { sqrt: [0, 0.01, 0.1, 0.25, 0.5, 1], linear: [0, 0.25, 0.5, 0.75, 1], row: [0, 0.5, 1] }[scale];
  const position = scale === "sqrt" ? Math.sqrt : (weight) => weight;
  return {
    ticks: stops.map((weight) => [position(weight), scale === "row" ? `${weight} × max` : String(weight)]),
    caption: {
      sqrt: "attention weight; colour by square root, so that small weights are visible",
      linear: "attention weight",
      row: "attention weight relative to the row maximum",
    }[scale],
  };
}

export function makeLegend() {
  const bar = makeBar();
  const caption = el("span", {});
  const node = el("figcaption", { class: "hu-legend" }, bar.node, caption);
  function draw(theme, scale) {
    const legend = legendOf(scale);
    bar.draw(theme.ramp, legend.ticks);
    caption.textContent = legend.caption;
  }
  return { node, draw };
}

// A bar of 256 colours; `ticks` are [position from 0 to 1, text].
export function makeBar() {
  const scale = el("canvas", { class: "hu-scale", width: 256, height: 1, "aria-hidden": "true" });
  const numbers = el("div", { class: "hu-ticks", "aria-hidden": "true" });
  const node = el("div", { class: "hu-bar" }, scale, numbers);
  function draw(ramp, ticks) {
    scale.getContext("2d").putImageData(
      new ImageData(new Uint8ClampedArray(ramp.buffer.slice(0)), 256, 1),
      0,
      0,
    );
    numbers.replaceChildren(
      ...ticks.map(([position, text]) => el("span", { style: `left: ${100 * position}%` }, text)),
    );
  }
  return { node, draw };
}

// The scale below an exported figure: returns a copy of `figure` that is LEGEND_HEIGHT higher.
/** @param {Theme} theme @param {string} scale */
export function withLegend(figure, theme, scale) {
  const { ticks, caption } = legendOf(scale);
  const paint = (pen) => {
    figure.paint(pen);
    paintScale(pen, theme, theme.css, ticks, 0, figure.height + 12);
    pen.fillText(caption, 0, figure.height + 12 + 34 * theme.size);
  };
  return { ...figure, height: figure.height + LEGEND_HEIGHT * theme.size, paint };
}

// A colour scale with numbers below; `css` returns the colour of a level, 0 to 255.
/** @param {Pen} pen @param {Theme} theme @param {number} x @param {number} y */
export function paintScale(pen, theme, css, ticks, x, y) {
  const [width, height, steps] = [220 * theme.size, 10 * theme.size, 64];
  for (let i = 0; i < steps; i++) {
    pen.fillStyle = css(Math.round((255 * i) / (steps - 1)));
    pen.fillRect(x + (i * width) / steps, y, width / steps + 0.5, height);
  }
  pen.font = `${SMALL_LABEL_SIZE * theme.size}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const [position, text] of ticks) pen.fillText(text, x + position * width, y + height + 10 * theme.size);
  pen.textAlign = "left";
}
