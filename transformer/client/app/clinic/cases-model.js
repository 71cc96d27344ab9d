// The cases of the Bug clinic with a mistake in the model: its masks, positions, attention and layers.

import { paper, REVERSE, TWO_LAYERS } from "./case-settings.js";

const ONE_WIDE_HEAD = { ...REVERSE, n_heads: 1, d_model: 64, learning_rate: 0.006, steps: 500 };
const CAUSAL = "        causal = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool)";
const DECODER_CALL = "            x = layer(x, tgt_mask, memory, src_mask)";

const ONE_TOO_LATE = { fault: "mask one too late" };

// The lines before and after a wrong causal mask, where it can be repaired, too. `unchanged` and `two`: the model's settings
// with a line that leaves the mask as it is, and with one that is two positions too late.
const maskSites = (unchanged, two) => [
  {
    wrong: CAUSAL,
    right: [`${CAUSAL}.tril()`],
    others: [
      { line: `${CAUSAL}.tril(1)`, settings: ONE_TOO_LATE },
      { line: `${CAUSAL}.tril(2)`, settings: two },
    ],
  },
  {
    wrong: DECODER_CALL,
    right: ["            x = layer(x, tgt_mask.tril(), memory, src_mask)"],
    others: [
      { line: "            x = layer(x, tgt_mask.tril(1), memory, src_mask)", settings: ONE_TOO_LATE },
      { line: "            x = layer(x, tgt_mask | tgt_mask.tril(), memory, src_mask)", settings: unchanged },
    ],
  },
];

