// Concurrent training runs, one card each: the name, a small curve and the clearest head, which is updated as
// it learns. One or two cards can be enlarged. `.show(bytes)` takes the data of figures/wall.py; `report({
// open: name })` is called to open a run.

import { button, colours, el, svgNode } from "../../common/base.js";
import { wholePercent } from "../../common/numbers.js";
import { paintThumb } from "../../common/thumbnail.js";
import { unpack } from "../../trace/packing.js";

const MAX_ENLARGED = 2; // number of enlarged cards
const ORDERS = {
  name: ["Name", (a, b) => a.owner.localeCompare(b.owner)],
  steps: ["Most steps", (a, b) => b.share - a.share],
  accuracy: ["Highest accuracy", (a, b) => (b.accuracy ?? -1) - (a.accuracy ?? -1)],
  loss: ["Lowest loss", (a, b) => lossOf(a) - lossOf(b)],
};

export function wallView(container, report) {
  let [cards, heads, enlarged, order] = [[], new Map(), [], "name"];
  const drawnCards = new Map(); // the elements of each card
  const sortButtons = el("div", { class: "hu-line hu-wall-sorts", role: "group", "aria-label": "Sort the runs" });
  for (const [key, [label]] of Object.entries(ORDERS)) {
    const sort = () => {
      order = key;
      draw();
    };
    sortButtons.append(button(String(label), sort, { "data-order": key }));
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

  function show(bytes) {
    const { header, parts } = unpack(bytes);
    cards = header.cards;
    heads = parts;
    enlarged = enlarged.filter((name) => cards.some((card) => card.name === name));
    draw();
  }

  function draw() {
    if (!frame.isConnected) return; // colours can only be read on the page
    for (const sortButton of sortButtons.children) {
      sortButton.setAttribute("aria-pressed", String(sortButton.dataset.order === order));
    }
    const sorted = [...cards].sort(ORDERS[order][1]);
    for (const name of [...drawnCards.keys()]) if (!cards.some((card) => card.name === name)) drawnCards.delete(name);
    sorted.forEach(updateCard);
    enlargedCards.replaceChildren(...enlarged.map((name) => drawnCards.get(name).node));
    otherCards.replaceChildren(
      ...sorted.filter(({ name }) => !enlarged.includes(name)).map(({ name }) => drawnCards.get(name).node),
    );
    enlargedCards.hidden = !enlarged.length;
    const { ramp } = colours(frame);
    for (const [name, { values, shape: [height, width] }] of heads) {
      paintThumb(drawnCards.get(name).canvas, { values, height, width }, false, ramp);
    }
  }

  function updateCard(card) {
    if (!drawnCards.has(card.name)) drawnCards.set(card.name, makeCard(card.name));
    const { node, toggle, owner, title, canvas, curve, progress, caption } = drawnCards.get(card.name);
    node.dataset.status = card.status;
    toggle.setAttribute("aria-pressed", String(enlarged.includes(card.name)));
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
    const enlarge = () => {
      enlarged = enlarged.includes(name)
        ? enlarged.filter((other) => other !== name)
        : [...enlarged, name].slice(-MAX_ENLARGED);
      draw();
      toggle.focus({ preventScroll: true });
    };
    const pictures = el("span", { class: "hu-wall-pictures" }, canvas, curve);
    const toggle = button([owner, title, pictures, progress, caption], enlarge, { class: "hu-wall-card" });
    const open = button("Open the run →", () => report({ open: name }), { class: "hu-button hu-wall-open" });
    const node = el("div", { class: "hu-wall-run" }, toggle, open);
    return { node, toggle, owner, title, canvas, curve, progress, caption };
  }

  return { show, close: () => {} };
}

const lossOf = ({ curve }) => (curve.length ? curve[curve.length - 1][1] : Infinity);

export function progressText({ status, step, accuracy, curve }) {
  const parts = [status === "running" ? `step ${step.toLocaleString("en")}` : status];
  if (curve.length) parts.push(`loss ${curve[curve.length - 1][1].toFixed(2)}`);
  if (accuracy !== null) parts.push(`${wholePercent(accuracy)} correct`);
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
