// What the numbers of a head say, and how they are written and coloured.

// What a number below a head says. `top` is the end of its colour scale, if that is always the same.
const MEASURES = {
  entropy: {
    name: "Entropy", unit: "bits", code: "entropy(%)",
    says: "How spread a head looks: 0 bits is all on one token, each bit more is twice as many tokens (Shannon 1948; of attention: Clark et al. 2019, section 3.3). Mean over the rows.",
  },
  distance: {
    name: "Distance", unit: "tokens", code: "distance(%)", without: ["cross"],
    says: "How many tokens away a head looks, as a mean over its weights (Vig and Belinkov 2019). Only where tokens of one text look at each other.",
  },
  positional: {
    name: "Positional", unit: "of the rows", code: "positional(%)", top: 1,
    says: "The share of rows with their greatest weight at the head's most common offset, which stands below: −1 is the token before (Voita et al. 2019, section 5.1).",
  },
  first: {
    name: "On the first token", unit: "of the attention", code: "share(%, 0)", top: 1,
    says: "The share of attention on the first token, as a mean over the rows. Much of it is a head at rest, a sink (Clark et al. 2019, section 3.2).",
  },
  last: {
    name: "On the last token", unit: "of the attention", code: "share(%, -1)", top: 1,
    says: "The share of attention on the last token, as a mean over the rows. Much of it on </s> is a head at rest, a sink (Clark et al. 2019, section 3.2).",
  },
};

const measures = (kind, state) => state.measure in MEASURES && !MEASURES[state.measure].without?.includes(kind);
const valueOf = (side, kind, measure, layer, head) => side.measures[kind][measure][layer][head];

// The end of the colour scale, the same for all kinds, so that they compare.
function topOf(side, measure) {
  if (!(measure in MEASURES)) return 1;
  if (MEASURES[measure].top) return MEASURES[measure].top;
  const kinds = side.kinds.filter((kind) => measures(kind, { measure }));
  return Math.max(...kinds.flatMap((kind) => side.measures[kind][measure].flat())) || 1;
}

// Three figures at most: there is little room below a picture.
const showMeasure = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const showOffset = (offset) => (offset > 0 ? `+${offset}` : String(offset).replace("-", "−"));

// All measures of a head in words.
function measured(side, kind, layer, head) {
  const of = (measure) => valueOf(side, kind, measure, layer, head);
  const percent = (share) => `${Math.round(100 * share)} %`;
  return [
    `entropy ${showMeasure(of("entropy"))} bits`,
    ...(kind === "cross" ? [] : [`distance ${showMeasure(of("distance"))} tokens`]),
    `offset ${showOffset(of("offset"))} in ${percent(of("positional"))} of the rows`,
    `${percent(of("first"))} on the first token`,
    `${percent(of("last"))} on the last token`,
  ];
}

const codeOfMeasure = (measure) => (measure in MEASURES
  ? `measures.${MEASURES[measure].code.replace("%", "trace.weights(kind, layer)")}`
  : "trace.weights(kind, layer)");

// A number on a ground of its colour, 0 to 1 on the ramp.
function makeChip(text, share, look) {
  const [ground, ink] = chipColours(share, look);
  return el("span", { class: "hu-chip-value", style: `background: ${ground}; color: ${ink}` }, text);
}

function chipColours(share, look) {
  const ground = look.css(Math.round(255 * Math.min(Math.max(share, 0), 1)));
  const [t, g] = [look.text, look.ground].map((ink) => contrast(ink, ground));
  return [ground, t >= g ? look.text : look.ground];
}

// Of two colours "#rrggbb", 1 to 21: WCAG 2.2, "contrast ratio".
function contrast(one, other) {
  const light = (colour) => [1, 3, 5].reduce((sum, at, i) => {
    const c = parseInt(colour.slice(at, at + 2), 16) / 255;
    return sum + [0.2126, 0.7152, 0.0722][i] * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0.05);
  const [a, b] = [light(one), light(other)];
  return Math.max(a, b) / Math.min(a, b);
}
