// Test data: seeded random numbers, and a sentence with weights as the explorer receives it.

// Mulberry32, a small random number generator for 0 to 1.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const labels = (tokens, words, plain_labels) => ({
  tokens,
  words,
  word_labels: plain_labels.map((_, word) => tokens.filter((_, i) => words[i] === word).join("")),
  special: tokens.map((token) => ["<s>", "</s>"].includes(token)),
  plain: words,
  plain_labels,
});

export const SRC = labels(["▁the", "▁ca", "ts", "</s>"], [0, 1, 1, 2], ["the", "cats", ""]);
export const TGT = labels(["<s>", "▁les", "▁chat", "s"], [0, 1, 2, 2], ["", "les", "chats"]);
export const NEXT = labels(["▁les", "▁chat", "s", "</s>"], [0, 1, 1, 2], ["les", "chats", ""]);

// Two layers with three heads whose rows sum to 1; the decoder is masked causally.
export function side(seed = 1) {
  const draw = random(seed);
  const cache = new Map();
  const weights = (kind, layer, head) => {
    const key = `${kind}.${layer}.${head}`;
    if (!cache.has(key)) {
      const rows = Array.from({ length: 4 }, (_, r) => {
        const row = Array.from({ length: 4 }, (__, c) => (kind === "decoder" && c > r ? 0 : draw() + 0.01));
        const sum = row.reduce((a, b) => a + b);
        return row.map((weight) => weight / sum);
      });
      cache.set(key, { values: Float32Array.from(rows.flat()), top: 65535 });
    }
    return cache.get(key);
  };
  return {
    id: String(seed),
    depths: { encoder: 2, decoder: 2, cross: 2 },
    n_heads: 3,
    kinds: ["encoder", "decoder", "cross"],
    src: SRC,
    tgt: TGT,
    predicted: NEXT,
    source: "the cats",
    text: "les chats",
    weights,
    labels: (kind) => ({
      rows: kind === "encoder" ? SRC : TGT,
      columns: kind === "decoder" ? TGT : SRC,
      writes: kind === "encoder" ? null : NEXT,
    }),
  };
}

export const STATE = {
  view: "heatmap",
  kind: "cross",
  layer: 0,
  head: 0,
  heads: "",
  combine: "one",
  tokens: "",
  pin: "",
  way: "both",
  row: -1,
  column: -1,
  zoom: 0,
  exact: 1,
  special: "shown",
  renormalise: 0,
  scale: "sqrt",
  measure: "none",
  order: "layers",
  more: 0,
  step: 0,
  node: -1,
  force: "",
  size: "normal",
};

// Whether two numbers are equal up to float32 rounding.
export const near = (a, b, tolerance = 1e-6) => Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));
