// A pen that writes SVG: the subset of a canvas's 2D context that our drawing uses. Views use it
// instead of the canvas to export their picture as SVG.

import { el, SVG, svgNode } from "./base.js";

// Characters that XML cannot contain, even escaped: most control characters, and lone surrogates, both of which
// tokens may have.
const INVALID_XML = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** @returns {Pen & { describe(title: string, description: string): void, text(): string }} */
export function svgPen(width, height, background) {
  const root = svgNode("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const ruler = el("canvas").getContext("2d");
  const fontStyle = el("span").style;
  const initial = {
    fillStyle: "#000000",
    strokeStyle: "#000000",
    lineWidth: 1,
    globalAlpha: 1,
    lineCap: "butt",
    font: "10px sans-serif",
    textAlign: "left",
    textBaseline: "alphabetic",
    dash: [],
    clipId: null,
    matrix: new DOMMatrix(),
  };
  let path = "";
  let clipCount = 0;
  const savedStates = [];
  const round = (x) => String(Math.round(x * 1000) / 1000);

  function add(tag, attributes, ...text) {
    const node = svgNode(tag, attributes, ...text);
    setTransform(node);
    if (pen.globalAlpha < 1) node.setAttribute("opacity", round(pen.globalAlpha));
    // A clip is in a group, as it was set in its own coordinate system.
    root.append(pen.clipId ? svgNode("g", { "clip-path": `url(#${pen.clipId})` }, node) : node);
    return node;
  }

  function setTransform(node) {
    const { a, b, c, d, e, f } = pen.matrix;
    if (!pen.matrix.isIdentity) {
      node.setAttribute("transform", `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`);
    }
  }

  const strokeAttributes = () => ({
    fill: "none",
    stroke: pen.strokeStyle,
    "stroke-width": round(pen.lineWidth),
    "stroke-linecap": pen.lineCap === "butt" ? null : pen.lineCap,
    "stroke-dasharray": pen.dash.length ? pen.dash.join(" ") : null,
  });
  const boxAttributes = (x, y, w, h) => ({ x: round(x), y: round(y), width: round(w), height: round(h) });

  /** @type {any} */
  const pen = {
    ...initial,
    save: () => savedStates.push(Object.fromEntries(Object.keys(initial).map((name) => [name, pen[name]]))),
    restore: () => Object.assign(pen, savedStates.pop() || initial),
    translate: (x, y) => {
      pen.matrix = pen.matrix.translate(x, y);
    },
    rotate: (angle) => {
      pen.matrix = pen.matrix.rotate((angle * 180) / Math.PI);
    },
    scale: (x, y) => {
      pen.matrix = pen.matrix.scale(x, y);
    },
    setLineDash: (dash) => {
      pen.dash = dash;
    },
    beginPath: () => {
      path = "";
    },
    closePath: () => {
      path += "Z";
    },
    moveTo: (x, y) => {
      path += `M${round(x)} ${round(y)}`;
    },
    lineTo: (x, y) => {
      path += `L${round(x)} ${round(y)}`;
    },
    bezierCurveTo: (...points) => {
      path += `C${points.map(round).join(" ")}`;
    },
    rect: (x, y, w, h) => {
      path += `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}Z`;
    },
    arc: (x, y, r) => { // full circles only
      path += `M${round(x - r)} ${round(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    },
    clip: () => {
      const shape = svgNode("path", { d: path });
      setTransform(shape);
      const before = pen.clipId && `url(#${pen.clipId})`; // intersected with the previous clip
      const clip = svgNode("clipPath", { id: `clip-${clipCount++}`, "clip-path": before }, shape);
      root.append(clip);
      pen.clipId = clip.id;
    },
    fill: () => add("path", { d: path, fill: pen.fillStyle }),
    stroke: () => add("path", { d: path, ...strokeAttributes() }),
    clearRect: () => {},
    fillRect: (x, y, w, h) => add("rect", { ...boxAttributes(x, y, w, h), fill: pen.fillStyle }),
    strokeRect: (x, y, w, h) => add("rect", { ...boxAttributes(x, y, w, h), ...strokeAttributes() }),
    measureText: (text) => {
      ruler.font = pen.font;
      return ruler.measureText(text);
    },
    fillText: (text, x, y) => {
      ruler.font = pen.font;
      ruler.textBaseline = /** @type {CanvasTextBaseline} */ (pen.textBaseline);
      const node = add("text", {
        x: round(x),
        // Place the text by its baseline: drawing programs do not support `dominant-baseline`.
        y: round(y - (ruler.measureText("x").alphabeticBaseline || 0)),
        fill: pen.fillStyle,
        "text-anchor": { left: null, center: "middle", right: "end" }[pen.textAlign],
        "xml:space": "preserve",
      }, text);
      // Each property separately: drawing programs do not parse the `font` shorthand.
      fontStyle.font = pen.font;
      for (const name of ["font-family", "font-size", "font-weight"]) {
        node.setAttribute(name, fontStyle.getPropertyValue(name));
      }
    },
    drawImage: (canvas, x, y, w, h) => {
      const image = add("image", { ...boxAttributes(x, y, w, h), preserveAspectRatio: "none" });
      image.setAttribute("href", canvas.toDataURL());
      image.style.imageRendering = "pixelated";
    },
  };
  pen.fillStyle = background;
  pen.fillRect(0, 0, width, height);
  pen.describe = (title, description) => {
    root.prepend(svgNode("title", {}, title), svgNode("desc", {}, description));
  };
  pen.text = () => new XMLSerializer().serializeToString(root).replace(INVALID_XML, "\ufffd");
  return pen;
}
