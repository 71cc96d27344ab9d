// What a case of the Bug clinic has, and its PyTorch file with or without the mistake.

import { completeSettings } from "../../training/settings.js";
import { completeOptions, TASKS } from "../../training/tasks.js";
import { scriptFor } from "../trainer/script.js";

/**
 * @typedef {Partial<import("../../training/protocol.d.ts").Settings>} Settings
 * @typedef {{ view: string, cells: string }} Evidence names in VIEWS and PREDICATES of evidence.js; `cells` is "" for curves and outputs
 * @typedef {{ id: string, title: string, symptom: string, settings: Settings, broken: Settings, right: string, wrong: string,
 *   others: { line: string, settings: Settings }[], evidence: Evidence[], hints: string[], mistake: string,
 *   explanation: string, source: { text: string, url: string } }} Case
 */

// The symptom of every case, in a number: a model is ill if it writes at most ILL of the held-out outputs right, and well
// from WELL on.
export const [ILL, WELL] = [0.8, 0.9];

// The wrong line, the right one and the others, each with what it changes in the settings.
/** @param {Case} given @returns {{ line: string, settings: Settings }[]} */
export const offersOf = ({ right, wrong, broken, others }) => [
  { line: wrong, settings: broken },
  { line: right, settings: {} },
  ...others,
];

/** @param {Case} given @param {Settings} changes @returns {Settings} */
export const settingsOf = ({ settings }, changes) => ({ ...settings, ...changes });

// The case as a PyTorch file, with `line` in the place of the right line.
/** @param {Case} given @param {string} line @returns {string} */
export function pytorchFile({ id, settings, right }, line) {
  const complete = completeSettings(settings);
  const options = completeOptions(TASKS[complete.task], complete.options);
  const parts = scriptFor({ ...complete, options }, null).split(`${right}\n`);
  if (parts.length !== 2) {
    throw new RangeError(
      `The right line of the case ${id} is ${parts.length - 1} times in its file; it must be there once.`,
    );
  }
  return parts.join(`${line}\n`);
}

// The function or class of the file that has this line.
/** @param {Case} given @param {string} line @returns {string[]} */
export function sourceLines(given, line) {
  const block = pytorchFile(given, line).split("\n\n\n").find((part) => part.split("\n").includes(line));
  return block.split("\n");
}

// A test of the file, which is green when its mistake is corrected.
/** @param {Case} given */
export const pytestFile = ({ id }) =>
  `"""Green when the mistake in ${id}.py is corrected: python -m pytest test_${id}.py"""

from ${id} import accuracy, main


def test_it_writes_almost_all_outputs_right():
    assert accuracy(main()) >= ${WELL}
`;
