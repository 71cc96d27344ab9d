// Parts of the Heads view: the buttons that show and hide heads, the line about the tokens under the pointer,
// the code and the table.

import { button, el, indices, rowNodes, svgNode } from "../../common/base.js";
import { headsOfLayer, parseHeads, writeHeads } from "../../common/matrix.js";
import { displayNumber, headName, layerName, shortName } from "../../common/naming.js";
import { showWeight } from "../../common/numbers.js";

// The heads shown. "" means only the selected one, "none" means none.
/** @param {Side} side @param {State} state */
export function displayedHeads(side, state) {
  if (!state.heads) return [{ layer: state.layer, head: state.head }];
  const byKey = new Map(parseHeads(state.heads, side, state.kind).map((head) => [headKey(head), head]));
  return [...byKey.values()];
}

export const headKey = ({ layer, head }) => `${layer}.${head}`;

// The heads as text for the state; the selected head alone is "", so that it follows the selection.
/** @param {State} state */
function headsText(heads, state) {
  const text = writeHeads(heads);
  return text === headKey(state) ? "" : text || "none";
}

// A sample of a head's line: colour and dashes.
function swatch({ colour, dash }) {
  const stroke = { stroke: colour, "stroke-width": 4, "stroke-dasharray": dash.join(" ") };
  const line = svgNode("line", { x1: 0, x2: 22, y1: 4, y2: 4, ...stroke });
  return svgNode("svg", { class: "hu-swatch", viewBox: "0 0 22 8", "aria-hidden": "true" }, line);
}

// `ctx.set` is called with the changes.
/** @param {Context} ctx */
export function makeHeadChips(ctx) {
  const layers = el("select", {});
  const chips = el("div", { class: "hu-line hu-chips", role: "group", "aria-label": "Heads that are shown" });
  const showLayer = () => ctx.set({ heads: headsText(headsOfLayer(ctx.side, ctx.state.layer), ctx.state) });
  const allButton = button("", showLayer);
  const onlyButton = button("", () => ctx.set({ heads: "" }));
  const node = el(
    "div",
    { class: "hu-headrow" },
    el("label", { class: "hu-option" }, el("span", {}, "Heads of layer"), layers),
    el("div", { class: "hu-headset" }, chips, el("div", { class: "hu-line hu-sets" }, allButton, onlyButton)),
  );
  let builtKey = "";

  layers.addEventListener("change", () => ctx.set({ layer: Number(layers.value) }));

  function toggle(chipHead) {
    const shownHeads = displayedHeads(ctx.side, ctx.state);
    const remaining = shownHeads.filter((shownHead) => headKey(shownHead) !== headKey(chipHead));
    const heads = remaining.length < shownHeads.length ? remaining : [...shownHeads, chipHead];
    ctx.set({ heads: headsText(heads, ctx.state) });
  }

  function build(chipHeads) {
    const hadFocus = chips.contains(chips.getRootNode().activeElement);
    chips.replaceChildren(
      ...chipHeads.map((chipHead) =>
        button("", () => toggle(chipHead), { class: "hu-headchip", "data-head": headKey(chipHead) })
      ),
    );
    if (hadFocus) chips.firstChild.focus(); // the focused button may have been removed
  }

  // `shownHeads` are drawn with the line styles `styles`.
  function draw(shownHeads, styles) {
    const { side, state } = ctx;
    node.hidden = !state.more && !state.heads;
    const layerHeads = headsOfLayer(side, state.layer);
    const chipHeads = [...layerHeads, ...shownHeads.filter(({ layer }) => layer !== state.layer)];
    const depth = side.depths[state.kind];
    if (layers.length !== depth) {
      layers.replaceChildren(...indices(depth).map((i) => el("option", { value: i }, displayNumber(i))));
    }
    layers.value = String(state.layer);
    const key = `${side.id} ${writeHeads(chipHeads)}`;
    if (key !== builtKey) build(chipHeads);
    builtKey = key;
    chipHeads.forEach((chipHead, i) => {
      const index = shownHeads.findIndex((shownHead) => headKey(shownHead) === headKey(chipHead));
      const style = index < 0 ? { colour: ctx.theme.line, dash: [] } : styles[index];
      const chip = chips.children[i];
      chip.setAttribute("aria-pressed", String(index >= 0));
      chip.title = `${headName(chipHead)}${style.dash.length ? ", dashed" : ""}`;
      chip.setAttribute("aria-label", chip.title);
      chip.replaceChildren(
        swatch(style),
        chipHead.layer === state.layer ? `H${displayNumber(chipHead.head)}` : shortName(chipHead),
      );
    });
    allButton.textContent = `all of ${layerName(state.layer)}`;
    onlyButton.textContent = `only H${displayNumber(state.head)}`;
    onlyButton.disabled = !state.heads;
    allButton.disabled = state.heads === writeHeads(layerHeads);
  }

  return { node, draw };
}

function tokenListNodes(entries) {
  const listedNodes = entries.slice(0, 4).flatMap((entry, i) => [i ? ", " : "", ...rowNodes(entry)]);
  return entries.length > 4 ? [...listedNodes, ` and ${entries.length - 4} more`] : listedNodes;
}

const weightNode = (style, weight, top, name, ...rest) =>
  el(
    "span",
    { class: "hu-amount" },
    ...(style ? [swatch(style)] : []),
    el("span", { class: "hu-amount-value" }, showWeight(weight, top)),
    ...rest,
    ...(name ? [` ${name}`] : []),
  );

// The mean weight that these queries give every key. Like the weights of one query, it sums to 1.
/** @param {Matrix} m @param {number[]} queries */
export const weightsToKeys = (m, queries) =>
  Float64Array.from(
    { length: m.nColumns },
    (_, column) => queries.reduce((sum, row) => sum + m.values[row * m.nColumns + column], 0) / queries.length,
  );

