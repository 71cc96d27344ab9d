// The settings of a run: defaults, limits, and what may change while it trains. `Settings` in protocol.d.ts explains
// each of them.

import { LETTERS } from "../common/head-codes.js";
import { FAULTS } from "./faults.js";

/** @typedef {import("./protocol.d.ts").Settings} Settings */

/** @type {Settings} */
export const DEFAULTS = {
  task: "reverse",
  options: {},
  model: "transformer",
  n_layers: 2,
  n_heads: 4,
  d_model: 64,
  d_ff: 256,
  positions: "sinusoidal",
  score: "scaled_dot",
  causal: true,
  dropout: 0,
  label_smoothing: 0,
  learning_rate: 0.003,
  warmup: 100,
  cooldown: 0.6,
  steps: 500,
  batch: 16,
  clip_norm: 1,
  weight_decay: 0,
  seed: 1,
  fault: "",
  off: "",
};

// A task is learned when this share of the held-out outputs is right.
export const LEARNED = 0.99;

// A head has found the rule of a task when this share of its weight is on the right source tokens, in the mean.
export const FOUND = 0.5;

const FIXED = ["task", "model", "n_layers", "n_heads", "d_model", "d_ff", "positions", "score", "warmup", "fault"];

// Settings that a change may contain.
export const CHANGEABLE = Object.keys(DEFAULTS).filter((name) => !FIXED.includes(name));

// Whole numbers and fractions with their smallest and greatest values.
export const LIMITS = {
  n_layers: [1, 6],
  n_heads: [1, 8],
  d_model: [8, 256],
  d_ff: [8, 1024],
  warmup: [1, 10_000],
  steps: [1, 100_000],
  batch: [1, 512],
  seed: [0, 999_999],
  dropout: [0, 0.9],
  label_smoothing: [0, 0.9],
  learning_rate: [0, 10],
  cooldown: [0, 1],
  clip_norm: [0, 1000],
  weight_decay: [0, 100],
};
const FRACTIONS = new Set(["dropout", "label_smoothing", "learning_rate", "cooldown", "clip_norm", "weight_decay"]);
const CHOICES = {
  model: ["transformer", "gru", "gru_attention"],
  positions: ["sinusoidal", "learned", "none"],
  score: ["scaled_dot", "dot", "additive"],
  causal: [true, false],
  fault: FAULTS,
};

// All settings, with defaults where none is given. Throws an error with one sentence for an impossible one.
/** @param {Partial<Settings>} given @returns {Settings} */
export function completeSettings(given, defaults = DEFAULTS) {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULTS, name)) {
      throw new RangeError(`There is no setting ${name}; the settings are ${Object.keys(DEFAULTS).join(", ")}.`);
    }
    if (name in LIMITS) {
      const [least, most] = LIMITS[name];
      const fits = typeof value === "number" && value >= least && value <= most &&
        (FRACTIONS.has(name) || Number.isInteger(value));
      if (!fits) {
        throw new RangeError(
          `${name} is ${value}; it must be a ${
            FRACTIONS.has(name) ? "number" : "whole number"
          } from ${least} to ${most}.`,
        );
      }
    }
    if (name in CHOICES && !CHOICES[name].includes(value)) {
      throw new RangeError(`${name} is ${value}; it must be one of ${CHOICES[name].join(", ")}.`);
    }
  }
  const settings = { ...defaults, ...given };
  const { d_model, n_heads, d_ff } = settings;
  if (d_model % (4 * n_heads)) {
    throw new RangeError(`d_model is ${d_model}; with ${n_heads} heads it must be a multiple of ${4 * n_heads}.`);
  }
  if (d_ff % 4) throw new RangeError(`d_ff is ${d_ff}; it must be a multiple of 4.`);
  checkOff(settings);
  return settings;
}

// The heads that are switched off must be heads of the model, each named once.
/** @param {Settings} settings */
function checkOff(settings) {
  const { off } = settings;
  if (off === "") return;
  if (typeof off !== "string") throw new RangeError(`off is ${off}; it must be a text such as c0.1.`);
  const named = new Set();
  for (const code of off.split(",")) {
    for (const head of headsNamed(code, settings)) {
      if (named.has(head)) throw new RangeError(`off names head ${head} twice; name each head once.`);
      named.add(head);
    }
  }
}

// The kinds of attention of a model, and how many layers and heads each has.
/** @param {Settings} settings @returns {{ kinds: string[], layers: number, heads: number }} */
function headCounts({ model, n_layers, n_heads }) {
  if (model === "gru") return { kinds: [], layers: 0, heads: 0 };
  if (model === "gru_attention") return { kinds: [LETTERS.cross], layers: 1, heads: 1 };
  return { kinds: Object.values(LETTERS), layers: n_layers, heads: n_heads };
}

/** @param {string} code a head or a layer @param {Settings} settings @returns {string[]} */
function headsNamed(code, settings) {
  const { kinds, layers, heads } = headCounts(settings);
  const shown = code.slice(0, 20);
  if (!kinds.length) throw new RangeError(`There is no head ${shown}; a GRU without attention has no heads.`);
  const [, letter, layer, head] = /^([a-z])(\d{1,2})(?:\.(\d{1,2}))?$/.exec(code) ?? [];
  if (!letter || !kinds.includes(letter)) {
    const examples = kinds.map((kind) => `${kind}0.0`).join(", ");
    throw new RangeError(`There is no head ${JSON.stringify(shown)}; heads are named like ${examples}.`);
  }
  if (Number(layer) >= layers || Number(head ?? 0) >= heads) {
    throw new RangeError(
      `There is no head ${code}; this model has layers 1 to ${layers} and heads 1 to ${heads}, which a code counts from 0.`,
    );
  }
  const chosen = head === undefined ? Array.from({ length: heads }, (_, i) => i) : [Number(head)];
  return chosen.map((number) => `${letter}${Number(layer)}.${number}`);
}
