// The first page's animation: the first new word, positions of bands, and sentences.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bandsOf,
  firstDifference,
  leastCertain,
  stepDuration,
  stepSentence,
  strongest,
  unsureWords,
  withoutPunctuation,
} from "../../../transformer/client/views/glance/glance-playback.js";
import { twoPercents, wholePercent } from "../../../transformer/client/common/numbers.js";
import { decidingHead, decidingSentence } from "../../../transformer/client/views/glance/glance-deciding.js";
import { mistakeIn } from "../../../transformer/client/views/glance/glance-least.js";
import { changeOf, withHead } from "../../../transformer/client/views/glance/glance-strip.js";
import { random } from "./fixtures.js";

const word = (weights, p = 0.9, endWeight = 0, alternatives = []) => ({
  text: "w",
  p,
  weights,
  end_weight: endWeight,
  alternatives,
});

test("the first new word is where two translations differ", () => {
  assert.equal(firstDifference([], ["Je"]), 0);
  assert.equal(firstDifference(["Je", "suis"], ["Je", "vais"]), 1);
  assert.equal(firstDifference(["Je", "suis"], ["Je", "suis"]), 2);
  assert.equal(firstDifference(["Je", "suis"], ["Je"]), 1);
});

test("many words are animated faster, and even faster while typing", () => {
  for (const count of [0, 1, 3, 10, 40, 200]) assert.ok(stepDuration(count, true) < stepDuration(count, false));
  assert.ok(stepDuration(30, false) < stepDuration(3, false));
});

test("bands do not overlap at either end", () => {
  const draw = random(5);
  const words = Array.from({ length: 5 }, () => {
    const raw = Array.from({ length: 6 }, draw);
    const sum = raw.reduce((a, b) => a + b);
    return word(raw.map((x) => x / sum));
  });
  const bands = bandsOf(words, 0.1);
  assert.ok(bands.length > 5);
  assert.ok(bands.every(({ weight, source, target }) => weight >= 0.1 && weight === words[target].weights[source]));
  for (const [side, end] of [["target", "targetOffset"], ["source", "sourceOffset"]]) {
    for (let i = 0; i < 6; i++) {
      const group = bands.filter((band) => band[side] === i).sort((a, b) => a[end] - b[end]);
      const totalWidth = group.reduce((sum, { weight }) => sum + weight, 0);
      let edge = -totalWidth / 2;
      for (const band of group) {
        assert.ok(Math.abs(band[end] - band.weight / 2 - edge) < 1e-12);
        edge = band[end] + band.weight / 2;
      }
      assert.ok(Math.abs(edge - totalWidth / 2) < 1e-12);
    }
  }
});

test("a sentence says where the head looks, and when it is unsure", () => {
  const text = (parts) =>
    parts.map((part) => (typeof part === "string" ? part : "source" in part ? `<${part.source}>` : `[${part.target}]`))
      .join("");
  const data = {
    words: [
      word([0.1, 0.9]),
      word([0.5, 0.4]),
      word([0.2, 0.1], 0.5, 0.7),
      word([0.4, 0.1, 0.1]),
      word([0.3, 0.29, 0.05]),
    ],
  };
  assert.equal(text(stepSentence(data, 0)), "The model writes [0] (90%); this head attends to <1> (90%).");
  assert.equal(text(stepSentence(data, 1)), "The model writes [1] (90%); this head attends to <0> and to <1>.");
  assert.equal(
    text(stepSentence(data, 2)),
    "The model writes [2] (50%); this head attends mostly to the end of the sentence (70%).",
  );
  assert.equal(
    text(stepSentence(data, 3)),
    "The model writes [3] (90%); this head is unsure: it attends to many words, most to <0> (40%).",
  );
  assert.equal(
    text(stepSentence(data, 4)),
    "The model writes [4] (90%); this head is unsure: it attends to many words, most to <0> (30%).",
  );
  assert.equal(
    text(stepSentence({ ...data, to: "input" }, 0)),
    "The model writes [0] (90%); just after, this head attends to <1> (90%).",
  );
  assert.equal(unsureWords(data.words), 2);
});

test("the sentences call a head unsure for the words that the caption counts", () => {
  for (let run = 0; run < 2000; run++) {
    const weights = Array.from({ length: 1 + run % 6 }, () => Math.random() ** 3);
    const sum = weights.reduce((a, b) => a + b) + Math.random();
    const data = { words: [word(weights.map((weight) => weight / sum), 0.5, Math.random() / 2)] };
    const sentence = stepSentence(data, 0).filter((part) => typeof part === "string").join("");
    assert.equal(sentence.includes("unsure"), unsureWords(data.words) === 1, sentence);
    const percent = Number(/(\d+)%\)\.$/.exec(sentence)?.[1] ?? 0);
    if (percent) assert.equal(percent < 50, sentence.includes("unsure"), sentence);
  }
});

