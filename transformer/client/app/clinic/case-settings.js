// What the cases of the Bug clinic have in common.

export const REVERSE = {
  task: "reverse",
  options: { longest: 6, letters: 8 },
  n_layers: 1,
  n_heads: 2,
  d_model: 32,
  d_ff: 64,
  learning_rate: 0.01,
  warmup: 50,
  batch: 32,
  steps: 400,
};
export const TWO_LAYERS = { ...REVERSE, n_layers: 2, batch: 16, steps: 300 };

const PAPER = "https://arxiv.org/abs/1706.03762";
export const paper = (section) => ({ text: `“Attention Is All You Need”, section ${section}`, url: PAPER });
