// All heads of one or more kinds of attention as small buttons: a row for each layer, a column for each head. The only
// grid of heads: a view decides what a button shows and what a click means.

import { button, colours, el, indices, listenForPointing, listenForResize, setChildren } from "../../common/base.js";
import { moveInGrid, setIfChanged, textOn } from "../../common/base.js";
import { codeOfHead, codesOf, KINDS, toggled } from "../../common/head-codes.js";
import { displayNumber, headName, layerName } from "../../common/naming.js";
import { TERMS } from "../../common/terms.js";

/** @typedef {{ kind: Kind, layer: number | null, head: number | null }} Place a head, or with null a whole layer, column or kind */

/**
 * @typedef {Object} GridOptions
 * @property {"radio" | "switch"} role heads of which one is selected, or heads to switch off and on
 * @property {"names" | "switches" | "layers" | "none"} [edges] the names of layers and heads, buttons that switch all of
 *   a layer, a column and the kind, those of the layers alone, or nothing (default: names)
 * @property {string} [heading] tag of the heading above each kind; without it there is none
 * @property {boolean} [namesKind] whether the name of a head begins with its kind
 * @property {string} [help] added to the name of each kind's grid: what keys and clicks do
 * @property {boolean} [ignoresDoubleClicks] whether a double click counts as one
 * @property {boolean} [hasTooltip] false if the view shows the description of a head in its own way
 * @property {(name: string, isOff: boolean) => string} [title] tooltip of a button (default: its name)
 * @property {(place: any) => void} [onClick] a radio was clicked
 * @property {(place: any) => void} [onMove] arrow keys have moved to a radio
 * @property {(off: Set<string>) => void} [onOff] heads were switched: the codes of all that are off, such as "c0.1"
 * @property {(place: any, node: any) => void} [onPoint] pointer or focus is at a head; null: no longer
 */

/**
 * @typedef {Object} GridData
 * @property {Kind[]} kinds in the order shown
 * @property {(kind: Kind) => number} depth number of layers
 * @property {number} n_heads heads of a layer
 * @property {(canvas: HTMLCanvasElement, place: any, theme: Theme) => void} [paint] draws the picture of a head
 * @property {string} [pictures] identifies the pictures: another text has them painted again
 * @property {(place: any, theme: Theme) => { text: string, background: string | null }} [cell] a text instead of a picture
 * @property {(place: any) => string} [name] of a head, if it has more than layer and number
 * @property {(place: any) => string} [describe] what is known of a head, for its tooltip
 * @property {boolean} [hasWords] whether `describe` names words of the sentence, which page translators leave alone
 * @property {((place: any) => Node | null) | null} [caption] what is below a button
 * @property {(kind: Kind) => Head[] | null} [order] the heads in another order than by layer
 * @property {number} [columns] heads in a row of that order (default: n_heads)
 * @property {number} [topLayer] the layer in the first row
 * @property {(kind: Kind) => number} [shape] width of a picture divided by its height
 * @property {any} [selected] the head that is selected or drawn elsewhere: { kind, layer, head }
 * @property {Theme} [theme] the colours, if the view shows the grid again when they change
 */

/** @typedef {{ place: any, isHead: boolean, codes: string[], node: any }} GridCell a button and the heads that it is for */

/** @param {HTMLElement} container @param {GridOptions} options */
export function headGrid(container, options) {
  const node = el("div", { class: options.heading ? "hu-kindrow" : "hu-grids" });
  const grids = new Map(); // by kind
  let data = /** @type {GridData | null} */ (null);
  let off = new Set();
  let endResize = /** @type {(() => void) | null} */ (null);
  container.append(node);

  function gridOf(kind) {
    if (!grids.has(kind)) grids.set(kind, makeKindGrid(kind, options, toggle));
    return grids.get(kind);
  }

  function toggle(codes) {
    setOff(toggled(off, codes));
    options.onOff(off);
  }

  function setOff(codes) {
    off = new Set(codes);
    for (const kind of data?.kinds ?? []) gridOf(kind).mark(data, off);
  }

  /** @param {GridData} newData */
  function show(newData) {
    data = newData;
    if (!data.theme) endResize ??= listenForResize(node, draw);
    draw();
  }

  function draw() {
    if (!data.theme && !node.isConnected) return; // colours can only be read on the page
    const theme = data.theme ?? colours(node);
    setChildren(node, data.kinds.map((kind) => gridOf(kind).node));
    node.style.setProperty("--hu-heads", String(data.columns ?? data.n_heads));
    for (const kind of data.kinds) gridOf(kind).draw(data, off, theme);
  }

  return { node, show, setOff, close: () => endResize?.() };
}

