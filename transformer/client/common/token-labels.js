// Draws tokens with a pen, on a canvas or in SVG.

import { characters, isControl, tokenName } from "./naming.js";

export const LABEL_SIZE = 13;
export const SMALL_LABEL_SIZE = 11;

// The parts of a row's label: the token read, and the token written next.
export const rowParts = (entry) => (entry.written === null ? [entry.text] : [entry.text, " → ", entry.written]);

// Shortens these parts to `limit` pixels; the written token keeps the larger share.
/** @param {Pen} pen @param {number} limit */
export function fitRowParts(pen, parts, limit) {
  const totalWidth = parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  if (totalWidth <= limit) return parts;
  if (parts.length === 1) return [shorten(pen, parts[0], limit)];
  const arrow = tokenWidth(pen, parts[1]);
  const written = shorten(pen, parts[2], (limit - arrow) * 0.6);
  return [shorten(pen, parts[0], limit - arrow - tokenWidth(pen, written)), parts[1], written];
}

// Draws "read → written" right-aligned at x, at most `limit` pixels wide, the token read in a lighter colour.
/** @param {Pen} pen @param {number} x @param {number} y @param {number} limit @param {Theme} theme */
export function drawRowLabel(pen, parts, x, y, limit, theme, chosen) {
  parts = fitRowParts(pen, parts, limit);
  let partX = x - parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  pen.save();
  pen.translate(0, y);
  parts.forEach((part, i) => {
    drawToken(pen, part, partX, theme, chosen, i < parts.length - 1);
    partX += tokenWidth(pen, part);
  });
  pen.restore();
}

// Draws a column's label above the point (x, y), at most `limit` pixels long: upwards at the angle `slant`, or centred.
/** @param {Pen} pen @param {string} text @param {number} x @param {number} y @param {number} limit @param {number} slant @param {Theme} theme */
export function drawColumnLabel(pen, text, x, y, limit, slant, theme, chosen, isMuted = false) {
  const shortText = shorten(pen, text, limit);
  pen.save();
  pen.translate(x, y);
  if (slant) pen.rotate(-slant);
  else pen.translate(-tokenWidth(pen, shortText) / 2, -6);
  drawToken(pen, shortText, 0, theme, chosen, isMuted);
  pen.restore();
}

// "▁" is a full letter wide in most fonts, so a short stroke is drawn instead.
const STROKE_WIDTH = 5;
const hasWordMark = (text) => text.length > 1 && text.startsWith("▁");

/** @param {Pen} pen @param {string} text */
export function tokenWidth(pen, text) {
  text = tokenName(text);
  return hasWordMark(text) ? STROKE_WIDTH + 1 + pen.measureText(text.slice(1)).width : pen.measureText(text).width;
}

/** @param {Pen} pen @param {string} text @param {number} x @param {Pick<Theme, "text" | "muted" | "faint">} theme */
export function drawToken(pen, text, x, theme, chosen, isMuted = false) {
  isMuted ||= isControl(text) && text !== tokenName(text); // "end" stands for a special token, not a word
  text = tokenName(text);
  if (hasWordMark(text)) {
    pen.fillStyle = theme.faint;
    pen.fillRect(x, 5, STROKE_WIDTH - 1, 1.5);
    [text, x] = [text.slice(1), x + STROKE_WIDTH + 1];
  }
  pen.fillStyle = isMuted && !chosen ? theme.muted : theme.text;
  pen.fillText(text, x, 0);
}

/** @param {Pen} pen @param {string} text @param {number} limit */
export function shorten(pen, text, limit) {
  if (tokenWidth(pen, text) <= limit) return text;
  text = tokenName(text);
  const left = characters(text);
  while (left.length > 1 && tokenWidth(pen, left.join("") + "…") > limit) left.pop();
  return left.join("") + "…";
}

// Hatches a rectangle for a masked cell.
/** @param {Pen} pen @param {number} x @param {number} y */
export function hatch(pen, x, y, width, height, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  hatchPath(pen, x, y, width, height, colour);
  pen.restore();
}

// Hatches what the pen's path, which becomes its clip, has in common with a rectangle.
/** @param {Pen} pen @param {number} x @param {number} y */
export function hatchPath(pen, x, y, width, height, colour) {
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let d = -height; d < width; d += 7) {
    pen.moveTo(x + d, y + height);
    pen.lineTo(x + d + height, y);
  }
  pen.stroke();
}
