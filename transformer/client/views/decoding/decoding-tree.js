// The beam search tree: a column per step, a box per token. Only the visible part is drawn, so that a wide beam
// over a long sentence stays fast.

import { ARROWS, button, clampIndex, el, tokenText, wordsNode } from "../../common/base.js";
import { drawToken, LABEL_SIZE, shorten, SMALL_LABEL_SIZE } from "../../common/token-labels.js";
import { pieceName } from "../../common/naming.js";
import { fixed, percentText } from "../../common/numbers.js";

const MAX_OPEN_HYPOTHESES = 4; // with more hypotheses, discarded ones are collapsed at first
const STATUSES = { kept: "kept in the beam", finished: "finished", discarded: "discarded" };

// Layout. Children of one parent are adjacent, in the order of their parents and best first, so that no
// branches cross.
/** @param {Tree} tree */
export function layoutTree(tree, isFolded, large) {
  const scale = large ? 1.35 : 1;
  const [boxWidth, boxHeight, columnPitch, rowPitch] = [104, 26, 136, 34].map((x) => Math.round(x * scale));
  const columns = [];
  const rowOf = new Map();
  const hidden = new Map(); // node → its discarded children that are collapsed
  tree.token.forEach((_, i) => {
    if (isFolded && tree.status[i] === "discarded") {
      hidden.set(tree.parent[i], (hidden.get(tree.parent[i]) || 0) + 1);
    } else (columns[tree.depth[i]] ||= []).push(i);
  });
  for (const column of columns) {
    column.sort((a, b) =>
      (rowOf.get(tree.parent[a]) ?? 0) - (rowOf.get(tree.parent[b]) ?? 0) || tree.score[b] - tree.score[a]
    );
    column.forEach((i, row) => rowOf.set(i, row));
  }
  return {
    columns,
    rowOf,
    hidden,
    boxWidth,
    boxHeight,
    columnPitch,
    rowPitch,
    scale,
    width: (columns.length - 1) * columnPitch + boxWidth + 24,
    height: Math.max(...columns.map((column) => column.length)) * rowPitch + 30,
    xOf: (i) => 12 + tree.depth[i] * columnPitch,
    yOf: (i) => 24 + rowOf.get(i) * rowPitch,
  };
}

/** @param {Tree} tree */
function pathFromRoot(tree, node) {
  const path = [];
  for (let i = node; i !== null; i = tree.parent[i]) path.unshift(i);
  return path;
}

/** @param {Tree} tree */
const finishedNodes = (tree) =>
  [...tree.status.keys()].filter((i) => tree.status[i] === "finished").sort((a, b) => tree.score[b] - tree.score[a]);
/** @param {Tree} tree */
const bestNode = (tree) => tree.best.lastIndexOf(true);

// The text of a hypothesis, without <s> and </s>.
/** @param {Tree} tree */
export function hypothesisText(tree, node) {
  const path = pathFromRoot(tree, node).slice(1);
  if (tree.status[node] === "finished") path.pop();
  return path.map((i) => tree.token[i]).join("").replaceAll("▁", " ").trim();
}

