// The Query–key view: how one weight is computed, number by number (eq. 1), from a query, a key, their score,
// the softmax over all keys, and the weighted values. Everything is computed here from the vectors of the trace
// and compared with the model's result.

import { ARROWS, button, clampIndex, el, tokenText } from "../../common/base.js";
import { shorten } from "../../common/token-labels.js";
import { headName, layerName, sentenceCase, tokenName } from "../../common/naming.js";
import { fixed } from "../../common/numbers.js";
import { KINDS } from "../../common/head-codes.js";
import { makeKeyBars, makeStrips, makeTokenList } from "./querykey-strips.js";
import { calculationOf, calculationSteps, maxAbsOf, plainToken } from "./querykey-calculation.js";

/** @param {Context} ctx @returns {View} */
function queryKeyView(ctx) {
  let w = null; // the calculation, from `calculationOf`
  let dimension = -1; // dimension under the pointer, highlighted in all strips
  // The heads whose vectors an HTML file contains, from the names of parts that are loaded on demand.
  const storedVectors = [...ctx.store.laterParts.keys()].map((name) => name.match(/^0\.query\.(\w+)\.(\d+)\./)).filter(
    Boolean,
  );

  const strips = makeStrips(ctx, () => pairLines(w, ctx.side), highlight);
  const values = makeStrips(ctx, () => valueLines(w), highlight);
  const bars = makeKeyBars(ctx, () => w, (column) => ctx.set({ row: w.row, column }));
  const queries = makeTokenList("Query", (row) => ctx.set({ row, column: -1 }));
  const keys = makeTokenList("Key", (column) => ctx.set({ row: w.row, column }));
  const steps = el("ol", { class: "hu-work" });
  const body = el(
    "div",
    {},
    el(
      "p",
      { class: "hu-paper" },
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V is eq. (1) of the paper, section 3.2.1. Here it is worked out for one query and one key, with the numbers of this head. Read Q as “what I am looking for”, K as “what I offer”, V as “what I pass on”.",
    ),
    el("div", { class: "hu-pair" }, queries.node, keys.node),
    steps,
  );
  const empty = el("div", { class: "hu-empty", role: "status", hidden: "" });
  const node = el("div", { class: "hu-querykey" }, empty, body);
  const nodes = [null, null, strips.node, null, bars.node, values.node];
  const parts = nodes.map((picture) => {
    const part = { title: el("h3", {}), text: el("p", {}), check: el("p", { class: "hu-check" }) };
    steps.append(el("li", {}, part.title, part.text, picture, part.check));
    return part;
  });

  function draw() {
    w = calculationOf(ctx.side, ctx.state);
    [empty.hidden, body.hidden] = [Boolean(w), !w];
    if (!w) return empty.replaceChildren(...missingNotice(ctx, storedVectors));
    if (dimension >= w.d) dimension = -1;
    const { rows, columns, writes } = w.labels;
    queries.draw(`${ctx.side.id} ${w.kind}`, rows, w.row, () => false, writes);
    keys.draw(`${ctx.side.id} ${w.kind}`, columns, w.column, (j) => j >= w.visibleCount);
    calculationSteps(w, ctx.side).forEach(({ title, text, check }, i) => {
      parts[i].title.replaceChildren(
        ...title.map((part) => (part.token === undefined ? part : tokenText(part.token, part.lang))),
      );
      parts[i].text.textContent = text;
      parts[i].check.replaceChildren(...(check ? [el("b", {}, check.matches ? "✓ " : "≠ "), check.text] : []));
      parts[i].check.classList.toggle("hu-differs", Boolean(check && !check.matches));
    });
    drawPlots();
  }

  function drawPlots() {
    const [query, key] = [w.labels.rows.names[w.row], w.labels.columns.names[w.column]].map(tokenName);
    strips.draw(
      dimension,
      `Query of ${query}, key of ${key} and their combination, ${w.d} numbers each. Use Shift and the arrow keys to read them.`,
    );
    bars.draw(`Scores and weights of ${w.count} keys; ${key} has weight ${fixed(w.shares[w.column])}.`);
    values.draw(dimension, `The weighted values of the strongest keys and their sum, ${w.d} numbers each.`);
  }

  function highlight(next) {
    if (next === dimension) return;
    dimension = next;
    drawPlots();
  }

  node.addEventListener("keydown", (event) => {
    if (!w || !(event.key in ARROWS)) return;
    const [right, down] = ARROWS[event.key];
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey && right) {
      highlight(clampIndex(dimension + right, w.d));
      strips.showTooltip(2);
    } else {
      const focused = node.getRootNode().activeElement;
      const row = clampIndex(w.row + down, w.labels.rows.names.length);
      ctx.set({ row, column: clampIndex(w.column + right, w.count) });
      if (queries.node.contains(focused)) queries.focus();
      if (keys.node.contains(focused)) keys.focus();
    }
  });

  return {
    node,
    draw,
    options: [],
    keys: [["↑ and ↓", "another query"], ["← and →", "another key"], [
      "Shift ← and →",
      "read the strips, number by number",
    ]],
    marks: () => ctx.matrix(ctx.side, { exact: 1, combine: "one", special: "shown" }),
    title: () => sentenceCase(headName(ctx.state)),
    code: () => {
      const { kind, layer, head } = ctx.state;
      const [stack, attention] = [kind === "encoder" ? kind : "decoder", kind === "cross" ? kind : "self"];
      return `trace["${stack}.layers.${layer}.${attention}_attn.hook_query"][${head}]`;
    },
    figure: () => w && calculationFigure(ctx, w, [null, null, strips, null, bars, values]),
    table: () => w && calculationTable(w, ctx),
  };
}

