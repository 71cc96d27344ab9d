// The built-in tasks, by the rules of Python's transformer/text/tasks/: the same examples with the same links. Which of
// them a seed draws is not the same as in Python, whose generator (random.Random) is not reproduced here, and the
// cipher's alphabets differ for that reason.
//
// A task divides its examples into strata, such as the lengths. A stratum has a size, a weight and a function that draws
// one of its examples, all with the same probability. An example is [source, target, links]: symbols, and pairs of a
// source and a target position.

import { Random } from "./random.js";

/**
 * @typedef {[string[], string[], [number, number][] | null]} TaskExample
 * @typedef {{ size: number, weight: number, draw: (random: Random) => TaskExample }} Stratum
 * @typedef {{ title: string, symbols: string[], options: Record<string, [number, number, number]>, training: Partial<import("./protocol.d.ts").Settings>, validShare?: number, pairsFile?: string, strata: (options: Record<string, number>) => Stratum[] }} Task
 */

const ALPHABET = [..."abcdefghijklmnopqrstuvwxyz"];
const DIGITS = [..."0123456789"];
const MONTHS = "january february march april may june july august september october november december".split(" ");
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const [OPENING, CLOSING] = ["([{", ")]}"];
const FIRST_DAY = Date.UTC(2000, 0, 1);
const DAY = 86_400_000; // milliseconds
const MAX_MODULUS = 59;

const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
const product = (from, to) => range(from, to + 1).reduce((a, b) => a * b, 1);
const options = (longest, letters) => ({
  longest: /** @type {[number, number, number]} */ ([1, 20, longest]),
  letters: /** @type {[number, number, number]} */ ([2, 26, letters]),
});

// Strata of the lengths from 1 on, of sequences of letters that may repeat.
/** @param {Record<string, number>} chosen @param {(src: string[]) => TaskExample} example */
function lettersByLength({ longest, letters }, example) {
  return range(1, longest + 1).map((length) => ({
    size: letters ** length,
    weight: 1,
    draw: (random) => example(Array.from({ length }, () => ALPHABET[random.below(letters)])),
  }));
}

// The example whose target symbol j is aligned with source symbol order[j].
/** @returns {TaskExample} */
const aligned = (src, order, tgt) => [src, tgt, order.map((i, j) => [i, j])];

const distinctLetters = (random, length) => random.shuffle([...ALPHABET]).slice(0, length);

function dateExample(style, number) {
  const date = new Date(FIRST_DAY + number * DAY);
  const iso = date.toISOString().slice(0, 10);
  const [digits, year] = [[...String(date.getUTCDate())], [...iso.slice(0, 4)]];
  const month = MONTHS[date.getUTCMonth()];
  const src = style === 1
    ? [month, ...digits, ",", ...year]
    : [...(style === 2 ? [WEEKDAYS[date.getUTCDay()], ","] : []), ...digits, month, ...year];
  const monthAt = src.indexOf(month);
  const dayAt = style === 1 ? monthAt + 1 : monthAt - digits.length;
  const links = [
    ...range(0, 4).map((k) => [src.length - 4 + k, k]),
    [monthAt, 5],
    [monthAt, 6],
    ...digits.map((_, k) => [dayAt + k, 10 - digits.length + k]),
  ];
  return [src, [...iso], links];
}

const countNumbers = (digits) => (digits === 1 ? 10 : 9 * 10 ** (digits - 1));
const drawNumber = (random, digits) => random.below(countNumbers(digits)) + (digits === 1 ? 0 : 10 ** (digits - 1));

// How many paths of `steps` steps up or down go from `height` to `end`, never below 0.
const pathCounts = new Map();
function countPaths(steps, height, end) {
  if (height < 0 || Math.abs(end - height) > steps) return 0;
  if (steps === 0) return 1;
  const key = (steps * 32 + height) * 32 + end;
  if (!pathCounts.has(key)) {
    pathCounts.set(key, countPaths(steps - 1, height + 1, end) + countPaths(steps - 1, height - 1, end));
  }
  return pathCounts.get(key);
}

