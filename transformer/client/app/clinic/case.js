// What a case of the Bug clinic has, and its PyTorch file with or without the mistake.

import { completeSettings } from "../../training/settings.js";
import { completeOptions, TASKS } from "../../training/tasks.js";
import { scriptFor } from "../trainer/script.js";

/**
 * @typedef {Partial<import("../../training/protocol.d.ts").Settings>} Settings
 * @typedef {{ view: string, cells: string }} Evidence names in VIEWS and SIGNS of evidence.js; `cells` is "" for curves and outputs
 * @typedef {{ line: string, settings: Settings }} Offer a line, which may be two, and what it changes in the settings
 * @typedef {{ wrong: string, right: string[], others: Offer[] }} Site a line that can be changed to repair the model
 * @typedef {{ text: string, isRight?: boolean, reply: string }} Statement what may be wrong, and why it is not or is
 * @typedef {{ id: string, title: string, symptom: string, settings: Settings, broken: Settings, sites: Site[],
 *   evidence: Evidence[], hints: string[], mistake: string, explanation: string, source: { text: string, url: string },
 *   seeds?: number[], statements?: Statement[] }} Case with `seeds` it has a model of each, one of them with the mistake, and
 *   statements in place of lines
 */

// The symptom of every case, in a number: a model is ill if it writes at most ILL of the held-out outputs right, and well
// from WELL on.
export const [ILL, WELL] = [0.8, 0.9];

export const MODELS = ["Model A", "Model B", "Model C"]; // of a case with seeds
const BROKEN = 1; // the one of them with the mistake

/** @param {Case} given */
export const brokenModel = ({ seeds }) => seeds ? BROKEN : 0;

// What the page trains: the changes in the settings of each model that it shows, and last those of a correct run, which has
// the seed of the model with the mistake.
/** @param {Case} given @returns {Settings[]} */
export function plansOf({ seeds, broken }) {
  if (!seeds) return [broken, {}];
  const models = seeds.map((seed, model) => (model === BROKEN ? { seed, ...broken } : { seed }));
  return [...models, { seed: seeds[BROKEN] }];
}

// All lines that may be chosen at a site, each with what it changes in the settings; the right ones change nothing.
/** @param {Site} site @returns {Offer[]} */
export const offersOf = ({ right, others }) => [...right.map((line) => ({ line, settings: {} })), ...others];

/** @param {Case} given @param {Settings} changes @returns {Settings} */
export const settingsOf = ({ settings }, changes) => ({ ...settings, ...changes });

// The case as a PyTorch file without the mistake.
/** @param {Case} given @returns {string} */
export function correctFile({ settings }) {
  const complete = completeSettings(settings);
  const options = completeOptions(TASKS[complete.task], complete.options);
  return scriptFor({ ...complete, options }, null);
}

// The case as a PyTorch file with the mistake, or with `line` in the place of the line of a site.
/** @param {Case} given @param {Site} [site] @returns {string} */
export function pytorchFile(given, site, line = "") {
  const [mistake] = given.sites;
  const broken = replaced(given, correctFile(given), mistake.right[0], mistake.wrong);
  return site ? replaced(given, broken, site.wrong, line) : broken;
}

/** @param {Case} given */
function replaced({ id }, text, line, other) {
  const parts = text.split(`${line}\n`);
  if (parts.length !== 2) {
    throw new RangeError(
      `The line ${line.trim()} of the case ${id} is ${parts.length - 1} times in its file; it must be there once.`,
    );
  }
  return parts.join(`${other}\n`);
}

// The function or class of the file with the mistake, with `line` in the place of the line of a site.
/** @param {Case} given @param {Site} [site] @returns {string[]} */
export function sourceLines(given, site, line = "") {
  const mark = (line || given.sites[0].wrong).split("\n")[0];
  const block = pytorchFile(given, site, line).split("\n\n\n").find((part) => part.split("\n").includes(mark));
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
