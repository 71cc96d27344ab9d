// The changes that a request names, as hooks of the model in this browser: heads off, tokens masked, a row edited,
// activations patched, in this order.

import { combineHooks, headsOf, switchedOff, toMean, uniform } from "../model/hooks.js";
import { maskedTokens, patched, replacedRow } from "../model/interventions.js";
import { headOfCode } from "../common/head-codes.js";
import { readPatch, readPositions, readRow, rowWeights } from "../trace/changes.js";

/** @typedef {import("../model/translator.js").Trace} Trace */
/** @typedef {{ off?: string, ablation?: string, edited_row?: string, masked_tokens?: string, patch?: string }} Changes */

// The fields of a request that change the model, when they change nothing.
export const UNCHANGED = { off: "", ablation: "zero", edited_row: "", masked_tokens: "", patch: "" };

// The changes that a request names, as [field, value]. Without heads the kind of their ablation is none.
/** @param {Changes} request @returns {[string, string][]} */
export const changesOf = (request) =>
  Object.entries(UNCHANGED)
    .map(([name, value]) => /** @type {[string, string]} */ ([name, request[name] ?? value]))
    .filter(([name, value]) => value !== UNCHANGED[name] && (name !== "ablation" || request.off));

// Hooks of heads that are off; `means` returns the traces over which their mean is taken.
/** @param {string} off @param {string} ablation @param {any} config @param {() => Promise<Trace[]>} means */
async function ablationHooks(off, ablation, config, means) {
  const heads = headsOf(off, config);
  if (!heads.length) return null;
  if (ablation === "uniform") return uniform(heads);
  if (ablation === "mean") return toMean(heads, (await means()).map(({ sites }) => sites));
  return switchedOff(heads);
}

// The hooks of all changes, null for none, and a sentence for each change that does not fit.
/** @param {Trace} trace of the sentence @param {Trace} donor of patched activations @param {Changes} changes @param {() => Promise<Trace[]>} means of a mean ablation */
export async function changeHooks(trace, donor, changes, means) {
  const { off = "", ablation = "zero", edited_row = "", masked_tokens = "", patch = "" } = changes;
  const steps = [
    () => ablationHooks(off, ablation, trace.config, means),
    () => masked_tokens ? maskedTokens(trace, readPositions(masked_tokens)) : null,
    () => rowHooks(trace, edited_row),
    () => patchHooks(trace, patch, donor),
  ];
  const [hooks, problems] = [[], missingHeads(off, trace.config)];
  for (const step of steps) {
    try {
      const added = await step();
      if (added) hooks.push(added);
    } catch (error) {
      problems.push(error.message);
    }
  }
  return { hooks: hooks.length ? combineHooks(...hooks) : null, problems };
}

/** @param {Trace} trace @param {string} code */
function rowHooks(trace, code) {
  const row = readRow(code);
  if (!row) return null;
  const keys = row.head.kind === "decoder" ? row.query + 1 : trace.srcTokens.length;
  return replacedRow(trace, row.head, row.query, rowWeights(row, keys));
}

/** @param {Trace} trace @param {string} code @param {Trace} donor */
function patchHooks(trace, code, donor) {
  const patch = readPatch(code);
  if (!patch || !(patch.positions.length || patch.donorPositions.length)) return null;
  return patched(trace, donor, patch.site, patch.positions, patch.donorPositions);
}

/** @param {string} off @param {any} config @returns {string[]} */
function missingHeads(off, { n_layers, n_heads }) {
  const isMissing = (code) => {
    const { kind, layer, head = 0 } = headOfCode(code);
    return !kind || !(layer < n_layers) || !(head < n_heads);
  };
  const missing = off.split(",").filter(Boolean).filter(isMissing);
  if (!missing.length) return [];
  return [
    `This model has no head ${missing.join(", ")}; counted from 0, it has layers 0 to ${n_layers - 1} and heads 0 to ${
      n_heads - 1
    }.`,
  ];
}
