// Export: the view as PNG, SVG or CSV.

import { button, download, el, printColours } from "./base.js";
import { bytesOfBase64 } from "./base64.js";
import { shorten } from "./token-labels.js";
import { exportName, shortName } from "./naming.js";
import { KINDS } from "./head-codes.js";
import { csvOf } from "./csv.js";
import { MAX_CANVAS_HEIGHT } from "./stage.js";
import { svgPen } from "./svg-pen.js";

const PNG_SCALE = 3; // PNG pixels per screen pixel
const MAX_PIXELS = 1e8; // browsers cannot draw on a larger canvas
const EXPORT_TOP = 54; // pixels above the figure for the title
const EXPORT_MARGIN = 16;

// The menu in the toolbar. `currentView()` returns the view shown.
/** @param {Context} ctx */
export function makeExportMenu(ctx, currentView) {
  const formats = {
    png: { label: "Image (PNG)", render: (figure) => pngOf(ctx, figure, currentView()), source: "figure" },
    svg: { label: "Vector image (SVG)", render: () => svgOf(ctx, currentView(), node), source: "figure" },
    csv: { label: "Table (CSV)", render: (table) => csvOf(table), source: "table" },
  };
  const items = Object.entries(formats).map(([extension, { label, render, source }]) => {
    const save = () => {
      close();
      const content = currentView()[source]();
      if (content) download(render(content), `${fileName(ctx)}.${extension}`);
    };
    return button(label, save, { class: null, "data-from": source });
  });
  const menu = el("div", { class: "hu-menu", role: "group", "aria-label": "Export", hidden: "" }, ...items);
  const opener = button("Export", () => (menu.hidden ? open() : close()), { "aria-expanded": "false" });
  const node = el("div", { class: "hu-export" }, opener, menu);

  function open() {
    const content = { figure: currentView().figure?.(), table: currentView().table?.() };
    for (const item of items) item.disabled = !content[item.dataset.from];
    menu.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    items.find((item) => !item.disabled)?.focus();
    addEventListener("pointerdown", closeOutside);
  }

  function close() {
    if (menu.hidden) return;
    const hadFocus = node.contains(node.getRootNode().activeElement);
    menu.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", closeOutside);
    if (hadFocus) opener.focus();
  }
  const closeOutside = (event) => {
    if (!event.composedPath().includes(node)) close();
  };

  node.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !node.contains(event.relatedTarget)) close();
  });
  node.addEventListener("keydown", (event) => {
    if (menu.hidden) return;
    const usable = items.filter((item) => !item.disabled);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (step && usable.length) {
      const index = usable.indexOf(node.getRootNode().activeElement);
      usable[(index + step + usable.length) % usable.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { node, close };
}

// A figure below its title and the sentence.
/** @param {Pen} pen @param {Context} ctx */
function paintCaptioned(pen, figure, ctx, view) {
  const { theme } = ctx;
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  for (
    const [text, y, font, colour] of [
      [figure.title, 24, `600 16px ${theme.font}`, theme.text],
      [captionOf(ctx, view), 43, `12px ${theme.font}`, theme.muted],
    ]
  ) {
    pen.font = font;
    pen.fillStyle = colour;
    pen.fillText(shorten(pen, text, figure.width), EXPORT_MARGIN, y);
  }
  pen.translate(EXPORT_MARGIN, EXPORT_TOP);
  figure.paint(pen);
}

// The caption: the kind of attention, if the view shows one, the sentence or both sentences, and the model.
/** @param {Context} ctx @param {any} view */
function captionOf({ sides, state }, view) {
  const shownSides = state.view === "compare" ? sides : sides.slice(0, 1);
  const sentences = shownSides.map((side) => `${side.source} → ${side.text}`).join(" | ");
  const models = [...new Set(shownSides.map((side) => side.model))].filter(Boolean).join(" | ");
  return [view.kinds === false ? "" : KINDS[state.kind], sentences, models].filter(Boolean).join(" · ");
}

const exportSize = ({ width, height }) =>
  [width + 2 * EXPORT_MARGIN, height + EXPORT_TOP + EXPORT_MARGIN].map(Math.ceil);

// A PNG in the screen's colours.
/** @param {Context} ctx */
function pngOf(ctx, figure, view) {
  const [width, height] = exportSize(figure);
  const scale = Math.min(
    PNG_SCALE,
    MAX_CANVAS_HEIGHT / width,
    MAX_CANVAS_HEIGHT / height,
    Math.sqrt(MAX_PIXELS / (width * height)),
  );
  const canvas = el("canvas");
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const pen = canvas.getContext("2d");
  pen.fillStyle = ctx.theme.background;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.scale(scale, scale);
  paintCaptioned(pen, figure, ctx, view);
  // Not toBlob, which Chrome may delay for seconds until it is idle.
  const bytes = bytesOfBase64(canvas.toDataURL("image/png").split(",")[1]);
  return new Blob([bytes], { type: "image/png" });
}

// An SVG in the colours for print, which `container` gives.
/** @param {Context} ctx @param {any} view @param {HTMLElement} container */
function svgOf(ctx, view, container) {
  const screen = ctx.theme;
  ctx.theme = printColours(container);
  try {
    const figure = view.figure();
    const pen = svgPen(...exportSize(figure), ctx.theme.background);
    pen.describe(figure.title, captionOf(ctx, view));
    paintCaptioned(pen, figure, ctx, view);
    return new Blob([pen.text()], { type: "image/svg+xml" });
  } finally {
    ctx.theme = screen;
  }
}

// "attention-en-fr-if-it-rains-heatmap-cross-L3-H2".
/** @param {Context} ctx */
export function fileName({ side, state }) {
  const [layer, head] = shortName(state).split("·");
  const headPart = state.combine === "one" ? head : state.combine;
  return exportName("attention", side.model || "", side.source || "", state.view, state.kind, layer, headPart);
}
