// Animates vectors along the arrows into the box that was just opened.

import { svgNode } from "../common/base.js";

const VECTOR_MS = 850; // until a vector arrives
const VECTOR_INTERVAL_MS = 130; // ms between two vectors
const VECTORS_PER_ARROW = 3;
const VECTOR_CELL = 4; // size of a cell of a vector, in units of the drawing
const TOUCH_DISTANCE = 1.5; // distance from a box's edge that counts as touching

const touchesBox = ([x, y], [left, top, width, height]) =>
  x >= left - TOUCH_DISTANCE && x <= left + width + TOUCH_DISTANCE && y >= top - TOUCH_DISTANCE &&
  y <= top + height + TOUCH_DISTANCE;
const samePoint = ([x0, y0], [x1, y1]) => x0 === x1 && y0 === y1;

// All paths into a box, each a list of corner points: along an arrow, followed back through forks to the box where it
// starts, or from the box that touches this one from below.
export function pathsInto({ boxes, arrows, residuals }, id) {
  const target = boxes[id];
  if (!target) return [];
  const isAtBox = (point) => Object.values(boxes).some((box) => touchesBox(point, box));
  const fullPath = (path) => {
    const before = isAtBox(path[0]) ? null : arrows.find((arrow) => samePoint(arrow[arrow.length - 1], path[0]));
    return before ? fullPath([...before.slice(0, -1), ...path]) : path;
  };
  const incoming = [...arrows, ...residuals].filter((arrow) =>
    touchesBox(arrow[arrow.length - 1], target) && !touchesBox(arrow[0], target)
  );
  const [left, top, width, height] = target;
  const adjacentBoxes = Object.values(boxes).filter(([x, y, w]) =>
    x === left && w === width && Math.abs(top + height - y) <= TOUCH_DISTANCE
  );
  const middle = left + width / 2;
  return [
    ...incoming.map(fullPath),
    ...adjacentBoxes.map(([, y, , h]) => [[middle, y + h / 2], [middle, top + height / 2]]),
  ];
}

// The point at this share of a path, 0 to 1.
export function pointAlong(path, share) {
  const lengths = path.slice(1).map((to, i) => Math.hypot(to[0] - path[i][0], to[1] - path[i][1]));
  let remaining = Math.min(Math.max(share, 0), 1) * lengths.reduce((sum, length) => sum + length, 0);
  for (let i = 0; i < lengths.length; i++) {
    if (remaining <= lengths[i] && lengths[i] > 0) {
      const part = remaining / lengths[i];
      return [0, 1].map((axis) => path[i][axis] + (path[i + 1][axis] - path[i][axis]) * part);
    }
    remaining -= lengths[i];
  }
  return path[path.length - 1];
}

// Animate small vectors along these paths of the SVG element `root`, in these colours; nothing if the browser asks
// for reduced motion.
export function animateVectors(root, paths, vectorColours) {
  if (globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches) return;
  const startTime = performance.now();
  const vectors = paths.flatMap((path) =>
    Array.from({ length: VECTORS_PER_ARROW }, (_, order) => {
      const cells = vectorColours.map((fill, i) => {
        const x = (i - vectorColours.length / 2) * VECTOR_CELL;
        return svgNode("rect", { x, y: -VECTOR_CELL / 2, width: VECTOR_CELL, height: VECTOR_CELL, fill });
      });
      const node = svgNode("g", { class: "hu-vector" }, ...cells);
      root.append(node);
      return { path, node, delay: order * VECTOR_INTERVAL_MS };
    })
  );
  const animate = (time) => {
    let running = 0;
    for (const { path, node, delay } of vectors) {
      const share = (time - startTime - delay) / VECTOR_MS;
      if (share >= 1 || !node.isConnected) {
        node.remove();
        continue;
      }
      running += 1;
      node.setAttribute("visibility", share < 0 ? "hidden" : "visible");
      node.setAttribute("transform", `translate(${pointAlong(path, share).join(" ")})`);
    }
    if (running) requestAnimationFrame(animate);
  };
  animate(startTime);
}
