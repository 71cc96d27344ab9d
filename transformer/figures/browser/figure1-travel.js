// Animates vectors along the arrows into the box that was just opened.

import { SVG } from "./base.js";

const TRAVEL_MS = 850; // ms per vector
const TRAVEL_INTERVAL_MS = 130; // ms between two vectors
const TRAVELLERS = 3; // vectors per arrow
const TRAVEL_CELL = 4; // in units of the drawing
const TOUCHING = 1.5; // distance from a box's edge that counts as touching

const touchesBox = ([x, y], [left, top, wide, high]) =>
  x >= left - TOUCHING && x <= left + wide + TOUCHING && y >= top - TOUCHING && y <= top + high + TOUCHING;
const samePoint = ([x0, y0], [x1, y1]) => x0 === x1 && y0 === y1;

// All paths into a box, as corners from the start: along an arrow and back through forks, or from the box just
// below.
export function pathsInto({ boxes, arrows, residuals }, id) {
  const place = boxes[id];
  if (!place) return [];
  const inBox = (point) => Object.values(boxes).some((box) => touchesBox(point, box));
  const lead = (way) => {
    const before = inBox(way[0]) ? null : arrows.find((one) => samePoint(one[one.length - 1], way[0]));
    return before ? lead([...before.slice(0, -1), ...way]) : way;
  };
  const ends = [...arrows, ...residuals].filter((one) => touchesBox(one[one.length - 1], place) && !touchesBox(one[0], place));
  const [left, top, wide, high] = place;
  const below = Object.values(boxes).filter(([x, y, w]) => x === left && w === wide && Math.abs(top + high - y) <= TOUCHING);
  const middle = left + wide / 2;
  return [...ends.map(lead), ...below.map(([, y, , h]) => [[middle, y + h / 2], [middle, top + high / 2]])];
}

// The point at this share of a path, 0 to 1.
export function pointAlong(way, share) {
  const legs = way.slice(1).map((to, i) => Math.hypot(to[0] - way[i][0], to[1] - way[i][1]));
  let left = Math.min(Math.max(share, 0), 1) * legs.reduce((sum, leg) => sum + leg, 0);
  for (let i = 0; i < legs.length; i++) {
    if (left <= legs[i] && legs[i] > 0) {
      const part = left / legs[i];
      return [0, 1].map((axis) => way[i][axis] + (way[i + 1][axis] - way[i][axis]) * part);
    }
    left -= legs[i];
  }
  return way[way.length - 1];
}

// Animate small vectors along these paths of the drawing `root`, in these colours; nothing if the browser asks
// for reduced motion.
export function sendVectors(root, ways, tints) {
  if (globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches) return;
  const begun = performance.now();
  const sent = ways.flatMap((way) => Array.from({ length: TRAVELLERS }, (_, nth) => {
    const node = document.createElementNS(SVG, "g");
    node.setAttribute("class", "hu-vector");
    tints.forEach((tint, i) => {
      const cell = document.createElementNS(SVG, "rect");
      const at = { x: (i - tints.length / 2) * TRAVEL_CELL, y: -TRAVEL_CELL / 2, width: TRAVEL_CELL, height: TRAVEL_CELL, fill: tint };
      for (const [name, value] of Object.entries(at)) cell.setAttribute(name, String(value));
      node.append(cell);
    });
    root.append(node);
    return { way, node, from: nth * TRAVEL_INTERVAL_MS };
  }));
  const go = (time) => {
    let left = 0;
    for (const { way, node, from } of sent) {
      const share = (time - begun - from) / TRAVEL_MS;
      if (share >= 1 || !node.isConnected) {
        node.remove();
        continue;
      }
      left += 1;
      node.setAttribute("visibility", share < 0 ? "hidden" : "visible");
      node.setAttribute("transform", `translate(${pointAlong(way, share).join(" ")})`);
    }
    if (left) requestAnimationFrame(go);
  };
  go(begun);
}
