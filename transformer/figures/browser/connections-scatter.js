// The scatter plot of the film of connections: the score of each drawn edge against the effect measured by patching.

import { svgElement, inputColour } from "./connections-svg.js";
import { numberText } from "./numbers.js";

const PLOT_SIDE = 250; // px
const AXIS_SPACE = 36; // px left and below, for the axes

/** @param {HTMLElement} root @param {Theme} theme */
export function drawScatter(root, frame, theme, { selected, select, title }) {
  const size = theme.size || 1;
  const side = Math.min(PLOT_SIDE * size, Math.max(root.clientWidth, 180));
  const axisSpace = AXIS_SPACE * size;
  const values = frame.edges.flatMap((edge) => [edge.score, edge.effect]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values, 1e-6)];
  const padding = (high - low) * 0.06;
  const plotOffset = (value) => ((value - low + padding) / (high - low + 2 * padding)) * (side - axisSpace - 6);
  const x = (value) => axisSpace + plotOffset(value);
  const y = (value) => side - axisSpace - plotOffset(value);
  const picture = svgElement("svg", {
    viewBox: `0 0 ${side} ${side}`, width: side, height: side, role: "img",
    "aria-label": `Score against effect of ${frame.edges.length} connections`,
  });
  const line = (x1, y1, x2, y2, more) => svgElement("line", { x1, y1, x2, y2, stroke: theme.faint, "stroke-width": 1, ...more });
  picture.append(
    line(x(low - padding), y(0), x(high + padding), y(0), {}),
    line(x(0), y(low - padding), x(0), y(high + padding), {}),
    line(x(low - padding), y(low - padding), x(high + padding), y(high + padding), { "stroke-dasharray": "4 4" }),
  );
  frame.edges.forEach((edge, i) => {
    const dot = svgElement("circle", {
      cx: x(edge.score), cy: y(edge.effect), r: (i === selected ? 7 : 4.5) * size, class: "hu-edge-dot",
      fill: inputColour(edge.input, theme), "fill-opacity": 0.85,
      stroke: i === selected ? theme.text : theme.background, "stroke-width": i === selected ? 2.5 : 1,
    });
    dot.append(svgElement("title", {}, `${title(edge)}: score ${numberText(edge.score, 3)}, effect ${numberText(edge.effect, 3)}`));
    dot.addEventListener("pointerenter", () => { if (i !== selected) select(i); });
    picture.append(dot);
  });
  const text = (words, attributes) => svgElement("text", { fill: theme.muted, "font-size": 11 * size, ...attributes }, words);
  const axisTicks = [0, high].filter((value, i) => i === 0 || value > 1e-5);
  picture.append(
    ...axisTicks.map((value) => text(numberText(value, 2), { x: x(value), y: side - axisSpace + 14 * size, "text-anchor": value === 0 ? "middle" : "end" })),
    ...axisTicks.map((value) => text(numberText(value, 2), { x: axisSpace - 4, y: y(value), "text-anchor": "end", "dominant-baseline": "central" })),
    text("score (estimate), nats", { x: (side + axisSpace) / 2, y: side - 6, "text-anchor": "middle" }),
    text("effect (patched), nats", { x: 11 * size, y: (side - axisSpace) / 2, "text-anchor": "middle", transform: `rotate(-90 ${11 * size} ${(side - axisSpace) / 2})` }),
  );
  root.replaceChildren(picture);
}
