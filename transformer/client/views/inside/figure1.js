// Figure 1 of the paper, and Figure 2 when an attention box is open. The drawing is drawn once; new data fill its
// boxes in and mark the open one. Every box is a button; the arrow keys follow the order of computation.
// `.show(bytes)` takes the data of figures/figure1.py; `report({ box or layer })` is called when one is selected.

import { button, clampIndex, colours, el, indices, listenForResize } from "../../common/base.js";
import { displayNumber, layerName } from "../../common/naming.js";
import { paintPixels } from "../../common/thumbnail.js";
import { unpack } from "../../trace/packing.js";
import { FIGURE_1, FIGURE_2 } from "./figure1-drawing.js";

const ARROW_STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }; // the figure is read upwards
const DRAWINGS = { "figure-1": FIGURE_1, "figure-2": FIGURE_2 };

export function figure1View(container, report) {
  let [header, parts, drawing, lastContent] = [null, null, null, null];
  const frame = el("div", { class: "hu hu-figure1-place" });
  container.append(frame);

  function show(bytes) {
    ({ header, parts } = unpack(bytes));
    if (!drawing) draw();
    fillIn();
    markOpenBox();
    paintThumbnails();
    scrollToOpenBox();
    const [className, content] = header.scroll_to || [];
    if (lastContent && content && lastContent !== content) scrollIntoView(className);
    lastContent = content;
  }

  function draw() {
    const parsed = new DOMParser().parseFromString(withNamespace(DRAWINGS[header.figure]), "image/svg+xml");
    drawing = document.importNode(parsed.documentElement, true);
    drawing.addEventListener("click", ({ target }) => {
      const box = target.closest(".hu-box");
      if (box) openBox(box.dataset.box);
    });
    drawing.addEventListener("keydown", moveByKey);
    frame.append(drawing);
    if (header.layers?.[0] > 1) frame.append(drawChooser(header.layers, report));
  }

  const boxNode = (id) => drawing.querySelector(`[data-box="${id}"]`);

  // The words and names that depend on the sentence, the layer and the head.
  function fillIn() {
    frame.classList.toggle("hu-figure1-scroll", Boolean(header.scroll_to));
    frame.dataset.size = header.large ? "large" : "normal";
    drawing.setAttribute("aria-label", header.caption);
    for (const { id, hint, location } of header.boxes) {
      const box = boxNode(id);
      box.setAttribute("role", "button");
      box.setAttribute("aria-label", [box.dataset.name, hint, location].filter(Boolean).join(", "));
      const hintNode = box.querySelector(".hu-box-hint");
      if (hintNode) setWords(hintNode, shortened(hint, MAX_HINT_LENGTH));
    }
    for (const node of drawing.querySelectorAll(".hu-tokens")) {
      setWords(node, shortened(header.words[node.dataset.side], MAX_WORDS_LENGTH));
    }
    if (!header.layers) return;
    const [count, chosen] = header.layers;
    const note = count > 1 ? `${layerName(chosen)} of ${count}` : "1 layer";
    for (const node of drawing.querySelectorAll(".hu-layer-note")) node.textContent = note;
    for (const [layer, node] of [...frame.querySelectorAll(".hu-layer")].entries()) {
      node.setAttribute("aria-pressed", String(layer === chosen));
    }
  }

  // The open box is the only one that Tab reaches; without an open box it is the first.
  function markOpenBox() {
    const exists = header.boxes.some(({ id }) => id === header.opened);
    for (const [i, { id }] of header.boxes.entries()) {
      const box = boxNode(id);
      if (id === header.opened) box.setAttribute("aria-current", "step");
      else box.removeAttribute("aria-current");
      box.setAttribute("tabindex", id === header.opened || (!exists && i === 0) ? "0" : "-1");
    }
  }

  // Scroll the figure, not the page, until the open box is visible in its frame.
  function scrollToOpenBox() {
    const box = drawing.querySelector("[aria-current]")?.getBoundingClientRect();
    const { top, bottom, height } = frame.getBoundingClientRect();
    if (box && (box.top < top || box.bottom > bottom)) {
      frame.scrollTop += (box.top + box.bottom) / 2 - top - height / 2;
    }
  }

  // The pictures of the values, redrawn when the theme changes.
  function paintThumbnails() {
    if (!frame.isConnected) return; // colours can only be read on the page
    const [theme, canvas] = [colours(frame), document.createElement("canvas")];
    for (const { id } of header.boxes) {
      const picture = boxNode(id).querySelector("image");
      if (!picture) continue;
      const part = parts.get(id);
      if (!part) {
        picture.removeAttribute("href");
        continue;
      }
      const [rows, columns] = part.shape;
      const ramp = header.signed.includes(id) ? theme.diverging : theme.ramp;
      paintPixels(canvas, rows, columns, (row, column) => ramp[part.values[row * columns + column]]);
      picture.setAttribute("href", canvas.toDataURL());
    }
  }

  function openBox(id) {
    header.opened = id;
    markOpenBox();
    scrollToOpenBox();
    boxNode(id).focus({ preventScroll: true });
    report({ box: id });
  }

  function moveByKey(event) {
    const index = header.boxes.findIndex(({ id }) => id === event.target.dataset?.box);
    if (index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = header.boxes.length - 1;
    const targets = { Home: 0, End: last, Enter: index, " ": index };
    const next = targets[event.key] ?? clampIndex(index + ARROW_STEPS[event.key], last + 1);
    if (Number.isNaN(next)) return;
    event.preventDefault();
    if (next !== index || event.key in { Enter: 1, " ": 1 }) openBox(header.boxes[next].id);
  }

  const endResize = listenForResize(frame, () => {
    if (!drawing) return;
    paintThumbnails();
    scrollToOpenBox();
  });
  return { show, close: endResize };
}

const [MAX_HINT_LENGTH, MAX_WORDS_LENGTH] = [16, 30]; // characters that fit into a box, and below a stack

const withNamespace = (svg) => svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ');

const shortened = (text, limit) => text.length > limit ? `${text.slice(0, limit - 1)}…` : text;

// The selector of the layer.
function drawChooser([count], report) {
  const layerButton = (layer) =>
    button(displayNumber(layer), () => report({ layer }), {
      class: "hu-button hu-layer",
      "aria-label": `Layer ${displayNumber(layer)}`,
    });
  return el(
    "div",
    { class: "hu-layer-place", role: "group", "aria-label": "Layer" },
    el("span", {}, `N = ${count} layers; showing`),
    el("div", { class: "hu-layer-list" }, ...indices(count).map(layerButton)),
  );
}

const NAVIGATION_HEIGHT = 60; // pixels at the top of the screen that the navigation covers

// Scroll to the first element of this class unless its top is on the screen.
function scrollIntoView(className) {
  const element = document.querySelector(`.${className}`);
  const top = element?.getBoundingClientRect().top;
  if (top < NAVIGATION_HEIGHT || top > globalThis.innerHeight * 0.7) element.scrollIntoView({ block: "start" });
}

// Words of the model, which page translators leave alone.
function setWords(node, text) {
  node.setAttribute("translate", "no");
  node.textContent = text;
}
