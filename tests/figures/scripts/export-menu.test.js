// CSV tables, file names, switched-off heads in the address, frames of the film, and column order.

import assert from "node:assert/strict";
import { test } from "node:test";

import { frameOf, inPercent } from "../../../transformer/client/views/film/film-data.js";
import { readOff, writeOff } from "../../../transformer/client/common/head-codes.js";
import { csvOf } from "../../../transformer/client/common/csv.js";
import { fileName } from "../../../transformer/client/common/export-menu.js";
import { orderOf } from "../../../transformer/client/views/inside/tensors.js";
import { random, STATE } from "./fixtures.js";

// Parse RFC 4180, character by character.
function parseCsv(text) {
  const rows = [[]];
  let [cell, quoted] = ["", false];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (quoted && character === '"' && text[i + 1] === '"') cell += text[++i];
    else if (character === '"') quoted = !quoted;
    else if (!quoted && (character === "," || text.startsWith("\r\n", i))) {
      rows[rows.length - 1].push(cell);
      cell = "";
      if (character === "\r") {
        rows.push([]);
        i++;
      }
    } else cell += character;
  }
  return rows.slice(0, -1);
}

test("no CSV cell is a formula, and other cells are unchanged", async () => {
  const cells = ["=1+1", "-il", '"a", b', "line\nbreak", "+", "-", "-5", "@x", "＝1", "▁=1", "\r\n", "<b>", "-1e-5"];
  const expected = [
    "'=1+1",
    "'-il",
    '"a", b',
    "line\nbreak",
    "+",
    "-",
    "-5",
    "'@x",
    "'＝1",
    "▁=1",
    "'\r\n",
    "<b>",
    "-1e-5",
  ];
  const csv = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    await csvOf({ columns: cells, rows: [[0.5, -0.5, null, undefined]] }).arrayBuffer(),
  );
  assert.ok(csv.startsWith("\ufeff"));
  assert.deepEqual(parseCsv(csv.slice(1)), [expected, ["0.5", "-0.5", "", ""]]);
});

test("a file is named after its sentence, view and head; test_naming.py checks the characters", () => {
  const name = (state) => fileName({ side: { source: "Élève à l'école", model: "" }, state: { ...STATE, ...state } });
  assert.equal(name({ kind: "encoder", head: 3 }), "attention-eleve-a-l-ecole-heatmap-encoder-L1-H4");
  assert.equal(name({ combine: "mean", layer: 2 }), "attention-eleve-a-l-ecole-heatmap-cross-L3-mean");
});

test("switched-off heads are written and read back; whole layers are written without heads", () => {
  const model = { n_layers: 3, n_heads: 4 };
  const draw = random(9);
  for (let round = 0; round < 100; round++) {
    const off = new Set();
    for (const letter of "edc") {
      for (let l = 0; l < 3; l++) for (let h = 0; h < 4; h++) if (draw() < round / 100) off.add(`${letter}${l}.${h}`);
    }
    assert.deepEqual([...readOff(writeOff(off, model), model)].sort(), [...off].sort());
  }
  assert.equal(writeOff(readOff("c1,e0.2,d9,c1.3", model), model), "e0.2,c1");
});

test("a frame is the last one recorded up to its step", () => {
  const steps = [0, 1, 4, 16];
  assert.deepEqual([-1, 0, 1, 3, 4, 15, 16, 99].map((step) => steps[frameOf(steps, step)]), [
    16,
    0,
    1,
    1,
    4,
    4,
    16,
    16,
  ]);
  assert.deepEqual([0.999, 0.7, 0.5].map(inPercent), ["99%", "70%", "50%"]); // rounded down
});

test("columns are sorted by their greatest value, ignoring masked cells", () => {
  const values = Float32Array.from([1, -9, 3, -Infinity, 2, 1, -4, 0]);
  assert.deepEqual(orderOf(values, { columns_count: 4 }, true), [1, 2, 0, 3]);
  assert.deepEqual(orderOf(values, { columns_count: 4 }, false), [0, 1, 2, 3]);
});
