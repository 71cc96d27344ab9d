// The cases of the Bug clinic with a mistake in how the model is trained, or in how it then writes.

import { paper, REVERSE, TWO_LAYERS } from "./case-settings.js";

const clearedAfter = (line) => ({
  wrong: line,
  right: [`${line}\n        optimizer.zero_grad()`],
  others: [
    { line: `${line}\n        model.train()`, settings: { fault: "gradients not cleared" } },
    { line: `${line}\n        model.eval()`, settings: { fault: "gradients not cleared" } },
  ],
});

/** @type {import("./case.js").Case[]} */
export const TRAINING_CASES = [
  {
    id: "nothing_to_learn",
    title: "Nothing left to learn",
    symptom:
      "The loss is 0 after some fifty steps, long before any head shows a pattern. What the model writes is one token, again and again.",
    settings: REVERSE,
    broken: { fault: "targets not shifted" },
    sites: [
      {
        wrong: "        tgt = gold",
        right: [
          "        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, :-1]], dim=1)",
          "        tgt = nn.functional.pad(gold[:, :-1], (1, 0), value=BOS)",
        ],
        others: [
          { line: "        tgt = gold.clone()", settings: { fault: "targets not shifted" } },
          {
            line: "        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, 1:]], dim=1)",
            settings: { fault: "targets shifted left" },
          },
        ],
      },
      {
        wrong: "        loss = loss_function(model(src, tgt).flatten(0, 1), gold.flatten())",
        right: [
          "        loss = loss_function(model(src, nn.functional.pad(tgt[:, :-1], (1, 0), value=BOS)).flatten(0, 1), gold.flatten())",
        ],
        others: [
          {
            line: "        loss = loss_function(model(src, gold).flatten(0, 1), tgt.flatten())",
            settings: { fault: "targets not shifted" },
          },
          {
            line:
              "        loss = loss_function(model(src, nn.functional.pad(tgt[:, 1:], (1, 0), value=BOS)).flatten(0, 1), gold.flatten())",
            settings: { fault: "targets shifted left" },
          },
        ],
      },
    ],
    evidence: [
      { view: "decoder", cells: "row token" },
      { view: "decoder", cells: "column token" },
      { view: "cross", cells: "row token" },
    ],
    hints: [
      "To predict is hard, to copy is easy. What would the model have to read in order to copy?",
      "The labels of the rows are what the decoder reads. Which token should be the first?",
      "The first row of a decoder head should be <s>. Choose the first row.",
    ],
    mistake: "The targets are not shifted right",
    explanation:
      "The decoder reads at each position the very token that it must predict there, so that copying its input is enough, and no attention is needed. Shifted right by one, position i reads what comes before token i. When the model writes, it begins with <s>, which it has never seen.",
    source: paper("3.1"),
  },
  {
    id: "thrown_out",
    title: "Ten good steps",
    symptom: "The loss falls for ten steps, and then hardly any more. No head of cross-attention finds where to look.",
    settings: { ...REVERSE, n_layers: 2, learning_rate: 0.02, warmup: 100 },
    broken: { fault: "no warm-up" },
    sites: [
      {
        wrong: "    value = RATE * min(math.sqrt(WARMUP / step), 1)",
        right: [
          "    value = RATE * min(math.sqrt(WARMUP / step), step / WARMUP)",
          "    value = RATE * math.sqrt(WARMUP) * min(step**-0.5, step * WARMUP**-1.5)",
        ],
        others: [
          { line: "    value = RATE * math.sqrt(WARMUP / step)", settings: { fault: "no warm-up, no limit" } },
          {
            line: "    value = RATE * min(math.sqrt(WARMUP / step), WARMUP)",
            settings: { fault: "no warm-up, no limit" },
          },
        ],
      },
      {
        wrong: "    return value * min(1, remaining / COOLDOWN) if COOLDOWN else value",
        right: ["    return value * min(1, step / WARMUP) * min(1, remaining / COOLDOWN)"],
        others: [
          { line: "    return value * min(1, remaining / COOLDOWN)", settings: { fault: "no warm-up" } },
          {
            line: "    return value * min(WARMUP, remaining / COOLDOWN, 1)",
            settings: { fault: "no warm-up" },
          },
        ],
      },
    ],
    evidence: [{ view: "rate", cells: "" }],
    hints: [
      "It goes wrong in the first steps. What is special about them?",
      "Adam's averages are worth little in the first steps, so that its steps are large and random.",
      "Look at the curve of the learning rate: where does it begin? Choose it.",
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
    sites: [
      {
        wrong: "        model.train()",
        right: ["        optimizer.zero_grad()", "        model.zero_grad()"],
        others: [
          { line: "        model.eval()", settings: { fault: "gradients not cleared" } },
          { line: "        loss = loss / BATCH", settings: { fault: "gradients not cleared" } },
        ],
      },
      ...[
        "        src, gold = batch(BATCH)",
        "        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, :-1]], dim=1)",
        "        loss = loss_function(model(src, tgt).flatten(0, 1), gold.flatten())",
        "        optimizer.step()",
      ].map(clearedAfter),
      {
        wrong: "        loss.backward()",
        right: ["        optimizer.zero_grad()\n        loss.backward()"],
        others: [
          { line: "        loss.backward()\n        optimizer.zero_grad()", settings: { learning_rate: 0 } },
          { line: "        loss.backward(retain_graph=True)", settings: { fault: "gradients not cleared" } },
        ],
      },
    ],
    evidence: [{ view: "norm", cells: "" }],
    hints: [
      "The model itself is correct. What of a step is still there in the next step?",
      "Compare the curves: one of them grows where it should shrink.",
      "The norm of the gradient grows all the time. Choose its curve.",
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
    sites: [
      {
        wrong: "    torch.no_grad()",
        right: ["    model.eval()", "    model.train(False)"],
        others: [
          { line: "    model.train()", settings: { fault: "dropout when writing" } },
          { line: "    model.zero_grad()", settings: { fault: "dropout when writing" } },
        ],
      },
      {
        wrong: "    src, gold = batch(count, held_out=True)",
        right: ["    src, gold = batch(count, held_out=True)\n    model.eval()"],
        others: [
          {
            line: "    src, gold = batch(count, held_out=True)\n    torch.no_grad()",
            settings: { fault: "dropout when writing" },
          },
          { line: "    src, gold = batch(count)", settings: { fault: "dropout when writing" } },
        ],
      },
      {
        wrong: "    written = decode(model, src, gold.shape[1])",
        right: ["    written = decode(model.eval(), src, gold.shape[1])"],
        others: [
          {
            line: "    written = decode(model.train(), src, gold.shape[1])",
            settings: { fault: "dropout when writing" },
          },
          {
            line: "    with torch.no_grad():\n        written = decode(model, src, gold.shape[1])",
            settings: { fault: "dropout when writing" },
          },
        ],
      },
    ],
    evidence: [{ view: "outputs", cells: "" }],
    hints: [
      "Should a trained model that decodes greedily leave anything to chance?",
      "Each input is written three times. Compare.",
      "Choose an input whose three outputs are not the same.",
    ],
    mistake: "Dropout is left on when the model writes",
    explanation:
      "Dropout sets numbers to 0 at random, and only training should do that. In PyTorch, model.eval() switches it off and model.train() on; torch.no_grad() does not: it only spares the computation of gradients.",
    source: paper("5.4"),
  },
];