// The grid of one kind.
/** @param {Kind} kind @param {GridOptions} options @param {(codes: string[]) => void} toggle */
function makeKindGrid(kind, options, toggle) {
  const isRadio = options.role === "radio";
  const grid = el("div", { class: "hu-grid", role: isRadio ? "radiogroup" : "group" });
  const heading = options.heading ? [el(options.heading, { title: TERMS[kind] }, KINDS[kind])] : [];
  const node = el("section", { "data-kind": kind }, ...heading, grid);
  /** @type {GridCell[]} */
  let cells = [];
  let rows = []; // their buttons, as keys move in them
  let [builtKey, paintedKey] = ["", ""];

  /** @param {GridData} data @param {Set<string>} off @param {Theme} theme */
  function draw(data, off, theme) {
    const heads = listedHeads(data, kind, options);
    const newKey = JSON.stringify([heads, data.depth(kind), data.n_heads, data.columns, data.topLayer, !data.caption]);
    if (newKey !== builtKey) build(data, heads);
    const pictures = `${newKey} ${data.pictures} ${theme.key}`;
    const shown = cells.filter(({ isHead }) => isHead);
    if (data.paint && pictures !== paintedKey) {
      for (const { node, place } of shown) data.paint(node.firstChild, place, theme);
    }
    [builtKey, paintedKey] = [newKey, pictures];
    if (data.shape) grid.style.setProperty("--hu-shape", String(Math.min(Math.max(data.shape(kind), 0.8), 1.5)));
    for (const cell of shown) {
      if (data.cell) fillCell(cell.node, data.cell(cell.place, theme), theme);
      if (data.caption) cell.node.nextSibling.replaceChildren(data.caption(cell.place) ?? "");
      if (isRadio) describeRadio(cell, data, options);
    }
    mark(data, off);
  }

  /** @param {GridData} data @param {Head[] | null} heads */
  function build(data, heads) {
    grid.setAttribute("aria-label", [KINDS[kind], options.help].filter(Boolean).join(". "));
    grid.style.setProperty("--hu-heads", String(data.columns ?? data.n_heads));
    grid.classList.toggle("hu-ordered", Boolean(heads));
    const lines = heads ? inLines(heads, data.columns ?? data.n_heads) : linesByLayer(data, kind);
    const cellRows = gridCells(lines, kind, data, heads ? "none" : options.edges ?? "names");
    for (const cell of cellRows.flat()) cell.node = makeButton(cell, data, options, toggle);
    cells = cellRows.flat();
    rows = cellRows.map((row) => row.map((cell) => cell.node));
    const hasNames = !heads && (options.edges ?? "names") === "names";
    grid.replaceChildren(
      ...(hasNames ? columnNames(data.n_heads) : []),
      ...rows.flatMap((buttons, i) => [
        ...(hasNames ? [el("span", { class: "hu-row" }, displayNumber(lines[i][0].layer))] : []),
        ...buttons.map((node) => (data.caption ? withCaption(node) : node)),
      ]),
    );
  }

  // Show which heads are off, and which one is selected; Tab focuses it.
  /** @param {GridData} data @param {Set<string>} off */
  function mark({ selected }, off) {
    const isAt = ({ place }) => Boolean(selected) && place.layer === selected.layer && place.head === selected.head;
    for (const cell of cells) {
      const isSelected = isAt(cell) && selected.kind === kind;
      if (isRadio) setIfChanged(cell.node, "aria-checked", String(isSelected));
      else markSwitch(cell, off, isSelected, options);
    }
    const focusable = cells.find(({ node }) => node.tabIndex === 0) ?? cells.find(({ isHead }) => isHead);
    const stop = (isRadio && cells.find(isAt)) || focusable;
    for (const { node } of cells) node.tabIndex = node === stop.node ? 0 : -1;
  }

  grid.addEventListener("keydown", (event) => {
    const next = moveInGrid(event, rows);
    if (next) options.onMove?.(cells.find(({ node }) => node === next).place);
  });
  return { node, draw, mark };
}

// The heads of a grid that is not ordered by layer and has no edges.
/** @param {GridData} data @param {Kind} kind @param {GridOptions} options @returns {Head[] | null} */
function listedHeads(data, kind, { edges }) {
  return data.order?.(kind) ?? (edges === "none" ? linesByLayer(data, kind).flat() : null);
}