// The reason why nothing is shown, with a link to where data are available.
/** @param {Context} ctx */
function missingNotice(ctx, storedVectors) {
  const hasThisHead = storedVectors.some(([, kind, layer]) =>
    kind === ctx.state.kind && Number(layer) === ctx.state.layer
  );
  if (hasThisHead) return ["Loading the vectors of this head …"];
  if (!storedVectors.length) {
    return [
      "This file does not contain the vectors of the heads, to keep it small. The app shows them for every head.",
    ];
  }
  const [, kind, layer] = storedVectors[0];
  const name = `${layerName(Number(layer))}, ${KINDS[kind]}`;
  return [
    el("p", {}, `Queries, keys and values are many numbers: this file holds those of ${name} only.`),
    button(`Show ${name}`, () => ctx.set({ kind, layer: Number(layer) })),
  ];
}

// The strips of query, key and their combination. Query and key share a scale; the combination has its own.
/** @param {Side} side */
function pairLines(w, side) {
  const [query, key] = [w.labels.rows.names[w.row], w.labels.columns.names[w.column]];
  const maxAbs = maxAbsOf([w.q, w.k]);
  const combined = side.score === "additive" ? "tanh(q + k)" : "q × k";
  return [
    { parts: ["q", " · ", query], name: `q of ${plainToken(query)}`, values: w.q, maxAbs },
    { parts: ["k", " · ", key], name: `k of ${plainToken(key)}`, values: w.k, maxAbs },
    { parts: [combined], name: combined, values: w.product, maxAbs: maxAbsOf([w.product]), strong: true },
  ];
}

// The weighted values of the strongest keys; the sum of the others; the total.
function valueLines(w) {
  const maxAbs = maxAbsOf([...w.parts, w.othersSum, w.output]);
  const lines = w.listed.map((j, i) => {
    const token = w.labels.columns.names[j];
    return {
      parts: [w.shares[j].toFixed(2), " · ", token],
      name: `${fixed(w.shares[j])} · v of ${plainToken(token)}`,
      values: w.parts[i],
      maxAbs,
    };
  });
  if (w.others.length) {
    const share = w.others.reduce((sum, j) => sum + w.shares[j], 0).toFixed(2);
    const othersText = w.others.length > 1 ? `${w.others.length} others` : "1 other";
    lines.push({ parts: [`${share} · ${othersText}`], name: `${othersText} together`, values: w.othersSum, maxAbs });
  }
  return [...lines, { parts: ["sum"], name: "Σ α·v", values: w.output, maxAbs, strong: true }];
}

// All steps below each other, for export.
/** @param {Context} ctx */
function calculationFigure(ctx, w, stages) {
  const steps = calculationSteps(w, ctx.side);
  const pictures = stages.map((stage) => stage?.figure());
  const width = pictures[2].width;
  let height = 0;
  const starts = pictures.map((picture, i) => {
    const start = height;
    height += 30 + (picture ? picture.height + 6 : 0) + (steps[i].check ? 22 : 0);
    return start;
  });
  const { text, muted, font } = ctx.theme;
  const paint = (pen) =>
    pictures.forEach((picture, i) => {
      pen.save();
      pen.translate(0, starts[i]);
      pen.textBaseline = "middle";
      pen.font = `600 14px ${font}`;
      pen.fillStyle = text;
      pen.fillText(
        shorten(pen, `${i + 1}. ${steps[i].title.map((part) => tokenName(part.token ?? part)).join("")}`, width),
        0,
        16,
      );
      pen.translate(0, 30);
      if (picture) {
        pen.save();
        picture.paint(pen);
        pen.restore();
        pen.translate(0, picture.height + 6);
      }
      if (steps[i].check) {
        pen.font = `12px ${font}`;
        pen.fillStyle = muted;
        pen.fillText(shorten(pen, steps[i].check.text, width), 0, 8);
      }
      pen.restore();
    });
  return { title: ctx.title(), width, height, paint };
}

// A row for each dimension, then one for each key.
/** @param {Context} ctx */
function calculationTable(w, ctx) {
  const { rows, columns } = w.labels;
  const combined = ctx.side.score === "additive" ? "tanh(q + k)" : "q × k";
  const pair = `“${tokenName(rows.names[w.row])}” attends to “${tokenName(columns.names[w.column])}”`;
  return {
    caption: `${sentenceCase(headName(ctx.state))}, ${KINDS[w.kind]}: ${pair}`,
    columns: ["dimension", "q", "k", combined, "v", "Σ α·v", "key", "score", "weight here", "weight in the trace"],
    rows: [
      ...Array.from(w.q, (x, i) => [i, x, w.k[i], w.product[i], w.value(w.column)[i], w.output[i], "", "", "", ""]),
      ...columns.names.map((token, j) => {
        const score = j < w.visibleCount ? w.scores[j] : "−∞";
        return ["", "", "", "", "", "", token, score, w.shares[j], w.traced.weights[j]];
      }),
    ],
  };
}

/** @type {Tab} */
export const querykeyTab = { label: "Query–key", make: queryKeyView, mosaic: true, vectors: true };
