// SVG elements of the film of connections, and the colour of a connection by the input that it leads to.

import { SVG } from "./base.js";

/** @param {string} tag @param {Record<string, string | number>} attributes */
export function svgElement(tag, attributes, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text) node.append(text);
  return node;
}

// Blue, reddish purple and green of Okabe and Ito, which people with colour blindness can tell apart.
/** @param {number} input @param {Theme} theme */
export const inputColour = (input, theme) => (input === 3 ? theme.muted : theme.series[[0, 3, 2][input]]);