/** @returns {TaskExample} */
function bracketExample(random, kinds, length, end) {
  const src = [];
  const unclosed = []; // position and kind
  for (let position = 0; position < length; position++) {
    const up = countPaths(length - position - 1, unclosed.length + 1, end);
    const down = countPaths(length - position - 1, unclosed.length - 1, end);
    if (random.below(up + down) < up) {
      unclosed.push([position, random.below(kinds)]);
      src.push(OPENING[unclosed.at(-1)[1]]);
    } else src.push(CLOSING[unclosed.pop()[1]]);
  }
  unclosed.reverse();
  return aligned(src, unclosed.map(([position]) => position), unclosed.map(([, kind]) => CLOSING[kind]));
}

/** @returns {TaskExample} */
function inductionExample(random, length) {
  const letters = distinctLetters(random, length);
  const start = random.below(length - 1);
  return aligned([...letters, "|", letters[start]], range(start + 1, length), letters.slice(start + 1));
}

// A permutation of the alphabet with a single cycle, so that no letter stays the same.
export function substitution(key) {
  const circle = new Random(key).shuffle([...ALPHABET]);
  return Object.fromEntries(circle.map((letter, i) => [letter, circle[(i + 1) % 26]]));
}

/** @type {Record<string, Task>} */
export const TASKS = {
  reverse: {
    title: "Reverse a sequence",
    symbols: ALPHABET,
    options: options(10, 10),
    training: {},
    strata: (chosen) =>
      lettersByLength(chosen, (src) => aligned(src, range(0, src.length).reverse(), [...src].reverse())),
  },
  copy: {
    title: "Copy a sequence",
    symbols: ALPHABET,
    options: options(10, 10),
    training: {},
    strata: (chosen) => lettersByLength(chosen, (src) => aligned(src, range(0, src.length), src)),
  },
  sort: {
    title: "Sort letters",
    symbols: ALPHABET,
    options: { longest: [1, 20, 8] },
    training: { steps: 800 },
    strata: ({ longest }) =>
      range(1, longest + 1).map((length) => ({
        size: product(27 - length, 26),
        weight: 1,
        draw: (random) => {
          const src = distinctLetters(random, length);
          const order = range(0, length).sort((a, b) => (src[a] < src[b] ? -1 : 1));
          return aligned(src, order, order.map((i) => src[i]));
        },
      })),
  },
  cipher: {
    title: "Substitution cipher",
    symbols: ALPHABET,
    options: { ...options(10, 26), key: [0, 9999, 1] },
    training: {},
    strata: (chosen) => {
      const table = substitution(chosen.key);
      return lettersByLength(chosen, (src) => aligned(src, range(0, src.length), src.map((letter) => table[letter])));
    },
  },
  induction: {
    title: "Continue a sequence (induction)",
    symbols: [...ALPHABET, "|"],
    options: { max_letters: [2, 20, 6] },
    training: { steps: 1500, batch: 48, learning_rate: 0.004 },
    strata: (chosen) =>
      range(2, chosen.max_letters + 1).map((length) => ({
        size: product(27 - length, 26) * (length - 1),
        weight: 1,
        draw: (random) => inductionExample(random, length),
      })),
  },
  dates: {
    title: "Dates to ISO form",
    symbols: [...DIGITS, ",", "-", ...MONTHS, ...WEEKDAYS.slice(1), "sunday"],
    options: { styles: [1, 3, 3], years: [1, 100, 100] },
    training: { steps: 800 },
    strata: ({ styles, years }) =>
      range(0, styles).map((style) => {
        const size = (Date.UTC(2000 + years, 0, 1) - FIRST_DAY) / DAY;
        return {
          size,
          weight: 1,
          draw: (random) => /** @type {TaskExample} */ (dateExample(style, random.below(size))),
        };
      }),
  },
  addition: {
    title: "Add two numbers",
    symbols: ["+", ...DIGITS],
    options: { digits: [1, 8, 3], least_first: [0, 1, 0] },
    training: { steps: 2000, batch: 64, learning_rate: 0.004 },
    strata: ({ digits, least_first }) =>
      range(1, digits + 1).flatMap((first) =>
        range(1, digits + 1).map((second) => ({
          size: countNumbers(first) * countNumbers(second),
          weight: 1,
          draw: (random) => {
            const [a, b] = [drawNumber(random, first), drawNumber(random, second)];
            const total = [...String(a + b)];
            return [[...`${a}+${b}`], least_first ? total.reverse() : total, null];
          },
        }))
      ),
  },
  brackets: {
    title: "Close the brackets",
    symbols: [...OPENING, ...CLOSING],
    options: { longest: [1, 20, 10], kinds: [1, 3, 3] },
    training: { steps: 1500 },
    strata: ({ longest, kinds }) =>
      range(1, longest + 1).flatMap((length) => {
        const ends = range(1, length + 1).filter((end) => (length - end) % 2 === 0); // at least one is left open
        return ends.map((end) => ({
          size: countPaths(length, 0, end) * kinds ** ((length + end) / 2),
          weight: 1 / ends.length,
          draw: (random) => bracketExample(random, kinds, length, end),
        }));
      }),
  },
  modular: {
    title: "Subtract modulo p (grokking)",
    symbols: ["-", ...range(0, MAX_MODULUS).map((number) => `n${number}`)],
    options: { modulus: [5, MAX_MODULUS, 23] },
    validShare: 0.3,
    training: {
      steps: 3000,
      batch: 370,
      n_layers: 1,
      learning_rate: 0.004,
      warmup: 1000,
      cooldown: 0,
      weight_decay: 2,
    },
    strata: ({ modulus }) => [{
      size: modulus ** 2,
      weight: 1,
      draw: (random) => {
        const [a, b] = [random.below(modulus), random.below(modulus)];
        return [[`n${a}`, "-", `n${b}`], [`n${(a - b + modulus) % modulus}`], null];
      },
    }],
  },
  // Its pairs are those of transformer/text/tasks/french.tsv.
  french: {
    title: "English to French, a small grammar",
    symbols: [],
    options: {},
    training: { steps: 1200, batch: 64, learning_rate: 0.004 },
    pairsFile: "french-pairs.js",
    strata: () => [],
  },
};

