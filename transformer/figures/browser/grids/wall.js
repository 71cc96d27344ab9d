// Concurrent training runs, one card each: the name, a small curve and the clearest head, which is updated as
// it learns. One or two cards can be enlarged. `.show(bytes)` takes the data of figures/wall.py; `report({
// open: name })` is called to open a run.

import { colours, el, svgNode } from "../common/base.js";
import { paintThumb } from "../common/thumbnail.js";
import { unpack } from "../trace/packing.js";

const FADE_MS = 700; // ms to fade from one picture of a head to the next
const MAX_ENLARGED = 2; // number of enlarged cards
const ORDERS = {
  name: ["Name", (a, b) => a.owner.localeCompare(b.owner)],
  steps: ["Most steps", (a, b) => b.share - a.share],
  accuracy: ["Highest accuracy", (a, b) => (b.accuracy ?? -1) - (a.accuracy ?? -1)],
  loss: ["Lowest loss", (a, b) => lossOf(a) - lossOf(b)],
};

export function wallView(container, report) {
  let [cards, heads, enlarged, order] = [[], new Map(), [], "name"];
  const shownLevels = new Map(); // the levels that each run's head shows now, by name
  const drawnCards = new Map(); // the elements of each card
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const sortButtons = el("div", { class: "hu-wall-sorts", role: "group", "aria-label": "Sort the runs" });
  for (const [key, [label]] of Object.entries(ORDERS)) {
    const button = el("button", { type: "button", class: "hu-button", "data-order": key }, label);
    button.addEventListener("click", () => {
      order = key;
      draw();
    });
    sortButtons.append(button);
  }
  const hint = el(
    "p",
    { class: "hu-note" },
    "The curve shows the loss, from zero; the picture shows a head: the stronger the colour, the more attention. Click a run to enlarge it, and another to compare the two.",
  );
  const enlargedCards = el("div", { class: "hu-wall-front" });
  const otherCards = el("div", { class: "hu-wall-rest" });
  const frame = el("div", { class: "hu hu-wall" }, sortButtons, hint, enlargedCards, otherCards);
  container.append(frame);
  let [fadeStart, fadeRequest] = [0, 0];

  function show(bytes) {
    const { header, parts } = unpack(bytes);
    cards = header.cards;
    heads = parts;
    enlarged = enlarged.filter((name) => cards.some((card) => card.name === name));
    draw();
  }

  function draw() {
    if (!frame.isConnected) return; // colours can only be read on the page
    for (const button of sortButtons.children) {
      button.setAttribute("aria-pressed", String(button.dataset.order === order));
    }
    const sorted = [...cards].sort(ORDERS[order][1]);
    for (const name of [...drawnCards.keys()]) if (!cards.some((card) => card.name === name)) drawnCards.delete(name);
    sorted.forEach(updateCard);
    enlargedCards.replaceChildren(...enlarged.map((name) => drawnCards.get(name).node));
    otherCards.replaceChildren(
      ...sorted.filter(({ name }) => !enlarged.includes(name)).map(({ name }) => drawnCards.get(name).node),
    );
    enlargedCards.hidden = !enlarged.length;
    fadeHeads();
  }

  function updateCard(card) {
    if (!drawnCards.has(card.name)) drawnCards.set(card.name, makeCard(card.name));
    const { node, button, owner, title, canvas, curve, progress, caption } = drawnCards.get(card.name);
    const isLarge = enlarged.includes(card.name);
    node.dataset.status = card.status;
    button.setAttribute("aria-pressed", String(isLarge));
    owner.textContent = card.owner;
    title.textContent = card.title;
    canvas.setAttribute("aria-label", card.head);
    canvas.hidden = !heads.has(card.name);
    progress.textContent = progressText(card);
    caption.textContent = `${card.head}. ${lossText(card.curve)}.`;
    drawCurve(curve, card.curve);
  }

  function makeCard(name) {
    const [owner, title, progress] = [
      el("b", {}),
      el("span", { class: "hu-wall-title" }),
      el("span", { class: "hu-wall-progress" }),
    ];
    const canvas = el("canvas", { role: "img", "aria-label": "Its clearest head" });
    const caption = el("span", { class: "hu-wall-ends" });
    const curve = svgNode("svg", { role: "img", viewBox: "0 0 100 40", preserveAspectRatio: "none" });
    const button = el(
      "button",
      { type: "button", class: "hu-wall-card" },
      owner,
      title,
      el("span", { class: "hu-wall-pictures" }, canvas, curve),
      progress,
      caption,
    );
    button.addEventListener("click", () => {
      enlarged = enlarged.includes(name)
        ? enlarged.filter((other) => other !== name)
        : [...enlarged, name].slice(-MAX_ENLARGED);
      draw();
      button.focus({ preventScroll: true });
    });
    const open = el("button", { type: "button", class: "hu-button hu-wall-open" }, "Open the run →");
    open.addEventListener("click", () => report({ open: name }));
    return {
      node: el("div", { class: "hu-wall-run" }, button, open),
      button,
      owner,
      title,
      canvas,
      curve,
      progress,
      caption,
    };
  }

  // Fade every head from its current picture to the newest.
  function fadeHeads() {
    cancelAnimationFrame(fadeRequest);
    const fades = cards.filter(({ name }) => heads.has(name)).map(({ name }) => {
      const head = heads.get(name);
      const before = shownLevels.get(name);
      const from = before && before.length === head.values.length ? Float32Array.from(before) : null;
      return { name, head, from };
    });
    fadeStart = 0;
    const step = (now) => {
      fadeStart ||= now;
      const share = reducedMotion.matches ? 1 : Math.min((now - fadeStart) / FADE_MS, 1);
      const { ramp } = colours(frame);
      for (const { name, head, from } of fades) {
        const values = from && share < 1
          ? from.map((value, i) => value + share * (head.values[i] - value))
          : head.values;
        shownLevels.set(name, values);
        const [height, width] = head.shape;
        paintThumb(drawnCards.get(name).canvas, { values: Uint8Array.from(values), height, width }, false, ramp);
      }
      if (share < 1 && fades.some(({ from }) => from)) fadeRequest = requestAnimationFrame(step);
    };
    fadeRequest = requestAnimationFrame(step);
  }

  return { show, close: () => cancelAnimationFrame(fadeRequest) };
}

