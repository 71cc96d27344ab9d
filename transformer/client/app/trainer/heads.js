// All heads of a model that is learning, one small picture each: rows are queries, columns keys. A click switches the
// head off from this step on, in a fork.

import { button, el, listenForPointing, rampLevel } from "../../common/base.js";
import { KINDS, LETTERS } from "../../common/head-codes.js";
import { headName, shortName } from "../../common/naming.js";
import { paintPixels } from "../../common/thumbnail.js";

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
 * @param {(code: string) => void} onClick called with "c0.1"
 * @param {(head: { kind: Kind, layer: number, head: number } | null) => void} onPoint
 * @param {(name: string, isChosen: boolean) => string} [titleOf] of a head
 */
export function makeHeads(onClick, onPoint, titleOf = switchTitle) {
  const node = el("div", { class: "hu-trainer-heads" });
  let [shape, cells] = ["", []];

  /** @param {Example} example @param {Set<string>} off @param {Theme} theme */
  function draw(example, off, theme) {
    const newShape = `${example.layers}x${example.heads} ${example.kinds}`;
    if (shape !== newShape) build(example);
    shape = newShape;
    for (const cell of cells) {
      const { rows, columns, values } = headWeights(example, cell.kind, cell.layer, cell.head);
      // Colour by square root, so that small weights are visible.
      paintPixels(cell.canvas, rows, columns, (i, j) => theme.ramp[rampLevel(Math.sqrt(values[i * columns + j]))]);
      const isOff = off.has(cell.code);
      if (cell.isOff === isOff) continue;
      cell.isOff = isOff;
      cell.button.setAttribute("aria-pressed", String(isOff));
      cell.button.title = titleOf(cell.name, isOff);
    }
  }

  function build({ layers, heads, kinds }) {
    cells = [];
    const shown = ORDER_OF_KINDS.filter((kind) => kinds.includes(kind));
    const none = shown.length ? [] : [el("p", { class: "hu-note" }, NO_HEADS)];
    node.replaceChildren(
      ...none,
      ...shown.map((kind) => {
        const columns = Math.min(layers * heads, MAX_COLUMNS);
        const grid = el("div", { class: "hu-trainer-grid", style: `--columns: ${columns}; --heads: ${heads}` });
        for (let layer = 0; layer < layers; layer++) {
          for (let head = 0; head < heads; head++) {
            const canvas = el("canvas", { "aria-hidden": "true" });
            const code = `${LETTERS[kind]}${layer}.${head}`;
            const fullName = `${KINDS[kind].toLowerCase()} ${headName({ layer, head })}`;
            const click = ({ detail }) => detail < 2 && onClick(code); // a double click is one
            const content = [canvas, el("span", {}, shortName({ layer, head }))];
            const node = button(content, click, { class: null, "aria-label": fullName });
            const cell = { kind, layer, head, canvas, button: node, name: fullName, code, isOff: null };
            listenForPointing(node, (isOn) => onPoint(isOn ? cell : null));
            cells.push(cell);
            grid.append(node);
          }
        }
        return el("figure", { class: "hu-head" }, el("figcaption", { class: "hu-trainer-kind" }, KINDS[kind]), grid);
      }),
    );
  }
  return { node, draw };
}

const switchTitle = (name, isOff) => isOff ? `${name} is off` : `Switch ${name} off from this step on, in a fork`;