test("percentages are rounded and punctuation is removed", () => {
  assert.deepEqual([1, 0.996, 0.734, 0.01, 0.004, 0].map(wholePercent), ["100%", "> 99%", "73%", "1%", "< 1%", "0%"]);
  assert.deepEqual(["étudiant.", "?", "l'eau", "été)."].map(withoutPunctuation), ["étudiant", "?", "l'eau", "été"]);
  assert.deepEqual(strongest([0.2, 0.5, 0.2]), [1, 0, 2]);
});

test("the least certain word has letters and was not forced", () => {
  const words = [word([1], 0.6), { ...word([1], 0.1), text: "?" }, word([1], 0.2), word([1], 0.7)];
  assert.equal(leastCertain(words), 2);
  assert.equal(leastCertain(words, 2), 0);
  assert.equal(leastCertain([words[1]]), -1);
});

test("the head that decides about a word is the one without which its probability changes most", () => {
  const lossOf = (before, after) => Math.log(before / after);
  const losses = [["e0.1", lossOf(0.5, 0.45)], ["c4.0", lossOf(0.5, 0.05)], ["d2.3", lossOf(0.5, 0.7)]];
  const { code, before, after } = decidingHead(losses, 0.5);
  assert.deepEqual([code, before, after.toFixed(6)], ["c4.0", 0.5, "0.050000"]);
  assert.equal(
    decidingSentence(decidingHead(losses, 0.5)),
    "Cross-attention, layer 5, head 1, decides most, for this word: without it the probability falls from 50% to 5%.",
  );
  assert.match(
    decidingSentence(decidingHead([losses[2]], 0.5)),
    /layer 3, head 4, .* against this word: .* rises from 50% to 70%/,
  );
  assert.match(decidingSentence(decidingHead([["c0.0", 0]], 0.5)), /^No single head/);
  assert.equal(decidingHead([], 0.5), null);
});

test("a known mistake is explained only where the translation makes it", () => {
  const mistakes = [{ text: "A b.", wrong: "c'est", note: "…" }];
  const words = [{ text: "mais", p: 0.5 }, { text: "c'est.", p: 0.4 }];
  assert.equal(mistakeIn({ mistakes, text: "A b.", words }).word, 1);
  assert.equal(mistakeIn({ mistakes, text: "A b.", words: words.slice(0, 1) }), null);
  assert.equal(mistakeIn({ mistakes, text: "Another one.", words }), null);
});

test("a pointed head brings its own weights", () => {
  const data = {
    n_layers: 2,
    n_heads: 2,
    layer: 0,
    head: 0,
    source: ["a", "b"],
    words: [word([0.9, 0.1]), word([0.2, 0.8])],
  };
  data.head_weights = Array.from({ length: 2 * 2 * 2 * 3 }, (_, i) => i);
  const { words, layer, head } = withHead(data, { layer: 1, head: 0 });
  assert.deepEqual([layer, head], [1, 0]);
  assert.deepEqual(words.map(({ weights, end_weight }) => [...weights, end_weight]), [[12, 13, 14], [15, 16, 17]]);
  assert.equal(withHead(data, null), data);
  assert.equal(withHead({ ...data, head_weights: [] }, { layer: 1, head: 0 }).layer, 0);
});

test("the effect of switched-off heads is another translation, or the largest change of a probability", () => {
  const before = [{ text: "Je", p: 0.9 }, { text: "suis", p: 0.5 }, { text: "là.", p: 0.8 }];
  const after = [{ text: "Je", p: 0.8 }, { text: "suis", p: 0.9 }, { text: "là.", p: 0.79 }];
  assert.deepEqual(changeOf(before, after), { isSame: true, text: "suis", before: 0.5, after: 0.9 });
  assert.equal(changeOf(before, after.slice(1)).isSame, false);
  assert.equal(changeOf(before, [before[0], before[1], { text: "ici.", p: 0.8 }]).isSame, false);
});

test("two probabilities are written so that they differ, or not at all", () => {
  const number = (text) => Number(text.replace(/[<>% ]/g, ""));
  const next = random(7);
  for (let i = 0; i < 2000; i++) {
    const before = next();
    const after = Math.min(1, Math.max(0, before + (next() - 0.5) * 10 ** -(i % 5)));
    const texts = twoPercents(before, after);
    if (!texts) assert.ok(Math.abs(before - after) < 1e-3, `${before} ${after}`);
    else {
      assert.notEqual(texts[0], texts[1]);
      if (number(texts[0]) !== number(texts[1])) assert.equal(number(texts[0]) < number(texts[1]), before < after);
    }
  }
});