/** @param {Context} ctx */
export function makeTree(ctx) {
  let isFolded = null; // null: the default, by beam size
  let lastDrawn = ""; // the node and the layout that were drawn last
  let layout = null;
  const canvas = el("canvas", { "aria-hidden": "true" });
  const treeArea = el("div", { class: "hu-treefield" }, canvas);
  const viewport = el("div", {
    class: "hu-treebox",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "tree",
  }, treeArea);
  const foldButton = button("", () => {
    isFolded = !isFolded;
    // A selected discarded node would expand it again.
    if (isFolded && ctx.side.tree.status[selectedNode(ctx.side.tree)] === "discarded") selectNode(-1);
    else draw();
  });
  const details = el("div", { class: "hu-branch", role: "status" });
  const finishedList = el("ol", { class: "hu-ends" });
  const body = el(
    "div",
    {},
    el(
      "p",
      { class: "hu-label" },
      "Each step keeps the best hypotheses so far, by score. Bold: the path to the returned translation. Framed: finished. Thin: discarded.",
    ),
    foldButton,
    viewport,
    details,
    el("h3", {}, "Finished, best score first"),
    finishedList,
  );
  const title = el("h2", {});
  const node = el("section", { class: "hu-tree" }, title, body);

  const selectedNode = (tree) => (ctx.state.node >= 0 ? clampIndex(ctx.state.node, tree.token.length) : bestNode(tree));
  const selectNode = (i) => ctx.set({ node: i });

  function draw() {
    const { tree } = ctx.side;
    node.hidden = !tree; // made without beam search
    title.textContent = ctx.state.force ? "Beam search of the original translation" : "Beam search";
    if (!tree) return;
    isFolded ??= tree.beam_size > MAX_OPEN_HYPOTHESES;
    const selected = selectedNode(tree);
    if (tree.status[selected] === "discarded") isFolded = false; // the selected node must be visible
    const discarded = tree.status.filter((status) => status === "discarded").length;
    foldButton.hidden = !discarded;
    foldButton.textContent = isFolded ? `+${discarded} discarded` : "Hide discarded hypotheses";
    foldButton.setAttribute("aria-pressed", String(!isFolded));
    layout = layoutTree(tree, isFolded, ctx.state.size === "large");
    treeArea.style.width = `${layout.width}px`;
    treeArea.style.height = `${layout.height}px`;
    viewport.setAttribute(
      "aria-label",
      `Beam search tree with ${tree.token.length} tokens. Use the arrow keys to move through it.`,
    );
    describe(tree, selected);
    const key = `${ctx.side.id} ${selected} ${isFolded} ${ctx.state.size}`;
    if (key !== lastDrawn && ctx.state.node >= 0) scrollToNode(selected);
    lastDrawn = key;
    paint();
  }

  // The visible part, on a canvas that stays in the viewport.
  function paint() {
    const { tree } = ctx.side;
    const [width, height] = [
      Math.min(viewport.clientWidth, layout.width),
      Math.min(viewport.clientHeight, layout.height),
    ];
    if (!width || !height) return;
    const ratio = globalThis.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.translate(-viewport.scrollLeft, -viewport.scrollTop);
    paintTree(pen, tree, layout, ctx.theme, selectedNode(tree), {
      left: viewport.scrollLeft,
      right: viewport.scrollLeft + width,
    });
  }

  function scrollToNode(i) {
    const [x, y] = [layout.xOf(i), layout.yOf(i)];
    const scrollOffset = (start, size, scroll, visible) =>
      Math.min(Math.max(scroll, start + size + 40 - visible), start - 40);
    viewport.scrollLeft = scrollOffset(x, layout.boxWidth, viewport.scrollLeft, viewport.clientWidth);
    viewport.scrollTop = scrollOffset(y, layout.boxHeight, viewport.scrollTop, viewport.clientHeight);
  }

  function describe(tree, selected) {
    const ranked = finishedNodes(tree);
    const status = tree.status[selected] === "finished"
      ? `finished: ${ranked.indexOf(selected) + 1} of ${ranked.length} by score`
      : tree.status[selected] === "discarded"
      ? `discarded: not among the best ${tree.beam_size} of its step`
      : STATUSES.kept;
    const facts = [
      ["probability", percentText(tree.probability[selected])],
      ["total log-probability", fixed(tree.log_probability[selected])],
      ["score", fixed(tree.score[selected])],
      ["status", status],
    ];
    details.replaceChildren(
      el(
        "div",
        { class: "hu-written" },
        ...pathFromRoot(tree, selected).map((i) =>
          el("span", { class: "hu-piece" }, tokenText(pieceName(tree.token[i]), ctx.side.tgt.lang))
        ),
      ),
      wordsNode(hypothesisText(tree, selected), ctx.side.tgt.lang, { class: "hu-hypothesis" }),
      el("dl", {}, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    );
    finishedList.replaceChildren(...ranked.map((i, rank) => {
      const content = [
        el("span", { class: "hu-number" }, fixed(tree.score[i])),
        wordsNode(hypothesisText(tree, i), ctx.side.tgt.lang),
      ];
      const select = () => {
        selectNode(i);
        finishedList.children[rank]?.firstChild.focus();
      };
      return el("li", {}, button(content, select, { class: "hu-end", "aria-pressed": String(i === selected) }));
    }));
  }

  viewport.addEventListener("scroll", () => layout && ctx.side.tree && paint());
  viewport.addEventListener("click", (event) => {
    const area = viewport.getBoundingClientRect();
    const x = event.clientX - area.left - viewport.clientLeft + viewport.scrollLeft;
    const y = event.clientY - area.top - viewport.clientTop + viewport.scrollTop;
    const clickedNode = layout.columns.flat().find((i) =>
      x >= layout.xOf(i) && x <= layout.xOf(i) + layout.boxWidth && y >= layout.yOf(i) &&
      y <= layout.yOf(i) + layout.boxHeight
    );
    if (clickedNode !== undefined) selectNode(clickedNode);
  });
  viewport.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS)) return;
    event.preventDefault();
    event.stopPropagation();
    const next = neighbour(ctx.side.tree, layout, selectedNode(ctx.side.tree), event.key);
    if (next !== undefined && next !== null) selectNode(next);
  });

  // The whole tree scaled to this width; null without a tree.
  function figure(width) {
    const { tree } = ctx.side;
    if (!tree || !layout) return null;
    const scale = Math.min(width / layout.width, 1);
    return {
      height: layout.height * scale + 12,
      paint: (pen) => {
        pen.translate(0, 12);
        pen.scale(scale, scale);
        paintTree(pen, tree, layout, ctx.theme, selectedNode(tree), { left: 0, right: layout.width });
      },
    };
  }

  return { node, draw, figure };
}

