// A saved model's file, and pasted sentence pairs.

import { readHeader, readSafetensors } from "../../model/safetensors.js";
import { weightsInOrder } from "../../training/checkpoint.js";
import { readPairs, symbolsOf } from "../../training/pair-text.js";
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

// Sentence pairs from a text field, as symbols. Throws one sentence if they are not.
/** @param {string} text @returns {import("../../training/protocol.d.ts").PairData} */
export function pairsOf(text) {
  const pairs = readPairs(text);
  if (pairs.length < MIN_PAIRS || pairs.length > MAX_PAIRS) {
    throw new RangeError(
      `There are ${pairs.length} sentence pairs; paste from ${MIN_PAIRS} to ${MAX_PAIRS.toLocaleString("en")}.`,
    );
  }
  const symbols = (sentence) => symbolsOf(sentence).join(" ");
  return { train: pairs.map(([src, tgt]) => /** @type {[string, string]} */ ([symbols(src), symbols(tgt)])) };
}
const [MIN_PAIRS, MAX_PAIRS] = [20, 5000];
