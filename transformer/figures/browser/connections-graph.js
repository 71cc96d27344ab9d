// The graph of connections as SVG: the encoder on the left, the decoder on the right, information flows upwards.
// An edge is { from, to, input, score, effect }: two nodes, the input that it leads to (0 query, 1 key, 2 value, 3 the
// input of a feed-forward network or the output), the estimated score and the measured effect.

import { svgElement, inputColour } from "./connections-svg.js";
import { displayNumber, headName } from "./naming.js";
import { numberText } from "./numbers.js";

const ROW_HEIGHT = 46; // px between two rows
const SIDE_MARGIN = 50; // px for the names of the rows, on both sides
const MAX_LINE_WIDTH = 11; // px of the strongest connection in all frames
const HEAD_KINDS = { encoder: "encoder", decoder: "decoder", cross: "cross-attention" };
const HEAD_INPUTS = ["query", "key", "value"];

// The position of every node: `column` from 0 to 1 in its half, `row` from the bottom. All edges lead upwards.
export function graphLayout(data) {
  const { layers, heads } = data;
  const firstDecoderRow = 2 * layers; // the first row of decoder heads
  const positions = data.nodes.map((node) => {
    const [kind, layer, part] = node.split(".");
    const shared = { stack: kind === "source" || kind === "encoder" ? 0 : 1, column: 0.5, row: 0, kind, layer: Number(layer), head: -1, text: node };
    if (kind === "target") return { ...shared, row: firstDecoderRow - 1 };
    if (kind === "output") return { ...shared, row: firstDecoderRow + 3 * layers };
    if (kind === "source") return shared;
    const start = kind === "encoder" ? 1 + 2 * shared.layer : firstDecoderRow + 3 * shared.layer;
    if (part === "ffn") return { ...shared, kind: "ffn", row: start + (kind === "encoder" ? 1 : 2), text: "FFN" };
    const head = Number(part);
    return { ...shared, head, column: (head + 0.5) / heads, row: start + (kind === "cross" ? 1 : 0), text: displayNumber(head) };
  });
  return { positions, rows: firstDecoderRow + 3 * layers + 1, names: data.nodes.map((_, i) => nodeName(positions[i])) };
}

function nodeName(node) {
  if (node.head >= 0) return `${HEAD_KINDS[node.kind]} ${headName({ layer: node.layer, head: node.head })}`;
  if (node.kind === "ffn") return `${node.stack ? "decoder" : "encoder"} feed-forward network ${displayNumber(node.layer)}`;
  return { source: "source embedding", target: "target embedding", output: "output" }[node.kind];
}

// "cross-attention layer 2, head 1 → output", and the input of a head.
export function edgeName(data, edge) {
  const { names } = graphLayout(data);
  return `${names[edge.from]} → ${names[edge.to]}${edge.input < 3 ? ` (${HEAD_INPUTS[edge.input]})` : ""}`;
}

/** @param {HTMLElement} root @param {Theme} theme */
export function drawGraph(root, data, layout, current, theme, { selected, select }) {
  const size = theme.size || 1;
  const width = Math.max(root.clientWidth, 280);
  const [row, margin] = [ROW_HEIGHT * size, SIDE_MARGIN * size];
  const height = layout.rows * row;
  const stackWidth = (width - 2 * margin) / 2;
  const point = ({ stack, column, row: rowIndex }) => ({
    x: margin + stack * stackWidth + stackWidth * (0.04 + 0.92 * column),
    y: height - (rowIndex + 0.5) * row,
  });
  const points = layout.positions.map(point);
  const maxEffect = Math.max(...data.frames.flatMap((frame) => frame.edges.map((edge) => Math.abs(edge.effect))), 1e-9);
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `Graph of ${current.edges.length} connections at step ${current.step}; the list below has their names and values`,
  });
  const radius = Math.min(11 * size, (stackWidth * 0.92) / data.heads / 2 - 1);
  const lineWidth = (edge) => Math.max((Math.abs(edge.effect) / maxEffect) * MAX_LINE_WIDTH * size, 0.6);
  const drawingOrder = current.edges.map((_, i) => i).sort((a, b) => Number(a === selected) - Number(b === selected) || lineWidth(current.edges[a]) - lineWidth(current.edges[b]));
  for (const i of drawingOrder) {
    const edge = current.edges[i];
    const end = points[edge.to];
    const side = edge.input < 3 ? (edge.input - 1) * radius * 0.7 : 0; // query left, key in the middle, value right
    svg.append(...edgeSvg(points[edge.from], { x: end.x + side, y: end.y }, edge, {
      width: lineWidth(edge),
      colour: inputColour(edge.input, theme),
      outline: i === selected ? theme.text : "",
      faint: selected >= 0 && i !== selected,
      title: `${edgeName(data, edge)}: score ${numberText(edge.score, 3)}, effect ${numberText(edge.effect, 3)}`,
      select: () => { if (i !== selected) select(i); },
    }));
  }
  const nodesWithEdges = new Set(current.edges.flatMap((edge) => [edge.from, edge.to]));
  layout.positions.forEach((node, i) => svg.append(...nodeSvg(node, points[i], nodesWithEdges.has(i), radius, theme, size, layout.names[i])));
  svg.append(...rowNames(layout, points, width, theme, size));
  root.replaceChildren(svg);
}

