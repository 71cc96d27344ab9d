// The training and held-out pairs of a run as ids: of a built-in task, or sentence pairs given as text.

import { normalised } from "./pair-text.js";
import { Random } from "./random.js";
import { completeOptions, drawExamples, TASKS } from "./tasks.js";

export const SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"];
const [BOS, EOS, UNKNOWN] = [1, 2, 3];
const TRAIN_PAIRS = 10_000;
const VALID_PAIRS = 500;
const MAX_PAIRS = 20_000;
const MAX_SYMBOLS = 2000;
const MAX_LENGTH = 64; // symbols of a sentence
const DATA_SEED = 20170612; // the pairs are the same for every seed of a run, so that runs can be compared

/** @typedef {{ src: number[], tgt: number[], links: [number, number][] | null }} IdPair `</s>` last on both sides */
/**
 * @typedef {{ symbols: string[], train: IdPair[], valid: IdPair[], linked: boolean, unseen?: { words: number, pairs: number },
 *   repeats?: number }} RunData symbols include the special ones; `unseen` are words of held-out pairs that no training pair
 *   has; `repeats` counts pairs whose source another pair has, too
 */

/** @param {import("./protocol.d.ts").Settings} settings @param {import("./protocol.d.ts").PairData} [given] @returns {RunData} */
export function makeData(settings, given) {
  if (given) return pairData(given);
  const task = TASKS[settings.task];
  if (!task) throw new RangeError(`There is no task ${settings.task}; the tasks are ${Object.keys(TASKS).join(", ")}.`);
  if (task.pairsFile) throw new RangeError(`The sentence pairs of ${settings.task} are missing.`);
  const strata = task.strata(completeOptions(task, settings.options));
  const available = strata.reduce((sum, { size }) => sum + size, 0);
  const validCount = task.validShare
    ? Math.round(task.validShare * available)
    : Math.min(VALID_PAIRS, Math.floor(available / 10));
  const trainCount = Math.min(TRAIN_PAIRS, available - validCount);
  if (Math.min(validCount, trainCount) < 1) {
    throw new RangeError(`With these options the task has only ${available} examples; at least 10 are needed.`);
  }
  const symbols = [...SPECIAL, ...task.symbols];
  const encode = encoder(symbols);
  const examples = drawExamples(strata, trainCount + validCount, new Random(DATA_SEED));
  const toIds = ([src, tgt, links]) => ({ src: [...src.map(encode), EOS], tgt: [...tgt.map(encode), EOS], links });
  const pairs = examples.map(toIds);
  return {
    symbols,
    train: pairs.slice(validCount),
    valid: pairs.slice(0, validCount),
    linked: examples.every(([, , links]) => links !== null),
  };
}

// Sentence pairs as text, symbols separated by spaces. Without held-out pairs, every tenth is held out.
/** @param {import("./protocol.d.ts").PairData} given @returns {RunData} */
function pairData({ train, valid, symbols: fixed }) {
  if (!Array.isArray(train) || !train.length) throw new RangeError("There are no sentence pairs; give at least 2.");
  if (train.length > MAX_PAIRS) {
    throw new RangeError(`There are ${train.length} sentence pairs; at most ${MAX_PAIRS} can be trained on.`);
  }
  const split = (text) => text.split(/\s+/u).filter(Boolean);
  const all = [...train, ...(valid ?? [])].map(([src, tgt, links], i) => {
    const pair = { src: split(String(src ?? "")), tgt: split(String(tgt ?? "")), links: links ?? null };
    if (!pair.src.length || !pair.tgt.length) {
      throw new RangeError(`Pair ${i + 1} has only one side; each needs a source and a target.`);
    }
    const longest = Math.max(pair.src.length, pair.tgt.length);
    if (longest > MAX_LENGTH) {
      throw new RangeError(`Pair ${i + 1} has ${longest} words; a sentence can have at most ${MAX_LENGTH}.`);
    }
    return pair;
  });
  const symbols = [...SPECIAL, ...(fixed ?? [...new Set(all.flatMap(({ src, tgt }) => [...src, ...tgt]))].sort())];
  if (symbols.length > MAX_SYMBOLS) {
    throw new RangeError(
      `The pairs have ${symbols.length - SPECIAL.length} different words; at most ${
        MAX_SYMBOLS - SPECIAL.length
      } can be learned here.`,
    );
  }
  const encode = encoder(symbols);
  const pairs = all.map(({ src, tgt, links }) => ({
    src: [...src.map(encode), EOS],
    tgt: [...tgt.map(encode), EOS],
    links,
  }));
  const dataOf = (train, valid) => ({
    symbols,
    train,
    valid,
    linked: valid.every(({ links }) => links !== null),
    unseen: unseenIn(valid, train),
  });
  if (valid) return dataOf(pairs.slice(0, train.length), pairs.slice(train.length));
  if (pairs.length < 2) throw new RangeError("There is 1 sentence pair; at least 2 are needed, as some are held out.");
  new Random(DATA_SEED).shuffle(pairs);
  const sourceOf = ({ src }) => normalised(src.map((id) => symbols[id]).join(" "));
  const sources = pairs.map(sourceOf);
  const held = heldOutSources(sources);
  const isHeld = (pair) => held.has(sourceOf(pair));
  const repeats = sources.length - new Set(sources).size;
  return { ...dataOf(pairs.filter((pair) => !isHeld(pair)), pairs.filter(isHeld)), repeats };
}

