// A translation in whole words, each with its attention to the source, its probability and the alternatives.

import { isControl } from "../common/naming.js";
import { argmax } from "../common/base.js";
import { HeadWeights } from "./head-weights.js";
import { layersOfKind } from "./packed-trace.js";
import { isPunctuation, wordLabels, wordNumbers } from "./words.js";

/** @typedef {import("./packed-trace.js").ViewTrace} ViewTrace */
/** @typedef {{ layer: number, head: number, weights_to: string }} Aligner weights_to: whether a target word's weights are in the row that writes it ("output") or reads it ("input") */

const UNKNOWN_WORD = "▯"; // shown for an unknown word
const MAX_STRIP_PAIRS = 2_500; // the same as in figures/glance.py

// Whether all heads fit next to the bands: by the pairs of a target and a source word.
/** @param {Pick<ViewTrace, "srcTokens" | "predictedTokens">} trace */
export const fitsStrip = ({ srcTokens, predictedTokens }) =>
  wordLabels(srcTokens).length * wordLabels(predictedTokens).length <= MAX_STRIP_PAIRS;

/** @typedef {{ text: string, p: number, step: number, ids: number[] }} WordAlternative `p` is the probability of the first piece that differs */

/**
 * @param {ViewTrace} trace with cross-attention
 * @param {{ alternatives?: WordAlternative[][], forcedPieces?: number, aligner?: Aligner | null, hasStrip?: boolean }} [options]
 *   alternatives: the alternatives of each word; forcedPieces: their number at the start of the translation; aligner: the
 *   head to show; without one, `headNearestMean` chooses it; hasStrip: whether to give the weights of all heads
 */
export function glanceData(trace, { alternatives = [], forcedPieces = 0, aligner = null, hasStrip = true } = {}) {
  const [sourceWords, targetWords] = [wordNumbers(trace.srcTokens), wordNumbers(trace.predictedTokens)];
  const count = translatedWords(trace).length;
  const to = aligner?.weights_to ?? "output";
  const layers = hasStrip || !aligner ? layersOfKind(trace, "cross") : [aligner.layer];
  const merged = layers.map((layer) => byWord(trace.weights("cross", layer), to, trace.predictedTokens, sourceWords));
  const [, words, sources] = merged[0].shape;
  const [layer, head] = aligner ? [aligner.layer, aligner.head] : headNearestMean(merged, count);
  const shown = merged[layers.indexOf(layer)];
  const row = (word) => [...shown.row(head * words + word)].map((weight) => Math.round(weight * 1e4) / 1e4);
  return {
    source: typedWords(trace.source, wordLabels(trace.srcTokens).slice(0, -1)),
    n_layers: trace.depths.cross,
    n_heads: trace.n_heads,
    head_weights: hasStrip ? allWeights(merged, count) : [],
    layer,
    head,
    to,
    ids: trace.ids,
    forced_word: forcedPieces > 0 && forcedPieces <= targetWords.length ? targetWords[forcedPieces - 1] : -1,
    words: translatedWords(trace).map((written, word) => ({
      ...written,
      weights: row(word).slice(0, sources - 1),
      end_weight: row(word)[sources - 1],
      alternatives: alternatives[word] ?? [],
    })),
  };
}

// The words of the translation with their probabilities, which are those of one decoding step each. Words are compared by
// the pieces in which they differ, because the model chooses pieces, and a product over pieces falls with their number.
/** @param {Pick<ViewTrace, "predictedTokens" | "steps">} trace @returns {{ text: string, p: number, step: number }[]} */
export function translatedWords({ predictedTokens, steps }) {
  const numbers = wordNumbers(predictedTokens);
  const labels = wordLabels(predictedTokens);
  return (predictedTokens.at(-1) === "</s>" ? labels.slice(0, -1) : labels).map((label, word) => {
    const step = decidingStep(steps, numbers, word);
    return { text: label.replaceAll("<unk>", UNKNOWN_WORD), p: steps[step].chosen.probability, step };
  });
}

// The weights of all heads, by layer, head, target word and source word.
/** @param {HeadWeights[]} layers @param {number} count number of target words */
function allWeights(layers, count) {
  const [heads, words] = layers[0].shape;
  return layers.flatMap((layer) =>
    Array.from({ length: heads * count }, (_, i) => [...layer.row(Math.floor(i / count) * words + (i % count))]).flat()
  );
}

// The step of a word at which another piece came closest: where the best piece that was not chosen is most
// probable.
/** @param {ViewTrace["steps"]} steps @param {number[]} words the number of the word that each step writes */
function decidingStep(steps, words, word) {
  const closest = ({ candidates, chosen }) =>
    Math.max(
      0,
      ...candidates.filter(({ id, token }) => id !== chosen.id && !isControl(token)).map(({ probability }) =>
        probability
      ),
    );
  const wordSteps = steps.map((_, i) => i).filter((i) => words[i] === word);
  return wordSteps.reduce((a, b) => (closest(steps[b]) > closest(steps[a]) ? b : a));
}

// Weights between words: summed over the pieces of a source word, averaged over the rows of a target word
// without those of punctuation, whose attention has other targets. With `to` "input" a token has the next row, which
// reads it.
/** @param {HeadWeights} weights @param {string} to @param {string[]} tokens @param {number[]} sourceWords */
function byWord(weights, to, tokens, sourceWords) {
  const [heads, rows] = weights.shape;
  const targetWords = wordNumbers(tokens);
  const [m, n] = [targetWords[rows - 1] + 1, sourceWords[sourceWords.length - 1] + 1];
  const merged = new HeadWeights([heads, m, n]);
  for (let word = 0; word < m; word++) {
    const all = targetWords.map((_, i) => i).filter((i) => targetWords[i] === word);
    const nonPunctuation = all.filter((i) => !isPunctuation(tokens[i]));
    const members = nonPunctuation.length ? nonPunctuation : all;
    for (let h = 0; h < heads; h++) {
      for (const i of members) {
        const row = weights.row(h * rows + (to === "input" ? Math.min(i + 1, rows - 1) : i));
        row.forEach((weight, j) => {
          merged.values[(h * m + word) * n + sourceWords[j]] += weight / members.length;
        });
      }
    }
  }
  return merged;
}

// Layer and head that agree most with the mean of all heads: the largest sum of products of its weights with
// the mean's. It only chooses the head to show first.
function headNearestMean(layers, count) {
  const [headCount, words, sources] = layers[0].shape;
  const candidates = layers.flatMap(({ values }, layer) =>
    Array.from({ length: headCount }, (_, head) => ({ position: [layer, head], values, start: head * words * sources }))
  );
  const mean = (index) =>
    candidates.reduce((sum, { values, start }) => sum + values[start + index], 0) / candidates.length;
  const scores = candidates.map(() => 0);
  for (let word = 0; word < count; word++) {
    for (let j = 0; j < sources - 1; j++) {
      const meanWeight = mean(word * sources + j);
      candidates.forEach(({ values, start }, i) => {
        scores[i] += values[start + word * sources + j] * meanWeight;
      });
    }
  }
  return candidates[argmax(scores)].position;
}

// The words as the visitor typed them, if their number matches the model's words.
function typedWords(text, labels) {
  const typed = text.trim().split(/\s+/u);
  return typed.length === labels.length ? typed : labels.map((label) => label.replaceAll("<unk>", UNKNOWN_WORD));
}