/** @type {import("./case.js").Case[]} */
export const MODEL_CASES = [
  {
    id: "perfect_loss",
    title: "A perfect loss",
    symptom:
      "The loss falls to almost 0: given the target, the model predicts nearly every token of it. But what it writes by itself is always wrong.",
    settings: REVERSE,
    broken: { causal: false },
    sites: [
      {
        wrong: "        tgt_mask = causal[None, None]",
        right: ["        tgt_mask = causal.tril()[None, None]"],
        others: [
          { line: "        tgt_mask = causal.tril(1)[None, None]", settings: ONE_TOO_LATE },
          { line: "        tgt_mask = (tgt != PAD)[:, None, None]", settings: { causal: false } },
        ],
      },
      ...maskSites({ causal: false }, { fault: "mask two too late" }),
    ],
    evidence: [{ view: "decoder", cells: "later" }],
    hints: [
      "What does the decoder have during training that it does not have when it writes?",
      "During training it reads the whole target at once. Look at where each of its rows looks.",
      "In a decoder head, find a row with weight to the right of the diagonal: a token that comes later.",
    ],
    mistake: "The decoder's mask is missing",
    explanation:
      "Without a mask, each target position attends to the tokens after it, and so to the one that it must predict. The loss is then no measure of anything: the answer is in the input. When the model writes, there are no later tokens, and what it has learned is of no use.",
    source: paper("3.2.3"),
  },
  {
    id: "one_token_ahead",
    title: "Even faster to a perfect loss",
    symptom: "The loss is near 0 much sooner than in a correct run. Yet what the model writes by itself is wrong.",
    settings: REVERSE,
    broken: ONE_TOO_LATE,
    sites: [
      {
        wrong: "        tgt_mask = causal.tril(1)[None, None]",
        right: ["        tgt_mask = causal.tril()[None, None]"],
        others: [
          { line: "        tgt_mask = causal.tril(2)[None, None]", settings: { fault: "mask two too late" } },
          { line: "        tgt_mask = causal[None, None]", settings: { causal: false } },
        ],
      },
      ...maskSites(ONE_TOO_LATE, ONE_TOO_LATE),
    ],
    evidence: [{ view: "decoder", cells: "later" }],
    hints: [
      "A loss near 0 after a few steps means that the answer is in the input.",
      "In the decoder's heads, compare the diagonal with the cells beside it.",
      "The input of the next row is what this row must predict. A decoder head has weight exactly there, one cell to the right of the diagonal.",
    ],
    mistake: "The mask is off by one",
    explanation:
      "Because the target is shifted right by one, the token at the next position is the one to predict. A mask that is off by one shows just this token: one head that looks one to the right copies it, and the model never needs the source.",
    source: paper("3.2.3"),
  },
  {
    id: "one_answer",
    title: "One answer to everything",
    symptom: "The loss stops falling far above 0. Whatever the input is, the model writes the same.",
    settings: REVERSE,
    broken: { fault: "source ignored" },
    sites: [
      {
        wrong: "            x = self.add_and_norm(1, x, self.cross_attention(x, x, mask))",
        right: ["            x = self.add_and_norm(1, x, self.cross_attention(x, memory, memory_mask))"],
        others: [
          {
            line: "            x = self.add_and_norm(1, x, self.cross_attention(x, x, torch.ones_like(mask)))",
            settings: { fault: "source ignored, no mask" },
          },
          {
            line: "            x = self.add_and_norm(1, x, self.cross_attention(x, x, mask.tril()))",
            settings: { fault: "source ignored" },
          },
        ],
      },
    ],
    evidence: [{ view: "cross", cells: "column token" }],
    hints: [
      "If the output does not depend on the input, information does not reach the decoder. Which part brings it there?",
      "Cross-attention should look at the source. Read the labels of its columns.",
      "The columns of cross-attention should be the source tokens. These begin with <s>. Choose the first column.",
    ],
    mistake: "Cross-attention takes its keys and values from the decoder",
    explanation:
      "Queries come from the decoder, keys and values from the encoder's output. If all three come from the decoder, this is a second self-attention: the model knows only what it has written so far, and becomes a language model of the targets.",
    source: paper("3.2.3"),
  },
  {
    id: "right_letters",
    title: "The right letters in the wrong order",
    symptom:
      "The model writes letters of its input, often all of them, but in the wrong order. The loss stops falling well above 0.",
    settings: REVERSE,
    broken: { positions: "none" },
    sites: [
      {
        wrong: "        return self.dropout(x)",
        right: ["        return self.dropout(x + encoding)"],
        others: [
          {
            line: "        return self.dropout(self.embedding(ids))",
            settings: { positions: "none", fault: "embeddings not scaled" },
          },
          { line: "        return self.dropout(x + encoding.mean())", settings: { positions: "none" } },
        ],
      },
      {
        wrong: "        encoding = torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)",
        right: ["        x = x + torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)"],
        others: [
          {
            line: "        encoding = torch.stack([angle.cos(), angle.sin()], dim=2).flatten(1)",
            settings: { positions: "none" },
          },
          { line: "        encoding = torch.cat([angle.sin(), angle.cos()], dim=1)", settings: { positions: "none" } },
        ],
      },
    ],
    evidence: [
      { view: "cross", cells: "same columns" },
      { view: "encoder", cells: "same columns" },
      { view: "encoder", cells: "same rows of a token" },
      { view: "decoder", cells: "same columns" },
    ],
    hints: [
      "The letters arrive, their order does not. What tells the model where a letter is?",
      "Look at an input with the same letter twice. Can a head tell the two apart?",
      "In cross-attention, the two columns of a repeated letter have exactly the same weights. Choose one of them.",
    ],
    mistake: "The positional encodings are not added",
    explanation:
      "Attention is a sum over a set: without positions, exchanging two source tokens changes nothing, and two equal letters have equal keys in every layer. The decoder learns a little of the order from its mask, the encoder nothing.",
    source: paper("3.5"),
  },
  {
    id: "stuck_wide_head",
    title: "Slow, and in jumps",
    symptom: "The loss falls slowly and in jumps, and most of the outputs are wrong in the end.",
    settings: ONE_WIDE_HEAD,
    broken: { score: "dot" },
    sites: [
      {
        wrong: "        scores = q @ k.transpose(2, 3)",
        right: [
          "        scores = q @ k.transpose(2, 3) / math.sqrt(D_MODEL // HEADS)",
          "        scores = q @ k.transpose(2, 3) * k.shape[-1] ** -0.5",
        ],
        others: [
          { line: "        scores = q @ k.transpose(2, 3) / HEADS", settings: { score: "dot" } },
          { line: "        scores = q @ k.transpose(2, 3) - math.sqrt(D_MODEL // HEADS)", settings: { score: "dot" } },
        ],
      },
      {
        wrong: '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)',
        right: [
          '        self.weights = (scores / math.sqrt(D_MODEL // HEADS)).masked_fill(~mask, float("-inf")).softmax(-1)',
        ],
        others: [
          {
            line: '        self.weights = (scores - scores.mean()).masked_fill(~mask, float("-inf")).softmax(-1)',
            settings: { score: "dot" },
          },
          {
            line: '        self.weights = (scores / HEADS).masked_fill(~mask, float("-inf")).softmax(-1)',
            settings: { score: "dot" },
          },
        ],
      },
      {
        wrong: "        q, k, v = split(self.q(x)), split(self.k(memory)), split(self.v(memory))",
        right: [
          "        q, k, v = split(self.q(x)) / math.sqrt(D_MODEL // HEADS), split(self.k(memory)), split(self.v(memory))",
        ],
        others: [
          {
            line: "        q, k, v = split(self.q(x)) / HEADS, split(self.k(memory)), split(self.v(memory))",
            settings: { score: "dot" },
          },
          {
            line: "        q, k, v = split(self.q(x)), split(self.k(memory)) / HEADS, split(self.v(memory))",
            settings: { score: "dot" },
          },
        ],
      },
    ],
    evidence: [{ view: "encoder", cells: "saturated" }, { view: "decoder", cells: "saturated" }],
    hints: [
      "The variance of a dot product grows with the number of its terms, here 64. What does softmax make of large scores?",
      "Look for rows with one weight near 1 and all others near 0, where a healthy head would have none.",
      "In the encoder's head, choose a row with one weight near 1 and nothing else: its gradient is almost 0, so it cannot learn any more.",
    ],
    mistake: "The scores are not divided by √d_k",
    explanation:
      "The dot product of two random vectors of length d_k has variance d_k. With d_k = 64 the scores are eight times as large, softmax gives nearly all weight to one key, and where a softmax is saturated its gradient vanishes. Adding a constant changes nothing: softmax is the same.",
    source: paper("3.2.1"),
  },
  {
    id: "good_only_in_training",
    title: "Good in training, gone when writing",
    symptom:
      "The loss falls to almost 0 as if all were well, and the decoder has its mask. But what the model writes ends too early or is wrong.",
    settings: REVERSE,
    broken: { fault: "softmax over queries" },
    sites: [
      {
        wrong: '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-2)',
        right: [
          '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)',
          '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(3)',
        ],
        others: [
          { line: "        self.weights = scores.softmax(-1)", settings: { causal: false } },
          {
            line: "        self.weights = scores.softmax(-2)",
            settings: { causal: false, fault: "softmax over queries" },
          },
        ],
      },
    ],
    evidence: [{ view: "cross", cells: "row sum" }, { view: "encoder", cells: "row sum" }, {
      view: "decoder",
      cells: "row sum",
    }],
    hints: [
      "The weights of a query are shares: what must they add up to?",
      "Point at the cells of a row and add up their weights; then do the same with a column.",
      "Choose a row whose weights do not add up to 1. Here each column does.",
    ],
    mistake: "Softmax goes over the queries, not over the keys",
    explanation:
      "Softmax must give each query shares of the keys, which add up to 1 in a row. Over the other axis, each key divides its weight among the queries: how much a position receives depends on the positions after it, which exist in training and not yet when the model writes.",
    source: paper("3.2.1"),
  },
  {
    id: "deaf_layers",
    title: "One letter, again and again",
    symptom:
      "The loss gets stuck after a few dozen steps. The model repeats one letter of its input until the output is full.",
    settings: TWO_LAYERS,
    broken: { fault: "no residual" },
    sites: [
      {
        wrong: "        return self.norms[i](self.dropout(sublayer))",
        right: ["        return self.norms[i](x + self.dropout(sublayer))"],
        others: [
          {
            line: "        return self.norms[i](2 * self.dropout(sublayer))",
            settings: { fault: "no residual" },
          },
          { line: "        return self.dropout(self.norms[i](sublayer))", settings: { fault: "no residual" } },
        ],
      },
    ],
    evidence: [
      { view: "cross", cells: "same rows" },
      { view: "decoder", cells: "same rows" },
    ],
    hints: [
      "More layers make it worse. What lets a signal, and a gradient, pass a layer unchanged?",
      "If every position has the same state, every query asks the same. Compare the rows of a head.",
      "In cross-attention of layer 2, all rows are the same. Choose one of its cells.",
    ],
    mistake: "The residual connections are missing",
    explanation:
      "Each sublayer replaces its input where it should add to it. Attention mixes positions, so that their states become alike layer by layer, and what a token was is lost; the gradient has no direct way back either. LayerNorm hides a factor: twice the sublayer is the same.",
    source: paper("3.1"),
  },
];
