// All heads of all kinds as switches, also whole layers, columns and kinds. `.show(data)` takes what
// trace/switchboard.js makes; `report({ off })` is called for every switch.

import { button, el } from "../../common/base.js";
import { headOfCode, KINDS, readOff, writeOff } from "../../common/head-codes.js";
import { layerName, shortName } from "../../common/naming.js";
import { byPointer } from "../../common/pointing.js";
import { headGrid } from "./all-heads.js";
import { thumbnailGrid } from "./grid-data.js";

const KEYS = "Arrow keys move, Enter switches; the first cell is the whole kind, the edges are layers and columns.";
const SWITCH_HINT =
  "Each square is a head: a part of the model that looks at some of the words. Click one to switch it off, a number for a whole layer or column, or “all” for the kind.";
const SWITCH_TAP_HINT =
  "Each square is a head: a part of the model that looks at some of the words. Tap one to switch it off, a number for a whole layer or column, or “all” for the kind.";

export function switchboardView(container, report) {
  let header = null;
  let headsOff = new Set(); // "e3.2"
  const status = el("p", { class: "hu-note", role: "status" });
  const allOn = button("All on", () => reportOff(new Set()));
  const state = el("div", { class: "hu-switchstate" }, status, allOn);
  const frame = el("div", { class: "hu hu-explorer hu-switchboard" });
  container.append(frame);
  const grid = headGrid(frame, {
    role: "switch",
    edges: "switches",
    heading: "h2",
    namesKind: true,
    help: KEYS,
    onOff: reportOff,
  });
  frame.append(state);

  function show(data) {
    ({ header } = data);
    headsOff = readOff(header.off, header);
    grid.show(thumbnailGrid(data));
    drawState();
  }

  function drawState() {
    grid.setOff(headsOff);
    const total = header.kinds.length * header.n_layers * header.n_heads;
    status.textContent = headsOff.size
      ? `${headsOff.size} of ${total} heads off: ${namesOff(headsOff, header)}`
      : byPointer(SWITCH_HINT, SWITCH_TAP_HINT);
    allOn.disabled = !headsOff.size;
  }

  function reportOff(newHeadsOff) {
    headsOff = newHeadsOff;
    report({ off: writeOff(headsOff, header) });
    drawState();
  }

  return { show, close: grid.close };
}

// The names of the heads that are off.
function namesOff(headsOff, shape) {
  return writeOff(headsOff, shape).split(",").map((code) => {
    const { kind, layer, head } = headOfCode(code);
    return `${KINDS[kind]} ${head === undefined ? layerName(layer) : shortName({ layer, head })}`;
  }).join(", ");
}
