// All heads of a model that is learning, one small picture each: rows are queries, columns keys.

import { el, rampLevel } from "../../common/base.js";
import { shortName } from "../../common/naming.js";
import { paintPixels } from "../../common/thumbnail.js";
import { headGrid } from "../../views/grids/all-heads.js";

/** @type {Kind[]} */
const ORDER_OF_KINDS = ["cross", "decoder", "encoder"];
const MAX_COLUMNS = 8;
const NO_HEADS =
  "This model has no attention: all that its decoder knows of the source is one vector, the encoder's last state.";

/** @typedef {import("../../training/protocol.d.ts").Example} Example */

// The weights of one head of an example as [rows, columns, values].
/** @param {Example} example @param {Kind} kind */
export function headWeights({ src, tgt, layers, heads, kinds, attention }, kind, layer, head) {
  const shapes = {
    encoder: [src.length, src.length],
    decoder: [tgt.length, tgt.length],
    cross: [tgt.length, src.length],
  };
  let start = 0;
  for (const before of kinds.slice(0, kinds.indexOf(kind))) {
    start += layers * heads * shapes[before][0] * shapes[before][1];
  }
  const [rows, columns] = shapes[kind];
  start += (layer * heads + head) * rows * columns;
  return { rows, columns, values: attention.subarray(start, start + rows * columns) };
}

/**
 * @param {{ onOff: (off: Set<string>) => void, onPoint: (head: any) => void }} events a head was switched off or on
 */
export const makeSwitchedHeads = ({ onOff, onPoint }) =>
  makeHeads({ role: "switch", ignoresDoubleClicks: true, title: switchTitle, onOff, onPoint });

/** @param {(head: any) => void} onClick */
export const makeChosenHeads = (onClick) => makeHeads({ role: "radio", onClick, onMove: onClick });

function makeHeads(options) {
  const none = el("p", { class: "hu-note", hidden: "" }, NO_HEADS);
  const node = el("div", { class: "hu-trainer-heads" }, none);
  const grid = headGrid(node, { edges: "none", heading: "h3", namesKind: true, ...options });
  let shownCount = 0; // identifies the pictures

  /** @param {Example} example @param {Theme} theme @param {{ off?: Set<string>, selected?: any }} marks */
  function draw(example, theme, { off = new Set(), selected = null }) {
    const { layers, heads, kinds } = example;
    none.hidden = kinds.length > 0;
    grid.setOff(off);
    grid.show({
      kinds: ORDER_OF_KINDS.filter((kind) => kinds.includes(kind)),
      depth: () => layers,
      n_heads: heads,
      columns: Math.min(layers * heads, MAX_COLUMNS),
      pictures: String(++shownCount), // they change with every report
      paint: (canvas, { kind, layer, head }) => paintExample(canvas, headWeights(example, kind, layer, head), theme),
      caption: (head) => document.createTextNode(shortName(head)),
      selected,
      theme,
    });
  }
  return { node, draw };
}

// Colour by square root, so that small weights are visible.
function paintExample(canvas, { rows, columns, values }, theme) {
  paintPixels(canvas, rows, columns, (i, j) => theme.ramp[rampLevel(Math.sqrt(values[i * columns + j]))]);
}

const switchTitle = (name, isOff) =>
  isOff
    ? `${name} is off: switch it on from this step on, in a fork`
    : `${name}: switch it off from this step on, in a fork`;
