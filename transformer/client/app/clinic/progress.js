// What the visitor has done in each case, kept in this browser.

import { keep, kept } from "../trainer/kept.js";
import { CASES } from "./cases.js";

const KEPT = "bug-clinic";
const UNSOLVED = {
  expected: "",
  evidence: "",
  vagueMarks: 0,
  wrongMarks: 0,
  wrongLines: 0,
  site: -1, // of the line that the visitor chose
  wrongCorrections: 0,
  correction: "",
  hints: 0,
  seconds: 0,
  points: 0,
  tried: [],
};

/** @typedef {ReturnType<typeof makeProgress>} Progress */

export function makeProgress() {
  /** @type {{ name: string, cases: Record<string, any> }} */
  let stored = { name: "", cases: {} };
  const stateOf = (id) => stored.cases[id] ??= { ...UNSOLVED, tried: [] };
  const isSolved = ({ id }) => stateOf(id).points > 0;
  const save = () => keep(KEPT, stored);
  return {
    stateOf,
    isSolved,
    save,
    solvedNumbers: () => CASES.flatMap((given, index) => isSolved(given) ? [index + 1] : []),
    get name() {
      return stored.name;
    },
    setName(name) {
      stored.name = name;
      save();
    },
    reset() {
      stored = { name: "", cases: {} };
      save();
    },
    async load() {
      const value = await kept(KEPT);
      if (value?.cases) stored = value;
    },
  };
}
