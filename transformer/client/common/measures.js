// Labels, formatting and colours of the measures of a head.

import { el, rampLevel, textOn } from "./base.js";
import { hasExactNames, tokenName } from "./naming.js";

// Descriptions of the measures by name, as in `transformer.measures`: label, unit ("" is a share, 0 to 1),
// note, and the name of its offset, if it has one. They come with the data.
export const MEASURES = {};

// Whether this measure exists for heads of this kind.
/** @param {Side} side @param {Kind} kind @param {State} state */
export const hasMeasure = (side, kind, state) => state.measure in MEASURES && state.measure in side.measures[kind];
/** @param {Side} side @param {Kind} kind @param {number} layer @param {number} head */
export const valueOf = (side, kind, measure, layer, head) => side.measures[kind][measure][layer][head];

// The end of the colour scale, the same for all kinds, so that they can be compared.
/** @param {Side} side */
export function scaleEnd(side, measure) {
  if (!MEASURES[measure]?.unit) return 1;
  const kinds = side.kinds.filter((kind) => measure in side.measures[kind]);
  return Math.max(...kinds.flatMap((kind) => side.measures[kind][measure].flat())) || 1;
}

// At most three digits, as there is little space below a thumbnail.
export const formatMeasure = (value) => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
export const formatOffset = (offset) => (offset > 0 ? `+${offset}` : String(offset).replace("-", "−"));

// The measures of a head as text; shares below a tenth are left out.
/** @param {Side} side @param {Kind} kind @param {number} layer @param {number} head */
export function measureTexts(side, kind, layer, head) {
  return Object.entries(MEASURES).filter(([name]) => name in side.measures[kind]).flatMap(
    ([name, { label, unit, offset }]) => {
      const value = valueOf(side, kind, name, layer, head);
      if (unit) return [`${label.toLowerCase()} ${formatMeasure(value)} ${unit}`];
      const offsetText = offset && ` (${formatOffset(valueOf(side, kind, offset, layer, head))})`;
      return value >= 0.1 ? [`${label.toLowerCase()}${offsetText} ${Math.round(100 * value)}%`] : [];
    },
  );
}

export const codeOfMeasure = (measure) =>
  measure in MEASURES ? `measures.measure_heads(trace, kind, layer)["${measure}"]` : "trace.weights(kind, layer)";

// A number on a background of its colour, at 0 to 1 on the ramp.
/** @param {string} text @param {number} share @param {Theme} theme */
export function makeChip(text, share, theme) {
  const [background, textColour] = chipColours(share, theme);
  return el("span", { class: "hu-chip-value", style: `background: ${background}; color: ${textColour}` }, text);
}

/** @param {number} share @param {Theme} theme */
export function chipColours(share, theme) {
  const background = theme.css(rampLevel(share));
  return [background, textOn(background)];
}

// The note about a head that gives most of its attention to the first or last token (attention sink).
/** @param {Side} side @param {State} state */
export function sinkNote(side, state) {
  if (state.combine !== "one") return "";
  const { columns } = side.labels(state.kind);
  const { values } = side.weights(state.kind, state.layer, state.head);
  const count = columns.tokens.length;
  const firstRow = Number(state.kind === "decoder"); // its first row can only attend to the first token
  const meanWeight = (column) => {
    let sum = 0;
    for (let i = firstRow * count + column; i < values.length; i += count) sum += values[i];
    return sum / (values.length / count - firstRow);
  };
  for (const [name, column] of [["first", 0], ["last", count - 1]]) {
    const share = meanWeight(column);
    if (share >= 0.5 && count > 2) {
      return `Attention sink: ${Math.round(100 * share)}% of this head's attention goes to ${
        hasExactNames() ? columns.tokens[column] : `“${tokenName(columns.tokens[column])}”`
      }, the ${name} token.`;
    }
  }
  return "";
}