// A curve from the top of one node to the bottom of another, and a wider invisible one that receives the pointer.
function edgeSvg(from, to, edge, { width, colour, outline, faint, title, select }) {
  const bend = Math.max((from.y - to.y) / 2, 12);
  const d = `M${from.x},${from.y} C${from.x},${from.y - bend} ${to.x},${to.y + bend} ${to.x},${to.y}`;
  const curve = svgElement("path", {
    d, fill: "none", stroke: colour, "stroke-width": width, "stroke-opacity": outline ? 1 : faint ? 0.25 : 0.75, class: "hu-edge",
    ...(edge.effect < 0 ? { "stroke-dasharray": `${Math.max(2 * width, 4)} ${Math.max(width, 3)}` } : {}),
  });
  const target = svgElement("path", { d, fill: "none", stroke: "transparent", "stroke-width": Math.max(width, 10), class: "hu-edge-target" });
  target.append(svgElement("title", {}, title));
  target.addEventListener("pointerenter", select);
  target.addEventListener("click", select);
  if (!outline) return [curve, target];
  return [svgElement("path", { d, fill: "none", stroke: outline, "stroke-width": width + 4, class: "hu-edge-outline" }), curve, target];
}

/** @param {Theme} theme */
function nodeSvg(node, { x, y }, isUsed, radius, theme, size, name) {
  const stroke = isUsed ? theme.text : theme.faint;
  const shapeStyle = { fill: theme.background, stroke, "stroke-width": isUsed ? 1.6 : 1 };
  const font = { x, y, "text-anchor": "middle", "dominant-baseline": "central", fill: isUsed ? theme.text : theme.muted, "pointer-events": "none" };
  const isHead = node.head >= 0;
  const boxWidth = { source: 56, target: 56, output: 56, ffn: 36 }[node.kind] * size;
  const shape = isHead
    ? svgElement("circle", { ...shapeStyle, cx: x, cy: y, r: radius })
    : svgElement("rect", { ...shapeStyle, x: x - boxWidth / 2, y: y - 10 * size, width: boxWidth, height: 20 * size, rx: node.kind === "ffn" ? 3 : 9 * size });
  shape.append(svgElement("title", {}, name));
  const label = svgElement("text", { ...font, "font-size": Math.min(11 * size, isHead ? radius * 1.2 : 99) }, node.text);
  return [shape, label];
}

// The name of each stack and of each of its rows of heads, at its outer side.
/** @param {Theme} theme */
function rowNames(layout, points, width, theme, size) {
  const titles = { encoder: "self", decoder: "self", cross: "cross" };
  return layout.positions.flatMap((node, i) => {
    if (["source", "target"].includes(node.kind)) {
      const name = node.stack ? "Decoder" : "Encoder";
      return [svgElement("text", { x: node.stack ? width : 0, y: points[i].y, "text-anchor": node.stack ? "end" : "start", "dominant-baseline": "central", "font-size": 12 * size, "font-weight": 600, fill: theme.text }, name)];
    }
    if (node.head !== 0) return [];
    const x = node.stack ? width : 0;
    const anchor = node.stack ? "end" : "start";
    return [svgElement("text", { x, y: points[i].y, "text-anchor": anchor, "dominant-baseline": "central", "font-size": 11 * size, fill: theme.muted },
      `${titles[node.kind]} ${displayNumber(node.layer)}`)];
  });
}
