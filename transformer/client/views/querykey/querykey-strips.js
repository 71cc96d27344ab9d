// Drawing of the Query–key view: vectors as strips of coloured numbers, scores and weights of all keys as bars,
// and lists of tokens to choose from.

import { button, el, setIfChanged, signedLevel, tokenText } from "../../common/base.js";
import {
  drawColumnLabel,
  drawRowLabel,
  hatch,
  LABEL_SIZE,
  SMALL_LABEL_SIZE,
  tokenWidth,
} from "../../common/token-labels.js";
import { fixed } from "../../common/numbers.js";
import { makeStage } from "../../common/stage.js";

const STRIP_HEIGHT = 26; // height in pixels
const BAR_AREA_HEIGHT = 74; // height of the scores and of the weights
/** @param {Context} ctx */
const scaled = (ctx, size) => Math.round(size * (ctx.state.size === "large" ? 1.35 : 1));

// `lines()` returns { parts (a label for drawRowLabel), name, values, maxAbs, strong }; the value `maxAbs` has the
// strongest colour. `onHover(dimension)` is called when the pointer moves to another dimension.
/** @param {Context} ctx */
export function makeStrips(ctx, lines, onHover) {
  let selectedDimension = -1;
  const stage = makeStage({
    plan: (pen, width) => planStrips(ctx, pen, lines(), width),
    paint: (pen, layout) => paintStrips(ctx, pen, layout, selectedDimension),
  });
  const { canvas } = stage;

  function draw(dimension, label) {
    selectedDimension = dimension;
    if (dimension < 0) stage.showTooltip(null);
    stage.draw(label);
  }
  // The tooltip of the selected dimension, in one of the lines.
  function showTooltip(number) {
    const { layout } = stage;
    const line = layout?.lines[number];
    if (!line || selectedDimension < 0) return stage.showTooltip(null);
    stage.showTooltip(
      [
        el("strong", {}, fixed(line.values[selectedDimension])),
        el("span", {}, `${line.name}, dimension ${selectedDimension}`),
      ],
      layout.left + (selectedDimension + 0.5) * layout.cellWidth,
      layout.top + number * layout.pitch,
      layout.stripHeight,
    );
  }
  canvas.addEventListener("pointermove", (event) => {
    const { layout } = stage;
    const dimension = Math.floor((event.offsetX - layout.left) / layout.cellWidth);
    const line = Math.floor((event.offsetY - layout.top) / layout.pitch);
    const inside = dimension >= 0 && dimension < layout.count && line >= 0 && line < layout.lines.length;
    onHover(inside ? dimension : -1);
    showTooltip(inside ? line : -1);
  });
  canvas.addEventListener("pointerleave", () => onHover(-1));
  canvas.addEventListener("blur", () => onHover(-1));
  return { node: stage.node, draw, showTooltip, figure: stage.figure };
}

/** @param {Context} ctx @param {Pen} pen @param {number} width */
function planStrips(ctx, pen, lines, width) {
  pen.font = `600 ${scaled(ctx, LABEL_SIZE)}px ${ctx.theme.font}`;
  const widths = lines.map(({ parts }) => parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0));
  const left = Math.ceil(Math.min(Math.max(...widths) + 12, width * 0.4, 260));
  const [count, stripHeight] = [lines[0].values.length, scaled(ctx, STRIP_HEIGHT)];
  const [top, pitch] = [scaled(ctx, 16), stripHeight + 8];
  return {
    lines,
    left,
    top,
    stripHeight,
    pitch,
    count,
    cellWidth: (width - left - 2) / count,
    height: top + lines.length * pitch,
  };
}

