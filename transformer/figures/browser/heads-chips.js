// Parts of the Heads view: the buttons that show and hide heads, the line about the tokens under the pointer,
// the code and the table.

import { el, SVG, tokenText } from "./base.js";
import { parseHeads, writeHeads } from "./matrix.js";
import { displayNumber, headName, layerName, shortName } from "./naming.js";
import { showWeight } from "./numbers.js";

// The heads shown. "" means only the selected one, "none" means none.
/** @param {Side} side @param {State} state */
export function headsOn(side, state) {
  if (!state.heads) return [{ layer: state.layer, head: state.head }];
  const byKey = new Map(parseHeads(state.heads, side, state.kind).map((one) => [headKey(one), one]));
  return [...byKey.values()];
}

export const headKey = ({ layer, head }) => `${layer}.${head}`;
/** @param {Side} side @param {number} layer */
export const allOf = (side, layer) => Array.from({ length: side.n_heads }, (_, head) => ({ layer, head }));

// The heads as text for the state; the selected head alone is "", so that it follows the selection.
/** @param {State} state */
function writtenHeads(heads, state) {
  const text = writeHeads(heads);
  return text === headKey(state) ? "" : text || "none";
}

// A sample of a head's line: colour and dashes.
function swatch({ ink, dash }) {
  const line = document.createElementNS(SVG, "line");
  const drawn = document.createElementNS(SVG, "svg");
  const put = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
  put(line, { x1: 0, x2: 22, y1: 4, y2: 4, stroke: ink, "stroke-width": 4, "stroke-dasharray": dash.join(" ") });
  put(drawn, { class: "hu-swatch", viewBox: "0 0 22 8", "aria-hidden": "true" });
  drawn.append(line);
  return drawn;
}

// `ctx.set` is called with the changes.
/** @param {Context} ctx */
export function makeHeadChips(ctx) {
  const layers = el("select", {});
  const chips = el("div", { class: "hu-chips", role: "group", "aria-label": "Heads that are shown" });
  const all = el("button", { type: "button", class: "hu-button" });
  const only = el("button", { type: "button", class: "hu-button" });
  const node = el(
    "div", { class: "hu-headrow" },
    el("label", { class: "hu-option" }, el("span", {}, "Heads of layer"), layers),
    el("div", { class: "hu-headset" }, chips, el("div", { class: "hu-sets" }, all, only)),
  );
  let built = "";

  layers.addEventListener("change", () => ctx.set({ layer: Number(layers.value) }));
  all.addEventListener("click", () => ctx.set({ heads: writtenHeads(allOf(ctx.side, ctx.state.layer), ctx.state) }));
  only.addEventListener("click", () => ctx.set({ heads: "" }));

  function toggle(one) {
    const on = headsOn(ctx.side, ctx.state);
    const rest = on.filter((other) => headKey(other) !== headKey(one));
    ctx.set({ heads: writtenHeads(rest.length < on.length ? rest : [...on, one], ctx.state) });
  }

  function build(listed) {
    const hadFocus = chips.contains(chips.getRootNode().activeElement);
    chips.replaceChildren(...listed.map((one) => {
      const chip = el("button", { type: "button", class: "hu-headchip", "data-head": headKey(one) });
      chip.addEventListener("click", () => toggle(one));
      return chip;
    }));
    if (hadFocus) chips.firstChild.focus(); // the focused button may have been removed
  }

  // `on` are the heads shown, `styles` their line styles.
  function draw(on, styles) {
    const { side, state } = ctx;
    const own = allOf(side, state.layer);
    const listed = [...own, ...on.filter(({ layer }) => layer !== state.layer)];
    const depth = side.depths[state.kind];
    if (layers.length !== depth || layers.options[0].text !== displayNumber(0)) {
      layers.replaceChildren(...Array.from({ length: depth }, (_, i) => el("option", { value: i }, displayNumber(i))));
    }
    layers.value = String(state.layer);
    const key = `${side.id} ${writeHeads(listed)}`;
    if (key !== built) build(listed);
    built = key;
    listed.forEach((one, i) => {
      const index = on.findIndex((other) => headKey(other) === headKey(one));
      const style = index < 0 ? { ink: ctx.theme.line, dash: [] } : styles[index];
      const chip = chips.children[i];
      chip.setAttribute("aria-pressed", String(index >= 0));
      chip.title = `${headName(one)}${style.dash.length ? ", dashed" : ""}`;
      chip.setAttribute("aria-label", chip.title);
      chip.replaceChildren(swatch(style), one.layer === state.layer ? `H${displayNumber(one.head)}` : shortName(one));
    });
    all.textContent = `all of ${layerName(state.layer)}`;
    only.textContent = `only H${displayNumber(state.head)}`;
    only.disabled = !state.heads;
    all.disabled = state.heads === writeHeads(own);
  }

  return { node, draw };
}

