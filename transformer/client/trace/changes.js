// Changes to a sentence as fields of the address: an edited row "c5.1.3:0x70,4x30" (head, query, keys with their
// weights in percent), masked source tokens "0,3", and a patch "encoder.hook_memory:1,2:3,4" (site, positions of this
// sentence and of the other).

import { headOfCode, LETTERS } from "../common/head-codes.js";

/** @typedef {{ kind: Kind, layer: number, head: number }} OneHead */
/** @typedef {{ head: OneHead, query: number, weights: Map<number, number> }} EditedRow */
/** @typedef {{ site: string, positions: number[], donorPositions: number[] }} Patch */

// Positions with commas; repeated ones count once.
/** @param {string} code @returns {number[]} */
export const readPositions = (code) => [...new Set(code.split(",").filter(Boolean).map(Number))];

/** @param {string} code @returns {EditedRow | null} */
export function readRow(code) {
  const match = /^([edc]\d+\.\d+)\.(\d+):(.+)$/.exec(code);
  if (!match) return null;
  const weights = match[3].split(",").map((cell) => /** @type {[number, number]} */ (cell.split("x").map(Number)));
  return { head: /** @type {OneHead} */ (headOfCode(match[1])), query: Number(match[2]), weights: new Map(weights) };
}

/** @param {EditedRow} row */
export function writeRow({ head: { kind, layer, head }, query, weights }) {
  if (!weights.size) return "";
  const cells = [...weights].sort(([a], [b]) => a - b).map(([key, weight]) => `${key}x${weight}`);
  return `${LETTERS[kind]}${layer}.${head}.${query}:${cells.join(",")}`;
}

// The weight of every key; throws an Error if an edited key does not exist.
/** @param {EditedRow} row @param {number} keys @returns {number[]} */
export function rowWeights({ query, weights }, keys) {
  const greatest = Math.max(...weights.keys());
  if (greatest >= keys) throw new Error(`Query ${query} has no key ${greatest}; its keys are 0 to ${keys - 1}.`);
  return Array.from({ length: keys }, (_, key) => weights.get(key) ?? 0);
}

/** @param {string} code @returns {Patch | null} */
export function readPatch(code) {
  const [site, positions, donorPositions] = code.split(":");
  if (donorPositions === undefined) return null;
  return { site, positions: readPositions(positions), donorPositions: readPositions(donorPositions) };
}

/** @param {Patch} patch */
export const writePatch = ({ site, positions, donorPositions }) => `${site}:${positions}:${donorPositions}`;
