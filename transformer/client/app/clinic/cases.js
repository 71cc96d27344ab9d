// The cases of the Bug clinic: each is a small model trained with exactly one mistake. case.js has the type of a case, and
// CONTRIBUTING.md says how to add one.
//
// `settings` are those of the correct run, `broken` what the mistake changes in them (a setting, or a fault of
// training/faults.js). `right` and `wrong` are the line of the PyTorch file without and with the mistake; the `others` are
// offered too, and leave the symptom.

const REVERSE = {
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
const TWO_LAYERS = { ...REVERSE, n_layers: 2, batch: 16, steps: 300 };
const ONE_WIDE_HEAD = { ...REVERSE, n_heads: 1, d_model: 64, learning_rate: 0.006, steps: 500 };
const PAPER = "https://arxiv.org/abs/1706.03762";
const paper = (section) => ({ text: `“Attention Is All You Need”, section ${section}`, url: PAPER });

/** @type {import("./case.js").Case[]} */
export const CASES = [
  {
    id: "perfect_loss",
    title: "A perfect loss",
    symptom:
      "The loss falls to almost 0: given the target, the model predicts nearly every token of it. But what it writes by itself is always wrong.",
    settings: REVERSE,
    broken: { causal: false },
    right: "        tgt_mask = causal.tril()[None, None]",
    wrong: "        tgt_mask = causal[None, None]",
    others: [
      { line: "        tgt_mask = causal.tril(1)[None, None]", settings: { fault: "mask one too late" } },
      { line: "        tgt_mask = (tgt != PAD)[:, None, None]", settings: { causal: false } },
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
    symptom:
      "The loss is near 0 much sooner than in a correct run. The decoder has a mask, and most of the target is hidden. Yet what the model writes by itself is wrong.",
    settings: REVERSE,
    broken: { fault: "mask one too late" },
    right: "        tgt_mask = causal.tril()[None, None]",
    wrong: "        tgt_mask = causal.tril(1)[None, None]",
    others: [
      { line: "        tgt_mask = causal.tril(2)[None, None]", settings: { fault: "mask two too late" } },
      { line: "        tgt_mask = causal[None, None]", settings: { causal: false } },
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
    id: "nothing_to_learn",
    title: "Nothing left to learn",
    symptom:
      "The loss is 0 after some fifty steps, long before any head shows a pattern. What the model writes is one token, again and again.",
    settings: REVERSE,
    broken: { fault: "targets not shifted" },
    right: "        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, :-1]], dim=1)",
    wrong: "        tgt = gold",
    others: [
      { line: "        tgt = gold.clone()", settings: { fault: "targets not shifted" } },
      {
        line: "        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, 1:]], dim=1)",
        settings: { fault: "targets shifted left" },
      },
    ],
    evidence: [{ view: "decoder", cells: "unshifted" }, { view: "cross", cells: "unshifted" }],
    hints: [
      "To predict is hard, to copy is easy. What would the model have to read in order to copy?",
      "The labels of the rows are what the decoder reads. Which token should be the first?",
      "The first row of a decoder head should be <s>. Mark the first row.",
    ],
    mistake: "The targets are not shifted right",
    explanation:
      "The decoder reads at each position the very token that it must predict there, so that copying its input is enough, and no attention is needed. Shifted right by one, position i reads what comes before token i. When the model writes, it begins with <s>, which it has never seen.",
    source: paper("3.1"),
  },
  {
    id: "one_answer",
    title: "One answer to everything",
    symptom: "The loss stops falling far above 0. Whatever the input is, the model writes the same.",
    settings: REVERSE,
    broken: { fault: "source ignored" },
    right: "            x = self.add_and_norm(1, x, self.cross_attention(x, memory, memory_mask))",
    wrong: "            x = self.add_and_norm(1, x, self.cross_attention(x, x, mask))",
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
    evidence: [{ view: "cross", cells: "own keys" }],
    hints: [
      "If the output does not depend on the input, information does not reach the decoder. Which part brings it there?",
      "Cross-attention should look at the source. Read the labels of its columns.",
      "The columns of cross-attention should be the source tokens. These begin with <s>, and the cells above the diagonal are empty. Mark one of them.",
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
    right: "        return self.dropout(x + encoding)",
    wrong: "        return self.dropout(x)",
    others: [
      {
        line: "        return self.dropout(self.embedding(ids))",
        settings: { positions: "none", fault: "embeddings not scaled" },
      },
      { line: "        return self.dropout(x + encoding.mean())", settings: { positions: "none" } },
    ],
    evidence: [{ view: "cross", cells: "same columns" }, { view: "encoder", cells: "same columns" }],
    hints: [
      "The letters arrive, their order does not. What tells the model where a letter is?",
      "Look at an input with the same letter twice. Can a head tell the two apart?",
      "In cross-attention, the two columns of a repeated letter have exactly the same weights. Mark one of them.",
    ],
    mistake: "The positional encodings are not added",
    explanation:
      "Attention is a sum over a set: without positions, exchanging two source tokens changes nothing, and two equal letters have equal keys in every layer. The decoder learns a little of the order from its mask, the encoder nothing.",
    source: paper("3.5"),
  },
  {
    id: "stuck_wide_head",
    title: "A wide head that gets stuck",
    symptom:
      "One head with d_k = 64 learns slowly and in jumps, and most of its outputs are wrong in the end. With small heads, the same code learns.",
    settings: ONE_WIDE_HEAD,
    broken: { score: "dot" },
    right: "        scores = q @ k.transpose(2, 3) / math.sqrt(D_MODEL // HEADS)",
    wrong: "        scores = q @ k.transpose(2, 3)",
    others: [
      { line: "        scores = q @ k.transpose(2, 3) / HEADS", settings: { score: "dot" } },
      { line: "        scores = q @ k.transpose(2, 3) - math.sqrt(D_MODEL // HEADS)", settings: { score: "dot" } },
    ],
    evidence: [{ view: "encoder", cells: "saturated" }, { view: "decoder", cells: "saturated" }],
    hints: [
      "The variance of a dot product grows with the number of its terms, here 64. What does softmax make of large scores?",
      "Look for rows with one weight near 1 and all others near 0, where a healthy head would have none.",
      "In the encoder's head, mark a row with one weight near 1 and nothing else: its gradient is almost 0, so it cannot learn any more.",
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
    right: '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)',
    wrong: '        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-2)',
    others: [
      { line: "        self.weights = scores.softmax(-1)", settings: { causal: false } },
      { line: "        self.weights = scores.softmax(-2)", settings: { causal: false, fault: "softmax over queries" } },
    ],
    evidence: [{ view: "cross", cells: "row sum" }, { view: "encoder", cells: "row sum" }, {
      view: "decoder",
      cells: "row sum",
    }],
    hints: [
      "The weights of a query are shares: what must they add up to?",
      "Point at the cells of a row and add up their weights; then do the same with a column.",
      "Mark a row whose weights do not add up to 1. Here each column does.",
    ],
    mistake: "Softmax goes over the queries, not over the keys",
    explanation:
      "Softmax must give each query shares of the keys, which add up to 1 in a row. Over the other axis, each key divides its weight among the queries: how much a position receives depends on the positions after it, which exist in training and not yet when the model writes.",
    source: paper("3.2.1"),
  },
  {
    id: "deaf_layers",
    title: "Two layers, and nothing comes through",
    symptom:
      "The loss gets stuck after a few dozen steps. The model repeats a letter of the input, whatever its place. With one layer, the same code nearly learns the task.",
    settings: TWO_LAYERS,
    broken: { fault: "no residual" },
    right: "        return self.norms[i](x + self.dropout(sublayer))",
    wrong: "        return self.norms[i](self.dropout(sublayer))",
    others: [
      {
        line: "        return self.norms[i](2 * self.dropout(sublayer))",
        settings: { fault: "no residual" },
      },
      { line: "        return self.dropout(self.norms[i](sublayer))", settings: { fault: "no residual" } },
    ],
    evidence: [{ view: "cross", cells: "same rows" }, { view: "decoder", cells: "same rows" }],
    hints: [
      "More layers make it worse. What lets a signal, and a gradient, pass a layer unchanged?",
      "If every position has the same state, every query asks the same. Compare the rows of a head.",
      "In cross-attention of layer 2, all rows are the same. Mark one of its cells.",
    ],
    mistake: "The residual connections are missing",
    explanation:
      "Each sublayer replaces its input where it should add to it. Attention mixes positions, so that their states become alike layer by layer, and what a token was is lost; the gradient has no direct way back either. LayerNorm hides a factor: twice the sublayer is the same.",
    source: paper("3.1"),
  },
  {
    id: "thrown_out",
    title: "Thrown out at the start",
    symptom:
      "The loss falls for ten steps, and then hardly any more. No head of cross-attention finds where to look. A lower learning rate would help, but its highest value is not the mistake.",
    settings: { ...REVERSE, n_layers: 2, learning_rate: 0.02, warmup: 100 },
    broken: { fault: "no warm-up" },
    right: "    value = RATE * min(math.sqrt(WARMUP / step), step / WARMUP)",
    wrong: "    value = RATE * min(math.sqrt(WARMUP / step), 1)",
    others: [
      { line: "    value = RATE * math.sqrt(WARMUP / step)", settings: { fault: "no warm-up, no limit" } },
      { line: "    value = RATE * min(math.sqrt(WARMUP / step), WARMUP)", settings: { fault: "no warm-up, no limit" } },
    ],
    evidence: [{ view: "rate", cells: "" }],
    hints: [
      "It goes wrong in the first steps. What is special about them?",
      "Adam's averages are worth little in the first steps, so that its steps are large and random.",
      "Look at the curve of the learning rate: where does it begin? Mark it.",
    ],
    mistake: "The warm-up is missing",
    explanation:
      "The rate should rise linearly for the first steps, then fall with 1/√step. Beginning with the highest rate, Adam takes its largest steps while its averages rest on a few batches, and throws the weights into a region where softmax is saturated and nothing can be learned.",
    source: paper("5.3"),
  },
  {
    id: "never_settles",
    title: "It never settles",
    symptom:
      "The loss falls at first, then rises and wanders, though the learning rate is moderate and warms up. What the model writes is one letter, again and again.",
    settings: { ...REVERSE, clip_norm: 0 },
    broken: { fault: "gradients not cleared" },
    right: "        optimizer.zero_grad()",
    wrong: "        model.train()",
    others: [
      { line: "        model.eval()", settings: { fault: "gradients not cleared" } },
      { line: "        loss = loss / BATCH", settings: { fault: "gradients not cleared" } },
    ],
    evidence: [{ view: "norm", cells: "" }],
    hints: [
      "The model itself is correct. What of a step is still there in the next step?",
      "Compare the curves: one of them grows where it should shrink.",
      "The norm of the gradient grows all the time. Mark its curve.",
    ],
    mistake: "The gradients are not set to 0 before the next batch",
    explanation:
      "loss.backward() adds to the gradients that are there. If they are never set to 0, each step follows the sum over all batches so far, most of them computed with weights that are long gone: the optimizer overshoots, comes back, and overshoots again.",
    source: {
      text: "PyTorch, “Zeroing out gradients”",
      url: "https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html",
    },
  },
  {
    id: "two_minds",
    title: "Two minds about the same input",
    symptom:
      "The heads look as they should, and the model is nearly right. But too many outputs are wrong, and no longer training helps.",
    settings: { ...TWO_LAYERS, dropout: 0.2, steps: 600, batch: 32 },
    broken: { fault: "dropout when writing" },
    right: "    model.eval()",
    wrong: "    torch.no_grad()",
    others: [
      { line: "    model.train()", settings: { fault: "dropout when writing" } },
      { line: "    model.zero_grad()", settings: { fault: "dropout when writing" } },
    ],
    evidence: [{ view: "outputs", cells: "" }],
    hints: [
      "Should a trained model that decodes greedily leave anything to chance?",
      "Each input is written three times. Compare.",
      "Mark an input whose three outputs are not the same.",
    ],
    mistake: "Dropout is left on when the model writes",
    explanation:
      "Dropout sets numbers to 0 at random, and only training should do that. In PyTorch, model.eval() switches it off and model.train() on; torch.no_grad() does not: it only saves the gradients.",
    source: paper("5.4"),
  },
];
