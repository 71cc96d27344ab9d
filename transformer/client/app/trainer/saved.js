// A saved model's file, and pasted sentence pairs.

import { readHeader, readSafetensors } from "../../model/safetensors.js";
import { weightsInOrder } from "../../training/checkpoint.js";
import { LIMITS } from "../../training/settings.js";
import { allSettings, readLink } from "./link.js";

// The runs of a model's file, and the state of the last one; its optimizer begins again without averages. Throws one
// sentence if the page cannot go on from the file.
/** @param {Uint8Array<ArrayBuffer>} bytes */
export function readModelFile(bytes) {
  const saved = savedRun(readHeader(bytes).header.__metadata__);
  const planned = readLink(saved.link);
  const settings = allSettings(planned, planned.length - 1);
  const weights = weightsInOrder(readSafetensors(bytes), settings);
  if (!weights.every(Number.isFinite)) throw new RangeError("The file has weights that are not finite numbers.");
  const [firstMoment, secondMoment] = [new Float32Array(weights.length), new Float32Array(weights.length)];
  const { step, pairs } = saved;
  return { planned, pairs, state: { step, weights, firstMoment, secondMoment, drawn: step * settings.batch } };
}

/** @param {any} metadata @returns {import("../../training/protocol.d.ts").SavedRun} */
function savedRun(metadata) {
  try {
    const { link, step, pairs } = JSON.parse(metadata.run);
    const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string");
    if (typeof link === "string" && Number.isInteger(step) && 0 <= step && step <= LIMITS.steps[1]) {
      if (pairs === null) return { link, step, pairs };
      if (pairs.train.every(isPair)) return { link, step, pairs: { train: pairs.train } };
    }
  } catch { /* as below */ }
  throw new RangeError("The file does not say how its model was trained: open one that “Save the model” has written.");
}

// Sentence pairs, one a line with a tab between the sentences, from a text field. Throws one sentence if they are not.
/** @param {string} text @returns {import("../../training/protocol.d.ts").PairData} */
export function pairsOf(text) {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim()).filter(Boolean);
  if (!lines.length) {
    throw new RangeError(
      "There are no sentence pairs yet: paste one pair a line, with a tab between the two sentences.",
    );
  }
  const pairs = lines.map((line) => line.split("\t").map((part) => part.trim()));
  const wrong = pairs.findIndex((pair) => pair.length !== 2 || !pair[0] || !pair[1]);
  if (wrong >= 0) {
    throw new RangeError(
      `Line ${wrong + 1} is ${
        JSON.stringify(lines[wrong].slice(0, 40))
      }; it must be a sentence, a tab and its translation.`,
    );
  }
  // As in transformer/text/pair_formats.py: numbers may be translated into words, but not into sentences.
  const counts = pairs.every(([source], i) => /^\d+$/.test(source) && (!i || Number(source) > Number(pairs[i - 1][0])));
  if (counts && pairs.flatMap(([_, target]) => target.split(/\s+/)).length >= 3 * pairs.length) {
    throw new RangeError(
      `Line 1 is ${JSON.stringify(lines[0].slice(0, 40))}; the first column counts the lines: remove it.`,
    );
  }
  if (lines.length < MIN_PAIRS || lines.length > MAX_PAIRS) {
    throw new RangeError(
      `There are ${lines.length} sentence pairs; paste from ${MIN_PAIRS} to ${MAX_PAIRS.toLocaleString("en")}.`,
    );
  }
  const words = (sentence) => sentence.match(/[\p{L}\p{M}\p{N}]+['’]?|[^\s\p{L}\p{M}\p{N}]/gu)?.join(" ") ?? "";
  return { train: pairs.map(([src, tgt]) => /** @type {[string, string]} */ ([words(src), words(tgt)])) };
}
const [MIN_PAIRS, MAX_PAIRS] = [20, 5000];