/** @param {Context} ctx @param {Pen} pen */
function paintStrips(ctx, pen, layout, dimension) {
  const { theme } = ctx;
  const { lines, left, top, stripHeight, pitch, count, cellWidth } = layout;
  const right = left + cellWidth * count;
  pen.textBaseline = "middle";
  pen.font = `${scaled(ctx, SMALL_LABEL_SIZE)}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.fillText("dimension 0", left, top / 2 - 2);
  if (right - left > 360) {
    const ends = new Set(lines.map(({ maxAbs }) => `±${maxAbs.toFixed(2)}`));
    const scales = [...ends].join(" and ");
    pen.textAlign = "center";
    pen.fillText(`strongest colours at ${scales}`, (left + right) / 2, top / 2 - 2);
  }
  pen.textAlign = "right";
  pen.fillText(String(count - 1), right, top / 2 - 2);
  pen.textAlign = "left";
  lines.forEach(({ parts, values, maxAbs, strong }, i) => {
    const y = top + i * pitch;
    pen.font = `${strong ? "600 " : ""}${scaled(ctx, LABEL_SIZE)}px ${theme.font}`;
    drawRowLabel(pen, parts, left - 8, y + stripHeight / 2, left - 10, theme, strong);
    values.forEach((x, j) => {
      pen.fillStyle = theme.divergingCss(signedLevel(x / maxAbs));
      pen.fillRect(left + j * cellWidth, y, Math.max(cellWidth - (cellWidth >= 4 ? 1 : 0), 0.5), stripHeight);
    });
    pen.lineWidth = strong ? 1.5 : 1;
    pen.strokeStyle = strong ? theme.text : theme.line;
    pen.strokeRect(left - 0.5, y - 0.5, cellWidth * count, stripHeight + 1);
  });
  if (dimension < 0) return;
  pen.lineWidth = 2;
  pen.strokeStyle = theme.choice;
  pen.strokeRect(
    left + dimension * cellWidth - 1,
    top - 3,
    Math.max(cellWidth, 3) + 1,
    (lines.length - 1) * pitch + stripHeight + 6,
  );
}

// All keys side by side: each score above or below zero, and its weight below. A click selects a key.
/** @param {Context} ctx */
export function makeKeyBars(ctx, calculation, choose) {
  let hovered = -1;
  const stage = makeStage({
    plan: (pen, width) => planBars(ctx, pen, calculation(), width),
    paint: (pen, layout) => paintBars(ctx, pen, layout, calculation(), hovered),
  });
  const { canvas } = stage;
  let description = "";
  const draw = (label) => {
    description = label;
    if (hovered >= calculation().count) hovered = -1;
    stage.draw(label);
  };
  const keyUnder = (event) => {
    const index = Math.floor((event.offsetX - stage.layout.left) / stage.layout.cellWidth);
    return index >= 0 && index < calculation().count ? index : -1;
  };
  canvas.addEventListener("pointermove", (event) => {
    hovered = keyUnder(event);
    draw(description);
    if (hovered < 0) return stage.showTooltip(null);
    const w = calculation();
    const masked = hovered >= w.visibleCount;
    stage.showTooltip(
      [
        el("strong", {}, tokenText(w.labels.columns.names[hovered], w.labels.columns.lang)),
        el("span", {}, masked ? "masked: −∞" : `score ${fixed(w.scores[hovered])}`),
        el("span", {}, `weight ${fixed(w.shares[hovered])}`),
      ],
      stage.layout.left + (hovered + 0.5) * stage.layout.cellWidth,
      stage.layout.top,
      BAR_AREA_HEIGHT,
    );
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = -1;
    stage.showTooltip(null);
    draw(description);
  });
  canvas.addEventListener("click", (event) => keyUnder(event) >= 0 && choose(keyUnder(event)));
  return { node: stage.node, draw, figure: stage.figure };
}

/** @param {Context} ctx @param {Pen} pen @param {number} width */
function planBars(ctx, pen, w, width) {
  pen.font = `${scaled(ctx, LABEL_SIZE)}px ${ctx.theme.font}`;
  const left = Math.ceil(pen.measureText("weight").width + 14);
  const longest = Math.max(...w.labels.columns.names.map((text) => tokenWidth(pen, text)));
  const label = Math.min(longest, 110);
  let cellWidth = Math.min((width - left - 6) / w.count, 64);
  const slant = label <= cellWidth - 8 ? 0 : cellWidth >= 16 ? Math.PI / 4 : Math.PI / 2;
  if (slant) cellWidth = Math.min(cellWidth, (width - left - (cellWidth >= 16 ? label * 0.7 : 6)) / w.count);
  const top = Math.ceil(slant === 0 ? 24 : label * Math.sin(slant) + 20);
  const barAreaHeight = scaled(ctx, BAR_AREA_HEIGHT);
  return {
    left,
    top,
    cellWidth,
    slant,
    barAreaHeight,
    maxLabelWidth: label,
    labelInterval: Math.ceil(scaled(ctx, 13) / cellWidth),
    height: top + 2 * barAreaHeight + 34,
  };
}

/** @param {Context} ctx @param {Pen} pen */
function paintBars(ctx, pen, layout, w, hovered) {
  const { theme } = ctx;
  const { left, top, cellWidth, barAreaHeight } = layout;
  const visibleScores = w.scores.subarray(0, w.visibleCount);
  const [maxScore, minScore] = [Math.max(0, ...visibleScores), Math.min(0, ...visibleScores)];
  const perScore = (barAreaHeight - 14) / (maxScore - minScore || 1);
  const zero = top + 12 + maxScore * perScore;
  const baseline = top + 2 * barAreaHeight + 26; // baseline of the weights' bars
  const largestShare = Math.max(...w.shares);
  const gap = cellWidth >= 8 ? 2 : 0;
  drawKeyNames(ctx, pen, layout, w, hovered);
  pen.font = `${scaled(ctx, LABEL_SIZE)}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "right";
  pen.fillText("score", left - 8, zero);
  pen.fillText("weight", left - 8, baseline - 8);
  pen.font = `${scaled(ctx, SMALL_LABEL_SIZE)}px ${theme.font}`;
  pen.textAlign = "center";
  for (let j = 0; j < w.visibleCount; j++) {
    const x = left + j * cellWidth;
    const [scoreHeight, barHeight] = [w.scores[j] * perScore, ((barAreaHeight - 16) * w.shares[j]) / largestShare];
    pen.fillStyle = theme.divergingCss(scoreHeight < 0 ? 45 : 210);
    const barWidth = Math.max(cellWidth - gap, 0.5);
    pen.fillRect(x, Math.min(zero, zero - scoreHeight), barWidth, Math.max(Math.abs(scoreHeight), 0.5));
    pen.fillStyle = j === w.column ? theme.choice : theme.accent;
    pen.fillRect(x, baseline - barHeight, barWidth, Math.max(barHeight, 0.5));
    if (cellWidth < scaled(ctx, 34)) continue;
    pen.fillStyle = theme.text;
    pen.fillText(
      w.scores[j].toFixed(2).replace("-", "−"),
      x + (cellWidth - gap) / 2,
      scoreHeight < 0 ? zero - scoreHeight + 8 : zero - scoreHeight - 8,
    );
    pen.fillText(w.shares[j].toFixed(2), x + (cellWidth - gap) / 2, baseline - barHeight - 8);
  }
  pen.textAlign = "left";
  if (w.visibleCount < w.count) {
    const [start, masked] = [left + w.visibleCount * cellWidth, w.count - w.visibleCount];
    hatch(pen, start, top, masked * cellWidth, baseline - top, theme.faint);
  }
  pen.fillStyle = theme.line;
  for (const y of [zero, baseline]) pen.fillRect(left, y - 0.5, cellWidth * w.count, 1);
  for (const [index, ink] of [[w.column, theme.choice], [hovered, theme.text]]) {
    if (index < 0) continue;
    pen.lineWidth = 2;
    pen.strokeStyle = ink;
    pen.strokeRect(left + index * cellWidth - 1, top - 3, Math.max(cellWidth - gap, 2) + 2, baseline - top + 6);
  }
}

