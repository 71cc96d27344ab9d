// A drawing of boxes and arrows: Figure 1 of the paper, and Figure 2 when an attention box is open. Every box
// is a button; the arrow keys follow the order of computation. `.show(bytes)` takes the data of
// figures/figure1.py; `report({ box or layer })` is called when one is selected.

import { button, clampIndex, colours, el, indices, listenForResize, svgNode } from "../../common/base.js";
import { displayNumber, layerName } from "../../common/naming.js";
import { paintPixels } from "../../common/thumbnail.js";
import { unpack } from "../../trace/packing.js";

const ARROW_STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }; // the figure is read upwards

export function figure1View(container, report) {
  let [header, parts, drawing, lastContent] = [null, null, null, null];
  const canvas = el("div", { class: "hu-figure1", role: "group" });
  const frame = el("div", { class: "hu hu-figure1-place" }, canvas);
  container.append(frame);

  function show(bytes) {
    ({ header, parts } = unpack(bytes));
    draw();
    const [className, content] = header.scroll_to || [];
    if (lastContent && content && lastContent !== content) scrollIntoView(className);
    lastContent = content;
  }

  // Redraw everything; if a button had the focus, the open box gets it.
  function draw() {
    if (!header || !frame.isConnected) return; // colours can only be read on the page
    const hadFocus = canvas.contains(frame.getRootNode().activeElement);
    drawing = drawingForWidth(header.drawings, frame.clientWidth);
    const [width, height] = drawing.size;
    frame.classList.toggle("hu-figure1-scroll", Boolean(header.scroll_to));
    frame.dataset.size = header.large ? "large" : "normal";
    canvas.setAttribute("aria-label", header.caption);
    canvas.style.setProperty("--width", width);
    canvas.style.setProperty("--height", height);
    canvas.replaceChildren(
      drawArrows(drawing),
      ...drawing.frames.map((area, index) => drawFrame(area, index ? "Decoder" : "Encoder", header.layers)),
      ...Object.entries(drawing.words || {}).map(([name, area]) => drawWord(header.words[name], area)),
      ...header.boxes.map(drawBox),
      ...(drawing.chooser && header.layers[0] > 1 ? [drawChooser(drawing.chooser, header.layers)] : []),
    );
    markOpenBox(header.opened);
    paintThumbnails();
    scrollToOpenBox();
    if (hadFocus) canvas.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }

  function markOpenBox(id) {
    const boxes = [...canvas.querySelectorAll(".hu-box")];
    const exists = boxes.some((box) => box.dataset.box === id);
    boxes.forEach((box, i) => {
      const isOpen = box.dataset.box === id;
      if (isOpen) box.setAttribute("aria-current", "step");
      else box.removeAttribute("aria-current");
      box.tabIndex = isOpen || (!exists && i === 0) ? 0 : -1;
    });
  }

  // Scroll the figure, not the page, until the open box is visible in its frame.
  function scrollToOpenBox() {
    const box = canvas.querySelector("[aria-current]");
    if (!box) return;
    const [top, bottom] = [box.offsetTop, box.offsetTop + box.offsetHeight];
    if (top < frame.scrollTop || bottom > frame.scrollTop + frame.clientHeight) {
      frame.scrollTop = (top + bottom - frame.clientHeight) / 2;
    }
  }

  // The thumbnails, redrawn when the theme changes.
  function paintThumbnails() {
    const theme = colours(frame);
    for (const picture of canvas.querySelectorAll("canvas")) {
      const part = parts.get(picture.dataset.part);
      const [rows, columns] = part.shape;
      const ramp = header.signed.includes(picture.dataset.part) ? theme.diverging : theme.ramp;
      paintPixels(picture, rows, columns, (row, column) => ramp[part.values[row * columns + column]]);
    }
  }

  function openBox(id) {
    header.opened = id;
    markOpenBox(id);
    scrollToOpenBox();
    canvas.querySelector("[aria-current]").focus({ preventScroll: true });
    report({ box: id });
  }

  function drawBox(box) {
    const words = el(
      "span",
      { class: "hu-box-words" },
      el("span", {}, box.label),
      box.hint ? el("small", {}, box.hint) : null,
    );
    const picture = parts.has(box.id) ? [el("canvas", { "data-part": box.id, "aria-hidden": "true" })] : [];
    const fullName = [box.label, box.hint, box.location].filter(Boolean).join(", ");
    return button([words, ...picture], () => openBox(box.id), {
      class: "hu-box",
      "data-box": box.id,
      "data-kind": box.kind,
      "data-form": boxForm(drawing.boxes[box.id]),
      style: areaStyle(drawing.boxes[box.id]),
      "aria-label": box.location ? fullName : null,
    });
  }

  // The selector of the layer.
  function drawChooser(area, [count, chosen]) {
    const choose = (layer) => {
      [...list.children].forEach((node, i) => node.setAttribute("aria-pressed", String(i === layer)));
      report({ layer });
    };
    const layerButton = (layer) =>
      button(displayNumber(layer), () => choose(layer), {
        class: "hu-button hu-layer",
        "aria-pressed": String(layer === chosen),
        "aria-label": `Layer ${displayNumber(layer)}`,
      });
    const list = el("div", { class: "hu-layer-list" }, ...indices(count).map(layerButton));
    return el(
      "div",
      { class: "hu-layer-place", style: areaStyle(area) },
      el("div", { role: "group", "aria-label": "Layer" }, el("span", {}, `N = ${count} layers; showing`), list),
    );
  }

  canvas.addEventListener("keydown", (event) => {
    const index = header.boxes.findIndex((box) => box.id === event.target.dataset?.box);
    if (index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const ends = { Home: 0, End: header.boxes.length - 1 };
    if (!(event.key in ARROW_STEPS) && !(event.key in ends)) return;
    event.preventDefault();
    const next = ends[event.key] ?? clampIndex(index + ARROW_STEPS[event.key], header.boxes.length);
    if (next !== index) openBox(header.boxes[next].id);
  });
  const endResize = listenForResize(frame, () => {
    if (!header || !frame.isConnected) return;
    if (drawingForWidth(header.drawings, frame.clientWidth) === drawing) {
      paintThumbnails();
      scrollToOpenBox();
    } else draw();
  });
  return { show, close: endResize };
}

const NAVIGATION_HEIGHT = 60; // pixels at the top of the screen that the navigation covers

// Scroll to the first element of this class unless its top is on the screen.
function scrollIntoView(className) {
  const element = document.querySelector(`.${className}`);
  const top = element?.getBoundingClientRect().top;
  if (top < NAVIGATION_HEIGHT || top > globalThis.innerHeight * 0.7) element.scrollIntoView({ block: "start" });
}

// A drawing that would be scaled below this factor is replaced by a narrower one.
const MIN_DRAWING_SCALE = 0.75;
const drawingForWidth = (drawings, width) =>
  drawings.find(({ size }) => width >= size[0] * MIN_DRAWING_SCALE) || drawings[drawings.length - 1];

const areaStyle = ([x, y, w, h]) => `--x: ${x}; --y: ${y}; --w: ${w}; --h: ${h}`;

// How a box of this size arranges its label and thumbnail, as a value of `data-form` for figure1.css.
function boxForm([, , width, height]) {
  if (width < 80 && height < 40) return "small";
  if (height < 30) return "flat";
  return width < 110 ? "tall" : "wide";
}

// The arrow through the frame passes between the two notes.
function drawFrame(area, stack, [count, chosen]) {
  const note = count > 1 ? `${layerName(chosen)} of ${count}` : "1 layer";
  return el("div", { class: "hu-layers", style: areaStyle(area) }, el("span", {}, stack), el("span", {}, note));
}

function drawWord(text, [x, y, width]) {
  return el(
    "span",
    { class: "hu-figure1-word", style: areaStyle([x - width / 2, y - 9, width, 18]), title: text },
    text,
  );
}

function drawArrows({ size: [width, height], arrows, residuals }) {
  const drawn = (paths, className) =>
    paths.flatMap((path) => [
      svgNode("path", { class: className, d: roundedPath(path) }),
      svgNode("path", { class: `${className} hu-tipped`, d: arrowHead(path) }),
    ]);
  return svgNode(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...drawn(residuals, "hu-residual"),
    ...drawn(arrows, "hu-arrow"),
  );
}

const BEND = 7; // radius of a corner

// Straight segments with round corners.
function roundedPath(points) {
  const parts = [`M${points[0].join(" ")}`];
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = [points[i - 1], points[i], points[i + 1]];
    parts.push(
      `L${pointTowards(corner, before).join(" ")}Q${corner.join(" ")} ${pointTowards(corner, after).join(" ")}`,
    );
  }
  return `${parts.join("")}L${points[points.length - 1].join(" ")}`;
}

function pointTowards([x, y], [toX, toY]) {
  const distance = Math.hypot(toX - x, toY - y);
  const share = Math.min(BEND / distance, 0.5);
  return [x + (toX - x) * share, y + (toY - y) * share];
}

function arrowHead(points) {
  const [[x0, y0], [x, y]] = points.slice(-2);
  const distance = Math.hypot(x - x0, y - y0);
  const [dx, dy] = [(x - x0) / distance, (y - y0) / distance];
  const tipCorner = (side) => `${x - 6 * dx + side * 3.5 * dy} ${y - 6 * dy - side * 3.5 * dx}`;
  return `M${x} ${y}L${tipCorner(1)}L${tipCorner(-1)}Z`;
}