const lossOf = ({ curve }) => (curve.length ? curve[curve.length - 1][1] : Infinity);

export function progressText({ status, step, accuracy, curve }) {
  const parts = [status === "running" ? `step ${step.toLocaleString("en")}` : status];
  if (curve.length) parts.push(`loss ${curve[curve.length - 1][1].toFixed(2)}`);
  if (accuracy !== null) parts.push(`${Math.round(100 * accuracy)}% correct`);
  return parts.join(" · ");
}

// The points of a curve in a box of 100 × 40: steps to the right, loss upwards from zero.
export function pointsOf(curve) {
  const maxLoss = Math.max(...curve.map(([, loss]) => loss), 1e-9);
  const [first, last] = [curve[0][0], curve[curve.length - 1][0]];
  return curve.map(([step, loss]) => [
    last > first ? (100 * (step - first)) / (last - first) : 0,
    40 - (38 * loss) / maxLoss,
  ]);
}

const lossText = (curve) => {
  if (!curve.length) return "No loss yet";
  const [[first, firstLoss], [last, lastLoss]] = [curve[0], curve[curve.length - 1]];
  return `Loss ${firstLoss.toFixed(2)} at step ${first}, ${lastLoss.toFixed(2)} at step ${last}`;
};

function drawCurve(svg, curve) {
  svg.toggleAttribute("hidden", !curve.length);
  if (!curve.length) return;
  svg.setAttribute("aria-label", lossText(curve));
  const points = pointsOf(curve).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  svg.replaceChildren(svgNode("title", {}, lossText(curve)), svgNode("polyline", { points }));
}