/** @param {Context} ctx @param {Pen} pen */
function drawKeyNames(ctx, pen, layout, w, hovered) {
  const { theme } = ctx;
  pen.textBaseline = "middle";
  w.labels.columns.names.forEach((token, j) => {
    const chosen = j === w.column || j === hovered;
    if (!chosen && (j % layout.labelInterval || Math.abs(j - w.column) < layout.labelInterval)) return;
    pen.font = `${chosen ? "600 " : ""}${scaled(ctx, LABEL_SIZE)}px ${theme.font}`;
    const x = layout.left + (j + 0.5) * layout.cellWidth;
    const isMasked = j >= w.visibleCount;
    const y = layout.top - (layout.slant ? 10 : 8);
    drawColumnLabel(pen, token, x, y, layout.maxLabelWidth + 4, layout.slant, theme, chosen, isMasked);
  });
}

// Tokens as radio buttons that wrap. `isMasked(i)` is whether token i is masked; `writes` has the tokens that are written
// next.
export function makeTokenList(label, choose) {
  const list = el("div", { class: "hu-choices", role: "radiogroup", "aria-label": label });
  const node = el("div", {}, el("span", { class: "hu-label" }, label), list);
  let drawnKey = "";
  /** @param {string} key @param {Labels} tokens @param {number} chosen @param {(i: number) => boolean} isMasked @param {Labels | null} [writes] */
  function draw(key, tokens, chosen, isMasked, writes = null) {
    if (key !== drawnKey) {
      drawnKey = key;
      list.replaceChildren(...tokens.names.map((token, i) => {
        const next = writes ? [el("span", { class: "hu-next" }, " → ", tokenText(writes.names[i], writes.lang))] : [];
        return button([tokenText(token, tokens.lang), ...next], () => choose(i), { role: "radio", class: "hu-choice" });
      }));
    }
    [...list.children].forEach((choice, i) => {
      setIfChanged(choice, "aria-checked", String(i === chosen));
      setIfChanged(choice, "tabindex", i === chosen ? "0" : "-1");
      setIfChanged(choice, "class", isMasked(i) ? "hu-choice hu-off" : "hu-choice");
    });
    const { offsetTop, offsetHeight } = list.children[chosen];
    if (offsetTop < list.scrollTop || offsetTop + offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = offsetTop - 8;
    }
  }
  return { node, draw, focus: () => list.querySelector("[aria-checked=true]").focus() };
}