// What no training pair has: a model cannot write such a word.
/** @param {IdPair[]} valid @param {IdPair[]} train */
function unseenIn(valid, train) {
  const seen = new Set(train.flatMap(({ src, tgt }) => [...src, ...tgt]));
  const unseen = valid.map(({ src, tgt }) => [...src, ...tgt].filter((id) => !seen.has(id)));
  return { words: new Set(unseen.flat()).size, pairs: unseen.filter(({ length }) => length).length };
}

// The sources whose pairs are held out: those of the first tenth. All pairs with one source stay together: else a
// held-out pair could be a training pair. A source with more than a tenth of all pairs is held out only if there is no other.
/** @param {string[]} sources of the shuffled pairs @returns {Set<string>} */
function heldOutSources(sources) {
  const counts = new Map();
  for (const source of sources) counts.set(source, (counts.get(source) ?? 0) + 1);
  if (counts.size < 2) {
    throw new RangeError(
      `All ${sources.length} sentence pairs have the same source; at least 2 sources are needed, as one is held out.`,
    );
  }
  const most = Math.min(VALID_PAIRS, Math.ceil(sources.length / 10));
  const small = sources.slice(0, most).filter((source) => counts.get(source) <= most);
  const rarest = [...counts.keys()].reduce((a, b) => counts.get(b) < counts.get(a) ? b : a);
  return new Set(small.length ? small : [rarest]);
}

/** @param {string[]} symbols @returns {(symbol: string) => number} */
export function encoder(symbols) {
  const ids = new Map(symbols.map((symbol, id) => [symbol, id]));
  return (symbol) => ids.get(symbol) ?? UNKNOWN;
}

// What the decoder reads of a target: shifted right by one, it begins with `<s>` (section 3.1).
/** @param {number[]} tgt @param {"right" | "not" | "left"} shifted */
export const decoderInput = (tgt, shifted = "right") =>
  shifted === "not" ? tgt : [BOS, ...(shifted === "right" ? tgt.slice(0, -1) : tgt.slice(1))];

// Pairs end to end, as the model reads them on a tape: `starts` are the first rows of each.
/** @param {IdPair[]} pairs */
export function packPairs(pairs, shifted = /** @type {"right" | "not" | "left"} */ ("right")) {
  const starts = (side) => {
    const rows = new Int32Array(pairs.length + 1);
    pairs.forEach((pair, i) => {
      rows[i + 1] = rows[i] + pair[side].length;
    });
    return rows;
  };
  return {
    sources: pairs.flatMap(({ src }) => src),
    sourceStarts: starts("src"),
    targets: pairs.flatMap(({ tgt }) => decoderInput(tgt, shifted)),
    gold: pairs.flatMap(({ tgt }) => tgt),
    targetStarts: starts("tgt"),
  };
}
