// Thumbnails of heads in rows of layers, one of them selected: a radio group with arrow keys. `choose(layer,
// head)` is called when the selection changes, and `open(layer, head)` for a click or Enter, if opening a head does
// more than selecting it.

import { button, el, indices, moveInGrid, setChildren } from "./base.js";
import { allHeads, writeHeads } from "./matrix.js";
import { displayNumber, headName } from "./naming.js";
import { KINDS } from "./head-codes.js";
import { TERMS } from "./options.js";
import { paintThumb } from "./thumbnail.js";

export function makeMosaic(choose, open = choose) {
  const grid = el("div", { class: "hu-grid", role: "radiogroup" });
  let buttons = []; // in the order on screen, like `heads`
  let heads = [];
  let builtKey = "";
  let paintedKey = "";
  let side = null;
  let kind = /** @type {Kind} */ ("cross");
  let selected = { layer: 0, head: 0 };

  // `describe(layer, head)` returns a text that is announced after the name. It is also the tooltip, unless the view has
  // its own (`ownTooltip`). `caption(layer, head)` returns a node to put below the thumbnail. `order` is a list of
  // heads to show instead of all layers. `hasSelection` is false if another mosaic has the selected head.
  // `topLayer` is the layer in the first row, above the others in their order.
  // `picture(canvas, layer, head)` draws other thumbnails than those of the weights; a new `pictureId` redraws them.
  function draw(newSide, newKind, selection, theme, {
    label = "",
    describe = null,
    ownTooltip = false,
    caption = null,
    order = null,
    hasSelection = true,
    topLayer = 0,
    picture = null,
    pictureId = "",
  } = {}) {
    [side, kind, selected] = [newSide, newKind, selection];
    const key = `${side.id} ${side.number} ${kind} ${Boolean(caption)} ${order ? writeHeads(order) : topLayer}`;
    const pictureKey = `${key} ${pictureId} ${theme.key}`;
    if (builtKey !== key) build(label, order, topLayer, Boolean(caption));
    if (paintedKey !== pictureKey) paint(theme, picture);
    [builtKey, paintedKey] = [key, pictureKey];
    buttons.forEach((thumb, i) => {
      const { layer, head } = heads[i];
      const isSelected = layer === selected.layer && head === selected.head;
      thumb.setAttribute("aria-checked", String(isSelected && hasSelection));
      thumb.tabIndex = isSelected ? 0 : -1; // Tab focuses the selected one; arrow keys move on
      const description = describe ? describe(layer, head) : "";
      if (ownTooltip) thumb.setAttribute("aria-description", description);
      else thumb.title = `${headName(heads[i])}${description && `: ${description}`}`;
      if (caption) thumb.nextSibling.replaceChildren(caption(layer, head));
    });
  }

  function build(label, order, topLayer, hasCaptions) {
    const { rows, columns } = side.labels(kind);
    const shape = columns.tokens.length / rows.tokens.length;
    grid.replaceChildren();
    grid.setAttribute("aria-label", `${label}: choose a layer and a head`);
    grid.style.setProperty("--hu-heads", side.n_heads);
    grid.style.setProperty("--hu-shape", Math.min(Math.max(shape, 0.8), 1.5));
    grid.classList.toggle("hu-ordered", Boolean(order));
    heads = order || allHeads(side, kind).sort((a, b) => Number(b.layer === topLayer) - Number(a.layer === topLayer));
    buttons = heads.map(({ layer, head }) =>
      button(el("canvas", { "aria-hidden": "true" }), () => open(layer, head), {
        role: "radio",
        class: "hu-thumb",
        "data-layer": layer,
        "data-head": head,
        "aria-label": headName({ layer, head }),
      })
    );
    if (!order) {
      grid.append(el("span", { class: "hu-corner", title: TERMS.layer }, "layer"));
      for (let h = 0; h < side.n_heads; h++) {
        grid.append(
          el("span", { class: "hu-column", title: TERMS.head }, h ? displayNumber(h) : `head ${displayNumber(0)}`),
        );
      }
    }
    buttons.forEach((thumb, i) => {
      const { layer, head } = heads[i];
      if (!order && head === 0) grid.append(el("span", { class: "hu-row" }, displayNumber(layer)));
      grid.append(hasCaptions ? el("div", { class: "hu-pictured" }, thumb, el("div", { class: "hu-below" })) : thumb);
    });
  }

  function paint(theme, picture) {
    buttons.forEach(({ firstChild }, i) => {
      const { layer, head } = heads[i];
      if (picture) picture(firstChild, layer, head);
      else paintThumb(firstChild, side.thumb(kind, layer, head), kind === "decoder", theme.ramp);
    });
  }

  grid.addEventListener("keydown", (event) => {
    const rows = indices(buttons.length / side.n_heads).map((row) =>
      buttons.slice(row * side.n_heads, (row + 1) * side.n_heads)
    );
    const next = moveInGrid(event, rows);
    if (next) choose(Number(next.dataset.layer), Number(next.dataset.head));
  });

  return { node: grid, draw };
}

// The mosaics of several kinds, each below the name of its kind. `choose(head)` and `open(head)` get { kind, layer, head }.
/** @param {string} headingTag @param {(head: any) => void} choose @param {(head: any) => void} open */
export function makeKindMosaics(headingTag, choose, open) {
  const node = el("div", { class: "hu-kindrow" });
  const sections = new Map(); // kind → { mosaic, node }

  function section(kind) {
    if (!sections.has(kind)) {
      const mosaic = makeMosaic(
        (layer, head) => choose({ kind, layer, head }),
        (layer, head) => open({ kind, layer, head }),
      );
      const heading = el(headingTag, { title: TERMS[kind] }, KINDS[kind]);
      sections.set(kind, { mosaic, node: el("section", { "data-kind": kind }, heading, mosaic.node) });
    }
    return sections.get(kind);
  }

  // `optionsOf(kind)` are those of a mosaic's `draw`.
  /** @param {Side} side @param {Kind[]} kinds @param {State} state @param {Theme} theme @param {(kind: Kind) => any} optionsOf */
  function draw(side, kinds, state, theme, optionsOf) {
    setChildren(node, kinds.map((kind) => section(kind).node));
    node.style.setProperty("--hu-heads", String(side.n_heads));
    for (const kind of kinds) {
      const options = { label: KINDS[kind], hasSelection: kind === state.kind, ...optionsOf(kind) };
      section(kind).mosaic.draw(side, kind, state, theme, options);
    }
  }
  return { node, draw };
}