// The cells of a grid by row: heads, and before them those of whole layers and columns.
/** @param {Head[][]} lines @param {Kind} kind @param {GridData} data @param {GridOptions["edges"]} edges @returns {GridCell[][]} */
function gridCells(lines, kind, data, edges) {
  const cell = (layer, head) => {
    const place = { kind, layer, head };
    const isHead = layer !== null && head !== null;
    return { place, isHead, codes: codesOf(place, data.depth(kind), data.n_heads), node: null };
  };
  const hasLayers = edges === "layers" || edges === "switches";
  const rows = lines.map((line) => [
    ...(hasLayers ? [cell(line[0].layer, null)] : []),
    ...line.map(({ layer, head }) => cell(layer, head)),
  ]);
  const top = [null, ...indices(data.n_heads)].map((head) => cell(null, head));
  return edges === "switches" ? [top, ...rows] : rows;
}

/** @param {GridCell} cell @param {GridData} data @param {GridOptions} options @param {(codes: string[]) => void} toggle */
function makeButton({ place, isHead, codes }, data, options, toggle) {
  const click = ({ detail }) => {
    if (options.ignoresDoubleClicks && detail > 1) return;
    if (options.role === "radio") options.onClick(place);
    else toggle(codes);
  };
  const node = button(isHead ? (data.cell ? "" : el("canvas", { "aria-hidden": "true" })) : edgeText(place), click, {
    class: isHead ? "hu-thumb" : "hu-edge",
    role: options.role,
    tabindex: -1,
    "aria-label": placeName(place, options.namesKind),
    "data-head": isHead ? codeOfHead(place) : null,
  });
  if (options.onPoint && isHead) listenForPointing(node, (isOn) => options.onPoint(isOn ? place : null, node));
  return node;
}

const edgeText = ({ layer, head }) => layer === null && head === null ? "all" : displayNumber(layer ?? head);

/** @param {GridCell} cell @param {Set<string>} off @param {boolean} isSelected @param {GridOptions} options */
function markSwitch({ node, place, codes }, off, isSelected, { title, namesKind }) {
  const isOff = codes.every((code) => off.has(code));
  setIfChanged(node, "aria-checked", String(!isOff));
  node.classList.toggle("hu-drawn", isSelected);
  const name = placeName(place, namesKind);
  node.title = title ? title(name, isOff) : name;
}

/** @param {GridCell} cell @param {GridData} data @param {GridOptions} options */
function describeRadio({ node, place }, data, { hasTooltip, namesKind }) {
  const [name, description] = [data.name?.(place) ?? placeName(place, namesKind), data.describe?.(place) ?? ""];
  setIfChanged(node, "aria-label", name);
  if (hasTooltip === false) setIfChanged(node, "aria-description", description);
  else node.title = description ? `${name}: ${description}` : name;
  if (data.hasWords) node.translate = false;
}

// "layer" and "head 1", "2", … above the columns.
const columnNames = (count) => [
  el("span", { class: "hu-corner", title: TERMS.layer }, "layer"),
  ...indices(count).map((head) =>
    el("span", { class: "hu-column", title: TERMS.head }, head ? displayNumber(head) : `head ${displayNumber(0)}`)
  ),
];

const withCaption = (node) => el("div", { class: "hu-pictured" }, node, el("div", { class: "hu-below" }));

// A text on a coloured cell.
function fillCell(node, { text, background }, theme) {
  node.textContent = text;
  node.style.background = background ?? "none";
  node.style.color = background ? textOn(background) : theme.muted;
}

/** @param {Head[]} heads @param {number} columns */
const inLines = (heads, columns) =>
  indices(Math.ceil(heads.length / columns)).map((i) => heads.slice(i * columns, (i + 1) * columns));

/** @param {GridData} data @param {Kind} kind @returns {Head[][]} */
function linesByLayer({ depth, n_heads, topLayer = 0 }, kind) {
  const layers = indices(depth(kind)).sort((a, b) => Number(b === topLayer) - Number(a === topLayer));
  return layers.map((layer) => indices(n_heads).map((head) => ({ layer, head })));
}

// "layer 2, head 3", after the kind if `withKind`; "head 3 of every layer" for a column.
/** @param {Place} place @param {boolean} [withKind] */
export function placeName({ kind, layer, head }, withKind = false) {
  if (layer === null && head === null) return KINDS[kind];
  const name = layer === null
    ? `head ${displayNumber(head)} of every layer`
    : head === null
    ? layerName(layer)
    : headName({ layer, head });
  return withKind ? `${KINDS[kind]}, ${name}` : name;
}
