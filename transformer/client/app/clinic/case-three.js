// A case of the Bug clinic without code: three models, of which one is broken.

import { paper, REVERSE } from "./case-settings.js";

/** @type {import("./case.js").Case} */
export const THREE_MODELS = {
  id: "three_models",
  title: "Which of these three is broken?",
  symptom:
    "Three models were trained to write letters backwards, b d d f f as f f d d b. Two can do it, one cannot. You need no code here: compare where they look.",
  settings: REVERSE,
  broken: { positions: "none" },
  seeds: [2, 3, 4],
  sites: [],
  evidence: [
    { view: "cross", cells: "same columns" },
    { view: "encoder", cells: "same columns" },
    { view: "encoder", cells: "same rows of a token" },
    { view: "decoder", cells: "same columns" },
  ],
  hints: [
    "Each row is a letter that the model reads while it writes, each column a letter of the input. A number is the share of its attention that a row gives to a column.",
    "A model that writes backwards looks at the last letter first: its large numbers go from the upper right to the lower left.",
    "The input b d d f f has d twice and f twice. In one model, the two columns of d have the same numbers in every row. Choose one of these columns.",
  ],
  statements: [
    {
      text: "It does not know where a letter stands, so that two equal letters look the same to it.",
      isRight: true,
      reply: "Yes: equal letters have equal columns, wherever they stand.",
    },
    {
      text: "It looks at letters that it has not written yet.",
      reply:
        "No: in the decoder's heads, all numbers to the right of the diagonal are 0, as in the other two models. This costs 1 point.",
    },
    {
      text: "It does not look at the input.",
      reply:
        "No: the columns of cross-attention are the letters of the input, and what it writes has the same letters. This costs 1 point.",
    },
    {
      text: "It gives every letter the same attention.",
      reply: "No: some letters have several times the attention of others. This costs 1 point.",
    },
  ],
  mistake: "It does not know the positions of the letters",
  explanation:
    "Attention compares each letter with all others, and nothing in this tells it which comes first: it sees a bag of letters. A Transformer therefore adds to each letter a pattern of numbers that stands for its position. This model was trained without it, so it knows which letters to write, but not in which order.",
  source: paper("3.5"),
};