// A token in text: the token read, and the token written next.
const spoken = (entry) => [tokenText(entry.text), ...(entry.written === null ? [] : [" → ", tokenText(entry.written)])];

function spokenList(entries) {
  const few = entries.slice(0, 4).flatMap((entry, i) => [i ? ", " : "", ...spoken(entry)]);
  return entries.length > 4 ? [...few, ` and ${entries.length - 4} more`] : few;
}

const amount = (style, weight, top, name, ...rest) => el(
  "span", { class: "hu-amount" }, ...(style ? [swatch(style)] : []), el("span", { class: "hu-amount-value" }, showWeight(weight, top)), ...rest, ...(name ? [` ${name}`] : []),
);

// The text about the focused tokens: their strongest lines.
/** @param {Matrix[]} ms @param {any} on @param {any} styles @param {any} given */
export function readFocus(ms, on, styles, { queries, keys, toKeys, fromQueries }) {
  const paragraphs = [];
  const limit = toKeys && fromQueries ? 2 : 3;
  for (const [mine, sums, others, verb, all] of [
    [queries, toKeys, ms[0].columns, "attends most to", "together attend most to"],
    [keys, fromQueries, ms[0].rows, "gets most attention from", "together get most attention from"],
  ]) {
    if (!sums) continue;
    const names = mine.map((index) => (sums === toKeys ? ms[0].rows : ms[0].columns)[index]);
    const amounts = sums.flatMap((of, head) => Array.from(of, (weight, index) => ({ weight, head, index })));
    amounts.sort((a, b) => b.weight - a.weight);
    const strongest = amounts.slice(0, limit).filter(({ weight }) => weight > 0);
    paragraphs.push(el(
      "p", {}, el("strong", {}, ...spokenList(names)), ` ${mine.length > 1 ? `(sum of ${mine.length}) ${all}` : verb} `,
      ...strongest.map(({ weight, head, index }) =>
        amount(on.length > 1 && styles[head], weight, ms[head].top, "", " ", ...spoken(others[index]), on.length > 1 ? ` (${shortName(on[head])})` : "")),
    ));
  }
  return paragraphs;
}

// The text about the pinned tokens and one token of the other side: the weight in every head.
/** @param {Matrix[]} ms @param {any} on @param {any} styles @param {any} focus @param {any} given */
export function readBetween(ms, on, styles, focus, { side, index }) {
  const [pins, sums] = side === "k" ? [focus.queries, focus.toKeys] : [focus.keys, focus.fromQueries];
  const [rows, columns] = [ms[0].rows, ms[0].columns];
  const one = [side === "k" ? columns[index] : rows[index]];
  const many = pins.map((pin) => (side === "k" ? rows : columns)[pin]);
  const [from, to] = side === "k" ? [many, one] : [one, many];
  const masked = pins.every((pin) => (side === "k" ? ms[0].masked(pin, index) : ms[0].masked(index, pin)));
  const weights = masked
    ? ["masked: no attention to later tokens"]
    : sums.map((of, head) => amount(styles[head], of[index], ms[head].top, shortName(on[head])));
  return [el(
    "p", {}, el("strong", {}, ...spokenList(from)), from.length > 1 ? " attend to " : " attends to ", el("strong", {}, ...spokenList(to)),
    pins.length > 1 ? `, sum of ${pins.length}: ` : ": ", ...weights,
  )];
}

/** @param {Side} side @param {Kind} kind */
export function codeOfHeads(side, on, kind) {
  const [one] = on;
  if (!one || on.some(({ layer }) => layer !== one.layer)) return "";
  const weights = `trace.weights("${kind}", layer=${one.layer})`;
  if (on.length === 1) return `${weights}[${one.head}]`;
  return on.length === side.n_heads ? weights : `${weights}[[${on.map(({ head }) => head).join(", ")}]]`;
}

// The weights of the heads shown, or only those of the pinned tokens. Positions distinguish repeated tokens.
// Rows are created on demand, as there may be a million.
/** @param {string} caption @param {Matrix[]} ms */
export function tableOfHeads(caption, on, ms, pins) {
  const [m] = ms;
  const writes = m.rows.some(({ written }) => written !== null);
  function* cells() {
    for (const [i, { layer, head }] of on.entries()) {
      for (const [r, row] of m.rows.entries()) {
        for (const [c, column] of m.columns.entries()) {
          if (m.masked(r, c) || (pins.any && !pins.queries.includes(r) && !pins.keys.includes(c))) continue;
          const weight = Number(ms[i].values[r * m.nColumns + c].toPrecision(5));
          yield [row.text, ...(writes ? [row.written] : []), column.text, layer, head, weight, row.members[0], column.members[0]];
        }
      }
    }
  }
  return {
    caption,
    columns: ["query", ...(writes ? ["written"] : []), "key", "layer", "head", "weight", "query position", "key position"],
    get rows() { return [...cells()]; },
  };
}