// The target of an arrow key: the parent, the best child, or the next node of the same step.
/** @param {Tree} tree */
function neighbour(tree, layout, node, key) {
  if (key === "ArrowLeft") return tree.parent[node];
  const column = layout.columns[tree.depth[node]];
  if (key === "ArrowUp" || key === "ArrowDown") return column[layout.rowOf.get(node) + ARROWS[key][1]];
  const children = (layout.columns[tree.depth[node] + 1] || []).filter((i) => tree.parent[i] === node);
  return children.find((i) => tree.best[i]) ?? children.find((i) => tree.status[i] !== "discarded") ?? children[0];
}

/** @param {Pen} pen @param {Tree} tree @param {any} layout @param {Theme} theme @param {number} selected @param {any} area */
function paintTree(pen, tree, layout, theme, selected, { left, right }) {
  const { columns, columnPitch, boxWidth } = layout;
  const from = clampIndex(Math.floor((left - boxWidth) / columnPitch), columns.length);
  const to = clampIndex(Math.ceil(right / columnPitch), columns.length);
  const path = new Set(pathFromRoot(tree, selected));
  pen.textBaseline = "middle";
  pen.font = `${Math.round(SMALL_LABEL_SIZE * layout.scale)}px ${theme.font}`;
  for (let depth = Math.max(from, 1); depth <= to; depth++) {
    pen.fillStyle = theme.muted;
    pen.fillText(`step ${depth}`, 12 + depth * columnPitch, 10);
    for (const i of columns[depth]) paintBranch(pen, tree, layout, theme, i, path.has(i));
  }
  for (let depth = from; depth <= to; depth++) {
    for (const i of columns[depth]) paintNode(pen, tree, layout, theme, i, i === selected);
  }
}

/** @param {Pen} pen @param {Tree} tree @param {Theme} theme */
function paintBranch(pen, tree, layout, theme, i, onPath) {
  const parent = tree.parent[i];
  const [x1, y1] = [layout.xOf(parent) + layout.boxWidth, layout.yOf(parent) + layout.boxHeight / 2];
  const [x2, y2] = [layout.xOf(i), layout.yOf(i) + layout.boxHeight / 2];
  const isDiscarded = tree.status[i] === "discarded";
  pen.globalAlpha = isDiscarded && !onPath ? 0.45 : 1;
  pen.lineWidth = tree.best[i] ? 3.5 : onPath ? 2 : isDiscarded ? 0.75 : 1.5;
  pen.strokeStyle = onPath ? theme.choice : tree.best[i] ? theme.accent : theme.faint;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
  pen.stroke();
  pen.globalAlpha = 1;
}

/** @param {Pen} pen @param {Tree} tree @param {Theme} theme */
function paintNode(pen, tree, layout, theme, i, isSelected) {
  const [x, y] = [layout.xOf(i), layout.yOf(i)];
  const { boxWidth, boxHeight, scale } = layout;
  const [isDiscarded, isFinished, foldedCount] = [
    tree.status[i] === "discarded",
    tree.status[i] === "finished",
    layout.hidden.get(i),
  ];
  pen.globalAlpha = isDiscarded && !isSelected ? 0.6 : 1;
  pen.fillStyle = isDiscarded ? theme.background : theme.soft;
  pen.fillRect(x, y, boxWidth, boxHeight);
  pen.lineWidth = isSelected ? 2.5 : isFinished || tree.best[i] ? 2 : 1;
  pen.strokeStyle = isSelected ? theme.choice : isFinished ? theme.text : tree.best[i] ? theme.accent : theme.line;
  pen.strokeRect(x + 0.5, y + 0.5, boxWidth - 1, boxHeight - 1);
  pen.font = `${Math.round(SMALL_LABEL_SIZE * scale)}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "right";
  const number = isFinished
    ? fixed(tree.score[i]).slice(0, 5)
    : tree.parent[i] === null
    ? ""
    : tree.probability[i].toFixed(2);
  pen.fillText(number, x + boxWidth - 6, y + boxHeight / 2);
  pen.textAlign = "left";
  if (foldedCount) paintFolded(pen, theme, `+${foldedCount}`, x + boxWidth + 3, y + boxHeight / 2);
  pen.fillStyle = theme.muted;
  const maxTextWidth = boxWidth - 16 - pen.measureText(number).width;
  pen.font = `${tree.best[i] ? 600 : 400} ${Math.round(LABEL_SIZE * scale)}px ${theme.font}`;
  pen.save();
  pen.translate(0, y + boxHeight / 2);
  drawToken(pen, shorten(pen, pieceName(tree.token[i]), maxTextWidth), x + 6, theme, !isDiscarded);
  pen.restore();
  pen.globalAlpha = 1;
}

// The number of collapsed discarded children, on a background over the branches.
/** @param {Pen} pen @param {Theme} theme @param {string} text @param {number} x @param {number} y */
function paintFolded(pen, theme, text, x, y) {
  pen.fillStyle = theme.background;
  pen.fillRect(x, y - 7, pen.measureText(text).width + 4, 14);
  pen.fillStyle = theme.muted;
  pen.fillText(text, x + 2, y);
}