// All options of a task with their values. Throws an error with one sentence for an impossible one.
/** @param {Task} task @param {Record<string, number>} given */
export function completeOptions(task, given) {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(task.options, name)) {
      throw new RangeError(`The task has no option ${name}; it has ${Object.keys(task.options).join(", ") || "none"}.`);
    }
    const [least, most] = task.options[name];
    if (!(Number.isInteger(value) && value >= least && value <= most)) {
      throw new RangeError(`${name} is ${value}; it must be a whole number from ${least} to ${most}.`);
    }
  }
  return { ...Object.fromEntries(Object.entries(task.options).map(([name, [, , value]]) => [name, value])), ...given };
}

// `count` examples with different sources in random order; every stratum gives its share by weight, or all it has.
/** @param {Stratum[]} strata @param {number} count @param {Random} random @returns {TaskExample[]} */
export function drawExamples(strata, count, random) {
  const counts = shares(strata, count);
  const drawn = strata.map((stratum, i) => {
    const bySource = new Map();
    while (bySource.size < counts[i]) {
      const example = stratum.draw(random);
      bySource.set(example[0].join(" "), example);
    }
    return [...bySource.values()];
  });
  return random.shuffle(drawn.flat());
}

// How many examples each stratum gives: those that are smaller than their share give all, and the others share the rest.
function shares(strata, count) {
  const counts = strata.map(() => 0);
  let open = strata.map((_, i) => i);
  for (let left = count; open.length;) {
    const unit = left / open.reduce((sum, i) => sum + strata[i].weight, 0);
    const full = open.filter((i) => strata[i].size <= strata[i].weight * unit);
    for (const i of full.length ? full : open) {
      counts[i] = Math.min(strata[i].size, Math.floor(strata[i].weight * unit));
    }
    left -= full.reduce((sum, i) => sum + strata[i].size, 0);
    open = full.length ? open.filter((i) => !full.includes(i)) : [];
  }
  for (let i = 0, missing = count - counts.reduce((a, b) => a + b, 0); missing > 0 && i < 2 * strata.length; i++) {
    const k = i % strata.length;
    if (counts[k] < strata[k].size) {
      counts[k]++;
      missing--;
    }
  }
  return counts;
}
