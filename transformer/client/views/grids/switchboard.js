// All heads of all kinds as small buttons: each switches a head, layer, column or kind on or off. `.show(bytes)` takes
// the data of figures/switchboard.py; `report({ off })` is called for every switch.

import { button, colours, el, indices, listenForResize, moveInGrid, setIfChanged } from "../../common/base.js";
import { headOfCode, KINDS, LETTERS, readOff, writeOff } from "../../common/head-codes.js";
import { displayNumber, headName, layerName, shortName } from "../../common/naming.js";
import { unpack } from "../../trace/packing.js";
import { paintThumb } from "../../common/thumbnail.js";

const KIND_KEYS =
  "Arrow keys move, Enter switches; the first cell is the whole kind, the edges are layers and columns.";

export function switchboardView(container, report) {
  let [header, parts, builtKey] = [null, null, ""];
  let headsOff = new Set(); // "e3.2"
  let pendingReports = []; // reported values that the server has not sent back yet
  const status = el("p", { class: "hu-note", role: "status" });
  const allOn = button("All on", () => {
    headsOff = new Set();
    reportOff();
  });
  const boards = el("div", { class: "hu-kindrow" });
  const state = el("div", { class: "hu-switchstate" }, status, allOn);
  const frame = el("div", { class: "hu hu-explorer hu-switchboard" }, boards, state);
  let grids = []; // { kind, cells: rows of buttons; the first of each row and column switches all of it }
  container.append(frame);

  function show(bytes) {
    const unpacked = unpack(bytes);
    [header, parts] = [unpacked.header, unpacked.parts];
    const at = pendingReports.indexOf(header.off);
    if (at >= 0) pendingReports.splice(0, at + 1);
    else {
      headsOff = readOff(header.off, header);
      pendingReports = [];
    }
    redraw();
  }

  function redraw() {
    if (!header || !frame.isConnected) return;
    frame.dataset.size = header.large ? "large" : "normal";
    const key = JSON.stringify([header.kinds, header.n_layers, header.n_heads]);
    if (key !== builtKey) build();
    builtKey = key;
    const theme = colours(frame);
    for (const grid of grids) drawSwitches(grid, theme);
    const total = header.kinds.length * header.n_layers * header.n_heads;
    status.textContent = headsOff.size
      ? `${headsOff.size} of ${total} heads off: ${namesOff(headsOff)}`
      : "Each square is a head: a part of the model that looks at some of the words. Click one to switch it off, a number for a whole layer or column, or “all” for the kind.";
    allOn.disabled = !headsOff.size;
  }

  function build() {
    boards.style.setProperty("--hu-heads", header.n_heads);
    grids = header.kinds.map(makeGrid);
    boards.replaceChildren(...grids.map(({ node }) => node));
  }

  // Row 0 and column 0 are the edges: a head is at { row: layer + 1, column: head + 1 }.
  function makeGrid(kind) {
    const labelOf = (row, column) => {
      if (!row && !column) return KINDS[kind];
      if (!row) return `${KINDS[kind]}, head ${displayNumber(column - 1)} of every layer`;
      return `${KINDS[kind]}, ${column ? headName({ layer: row - 1, head: column - 1 }) : layerName(row - 1)}`;
    };
    const cellOf = (row, column) => {
      const head = row && column;
      const content = head ? el("canvas", { "aria-hidden": "true" }) : edgeText(row, column);
      return button(content, () => toggle(kind, row, column), {
        class: head ? "hu-thumb" : "hu-edge",
        role: "switch",
        "aria-label": labelOf(row, column),
        title: labelOf(row, column),
        "data-head": head ? `${LETTERS[kind]}${row - 1}.${column - 1}` : null,
        tabindex: row === 1 && column === 1 ? "0" : "-1",
      });
    };
    const cells = indices(header.n_layers + 1).map((row) =>
      indices(header.n_heads + 1).map((column) => cellOf(row, column))
    );
    const label = `${KINDS[kind]}. ${KIND_KEYS}`;
    const grid = el("div", { class: "hu-grid", role: "group", "aria-label": label }, ...cells.flat());
    grid.style.setProperty("--hu-heads", header.n_heads);
    grid.addEventListener("keydown", (event) => moveInGrid(event, cells));
    return { kind, cells, node: el("section", {}, el("h2", {}, KINDS[kind]), grid) };
  }

  const edgeText = (row, column) => row || column ? displayNumber(Math.max(row, column) - 1) : "all";

  // The names of the heads that are off.
  function namesOff(heads) {
    return writeOff(heads, header).split(",").map((code) => {
      const { kind, layer, head } = headOfCode(code);
      return `${KINDS[kind]} ${head === undefined ? layerName(layer) : shortName({ layer, head })}`;
    }).join(", ");
  }

  // The heads that a cell switches.
  function headsAt(kind, row, column) {
    const layers = row ? [row - 1] : indices(header.n_layers);
    const heads = column ? [column - 1] : indices(header.n_heads);
    return layers.flatMap((layer) => heads.map((head) => `${LETTERS[kind]}${layer}.${head}`));
  }

  function toggle(kind, row, column) {
    const heads = headsAt(kind, row, column);
    const all = heads.every((head) => headsOff.has(head));
    for (const head of heads) all ? headsOff.delete(head) : headsOff.add(head);
    reportOff();
  }

  function reportOff() {
    const written = writeOff(headsOff, header);
    pendingReports.push(written);
    report({ off: written });
    redraw();
  }

  function drawSwitches(grid, theme) {
    const { kind, cells } = grid;
    const thumbs = parts.get(`thumbs.${kind}`);
    const [, heads, height, width] = thumbs.shape;
    const size = height * width;
    cells.forEach((rowCells, row) =>
      rowCells.forEach((cell, column) => {
        const isOn = headsAt(kind, row, column).some((head) => !headsOff.has(head));
        setIfChanged(cell, "aria-checked", String(isOn));
      })
    );
    const { values = [], key = "" } = grid.painted ?? {};
    if (key === theme.key + thumbs.shape && values.every((value, n) => value === thumbs.values[n])) return;
    grid.painted = { values: thumbs.values, key: theme.key + thumbs.shape };
    cells.slice(1).forEach(([, ...pictures], layer) =>
      pictures.forEach(({ firstChild }, head) => {
        const start = (layer * heads + head) * size;
        const thumb = { values: thumbs.values.subarray(start, start + size), height, width };
        paintThumb(firstChild, thumb, kind === "decoder", theme.ramp);
      })
    );
  }

  return { show, close: listenForResize(frame, redraw) };
}