// The weight that every query gives these keys together.
/** @param {Matrix} m @param {number[]} keys */
export const weightsFromQueries = (m, keys) =>
  Float64Array.from(
    { length: m.nRows },
    (_, row) => keys.reduce((sum, column) => sum + m.values[row * m.nColumns + column], 0),
  );

const MAX_SEPARATE_QUERIES = 3; // of more pinned queries, the text has the mean

// The text about the focused tokens: their strongest lines.
/** @param {Matrix[]} matrices @param {any} shownHeads @param {any} styles @param {any} tokens */
export function describeFocus(matrices, shownHeads, styles, { queries, keys }) {
  const [{ rows, columns }] = matrices;
  const queryGroups = queries.length > MAX_SEPARATE_QUERIES ? [queries] : queries.map((query) => [query]);
  const groups = [
    ...queryGroups.map((group) => ({
      from: group.map((row) => rows[row]),
      to: columns,
      weights: matrices.map((m) => weightsToKeys(m, group)),
      verb: group.length > 1 ? `attend most to (mean of ${group.length})` : "attends most to",
    })),
    ...(keys.length
      ? [{
        from: keys.map((column) => columns[column]),
        to: rows,
        weights: matrices.map((m) => weightsFromQueries(m, keys)),
        verb: keys.length > 1 ? `get most attention from (sum of ${keys.length})` : "gets most attention from",
      }]
      : []),
  ];
  const limit = Math.max(3 - (groups.length - 1), 1);
  return groups.map(({ from, to, weights, verb }) => {
    const amounts = weights.flatMap((headWeights, head) =>
      Array.from(headWeights, (weight, index) => ({ weight, head, index }))
    );
    amounts.sort((a, b) => b.weight - a.weight);
    return el(
      "p",
      {},
      el("strong", {}, ...tokenListNodes(from)),
      ` ${verb} `,
      ...amounts.slice(0, limit).filter(({ weight }) => weight > 0).map(({ weight, head, index }) =>
        weightNode(
          shownHeads.length > 1 && styles[head],
          weight,
          matrices[head].top,
          "",
          " ",
          ...rowNodes(to[index]),
          shownHeads.length > 1 ? ` (${shortName(shownHeads[head])})` : "",
        )
      ),
    );
  });
}

// The text about the pinned tokens and one token of the other side: the weight in every head.
/** @param {Matrix[]} matrices @param {any} shownHeads @param {any} styles @param {any} focus @param {any} tokens */
export function describePair(matrices, shownHeads, styles, focus, { side, index }) {
  const [pins, sums] = side === "k" ? [focus.queries, focus.toKeys] : [focus.keys, focus.fromQueries];
  const [rows, columns] = [matrices[0].rows, matrices[0].columns];
  const targetEntries = [side === "k" ? columns[index] : rows[index]];
  const pinnedEntries = pins.map((pin) => (side === "k" ? rows : columns)[pin]);
  const [from, to] = side === "k" ? [pinnedEntries, targetEntries] : [targetEntries, pinnedEntries];
  const masked = pins.every((pin) => (side === "k" ? matrices[0].masked(pin, index) : matrices[0].masked(index, pin)));
  const weights = masked
    ? ["masked: no attention to later tokens"]
    : sums.map((tokenSums, head) =>
      weightNode(styles[head], tokenSums[index], matrices[head].top, shortName(shownHeads[head]))
    );
  return [el(
    "p",
    {},
    el("strong", {}, ...tokenListNodes(from)),
    from.length > 1 ? " attend to " : " attends to ",
    el("strong", {}, ...tokenListNodes(to)),
    pins.length > 1 ? `, ${side === "k" ? "mean" : "sum"} of ${pins.length}: ` : ": ",
    ...weights,
  )];
}

/** @param {Side} side @param {Kind} kind */
export function codeOfHeads(side, shownHeads, kind) {
  const [firstHead] = shownHeads;
  if (!firstHead || shownHeads.some(({ layer }) => layer !== firstHead.layer)) return "";
  const weights = `trace.weights("${kind}", layer=${firstHead.layer})`;
  if (shownHeads.length === 1) return `${weights}[${firstHead.head}]`;
  return shownHeads.length === side.n_heads
    ? weights
    : `${weights}[[${shownHeads.map(({ head }) => head).join(", ")}]]`;
}

// The weights of the heads shown, or only those of the pinned tokens. Positions distinguish repeated tokens.
// Rows are created on demand, as there may be a million.
/** @param {string} caption @param {Matrix[]} matrices */
export function tableOfHeads(caption, shownHeads, matrices, pins) {
  const [m] = matrices;
  const writes = m.rows.some(({ written }) => written !== null);
  function* cells() {
    for (const [i, { layer, head }] of shownHeads.entries()) {
      for (const [r, row] of m.rows.entries()) {
        for (const [c, column] of m.columns.entries()) {
          if (m.masked(r, c) || (pins.any && !pins.queries.includes(r) && !pins.keys.includes(c))) continue;
          const weight = Number(matrices[i].values[r * m.nColumns + c].toPrecision(5));
          yield [
            row.text,
            ...(writes ? [row.written] : []),
            column.text,
            layer,
            head,
            weight,
            row.members[0],
            column.members[0],
          ];
        }
      }
    }
  }
  return {
    caption,
    columns: [
      "query",
      ...(writes ? ["written"] : []),
      "key",
      "layer",
      "head",
      "weight",
      "query position",
      "key position",
    ],
    get rows() {
      return [...cells()];
    },
  };
}
