// A run and its forks as text for an address, and back:
//
//     task=reverse;seed=3~0@120;off=c0.1~1@200;learning_rate=0.001
//
// is a run of two settings that differ from the defaults, a fork of it (run 0) after step 120 without a head, and a fork
// of that fork (run 1) after step 200 with another rate. A fork at step 0 may change anything, the model too.

import { readOff } from "../../common/head-codes.js";
import { CHANGEABLE, completeSettings, DEFAULTS } from "../../training/settings.js";
import { completeOptions, TASKS } from "../../training/tasks.js";

export const MAX_FORKS = 12;
const NAMES = Object.keys(DEFAULTS).filter((name) => name !== "fault"); // only a case of the Bug clinic has a fault
const OPTION = "option."; // prefix of the task's own options

/**
 * @typedef {import("../../training/protocol.d.ts").Settings} Settings
 * @typedef {{ parent: number, step: number, settings: Partial<Settings> }} PlannedRun the first has parent −1, step 0
 */

/** @param {PlannedRun[]} runs */
export function writeLink(runs) {
  return runs.map(({ parent, step, settings }) => {
    const fields = Object.entries(settings).flatMap(([name, value]) =>
      name === "options" ? Object.entries(value).map(([option, n]) => `${OPTION}${option}=${n}`) : [`${name}=${value}`]
    );
    return (parent < 0 ? fields : [`${parent}@${step}`, ...fields]).join(";");
  }).join("~");
}

// The runs of a link. Throws an error with one sentence that says what is wrong and what would be right.
/** @param {string} text @returns {PlannedRun[]} */
export function readLink(text) {
  const wrong = /[^\w.,;=@~-]/u.exec(text);
  if (wrong) {
    const code = wrong[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    throw new RangeError(
      `The link has the character U+${code}; it must have only letters from a to z, digits and _ . , ; = @ ~ -.`,
    );
  }
  const parts = text.split("~");
  if (parts.length > MAX_FORKS + 1) {
    throw new RangeError(`The link has ${parts.length - 1} forks; it must have at most ${MAX_FORKS}.`);
  }
  /** @type {PlannedRun[]} */
  const runs = [];
  for (const [index, part] of parts.entries()) {
    const fields = part.split(";").filter(Boolean);
    const origin = index ? /^(\d{1,3})@(\d{1,6})$/.exec(fields.shift() ?? "") : null;
    if (index && (!origin || Number(origin[1]) >= index)) {
      throw new RangeError(
        `Fork ${index} of the link begins with ${
          JSON.stringify(part.slice(0, 20))
        }; it must begin with an earlier run and a step, such as 0@120.`,
      );
    }
    const settings = readSettings(fields);
    const [parent, step] = origin ? [Number(origin[1]), Number(origin[2])] : [-1, 0];
    const fixed = step > 0 && Object.keys(settings).find((name) => !CHANGEABLE.includes(name));
    if (fixed) {
      throw new RangeError(`A fork after step 0 cannot change ${fixed}; it can change ${CHANGEABLE.join(", ")}.`);
    }
    runs.push({ parent, step, settings });
    const complete = allSettings(runs, index); // refuses impossible combinations
    if (index) checkFork(runs, index, complete);
  }
  return runs;
}

// The settings of a run after all changes on the way to it.
/** @param {PlannedRun[]} runs @returns {Settings} */
export function allSettings(runs, index) {
  const path = [];
  for (let i = index; i >= 0; i = runs[i].parent) path.unshift(runs[i].settings);
  const given = Object.assign({}, ...path);
  const name = given.task ?? DEFAULTS.task;
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : null;
  if (given.task !== "pairs" && !task) {
    throw new RangeError(`There is no task ${JSON.stringify(given.task)}; the tasks are ${taskNames().join(", ")}.`);
  }
  const settings = completeSettings({ ...task?.training, ...given });
  if (!task && Object.keys(settings.options).length) {
    throw new RangeError(
      `Sentence pairs have no options, but the link has ${Object.keys(settings.options).join(", ")}.`,
    );
  }
  return task ? { ...settings, options: completeOptions(task, settings.options) } : settings;
}

// A fork begins while its run trains, has steps to train, changes something, and is not there yet.
/** @param {PlannedRun[]} runs @param {Settings} settings */
function checkFork(runs, index, settings) {
  const { parent, step } = runs[index];
  const before = allSettings(runs, parent);
  if (step < runs[parent].step) {
    throw new RangeError(
      `Fork ${index} begins at step ${step}; run ${parent} itself begins at step ${runs[parent].step}.`,
    );
  }
  if (step > before.steps) {
    throw new RangeError(`Fork ${index} begins at step ${step}; run ${parent} ends at step ${before.steps}.`);
  }
  if (step >= settings.steps) {
    throw new RangeError(`Fork ${index} begins and ends at step ${step}; give it more steps.`);
  }
  if (isSame(before, settings)) {
    throw new RangeError(`Fork ${index} has the settings of run ${parent}; change at least one.`);
  }
  const twin = runs.findIndex((other, i) =>
    i < index && other.parent === parent && other.step === step && isSame(allSettings(runs, i), settings)
  );
  if (twin >= 0) throw new RangeError(`Fork ${index} is the same as fork ${twin}; keep one of them.`);
}

/** @param {Settings} one @param {Settings} other */
export function isSame(one, other) {
  const text = (settings) => {
    const { off, options, ...others } = settings;
    const parts = [Object.entries(others), Object.entries(options), [...readOff(off, settings)]];
    return JSON.stringify(parts.map((entries) => entries.sort()));
  };
  return text(one) === text(other);
}

const taskNames = () => [...Object.keys(TASKS), "pairs"];

/** @param {string[]} fields @returns {Partial<Settings>} */
function readSettings(fields) {
  const settings = {};
  /** @type {Record<string, number>} */
  const options = Object.create(null);
  for (const field of fields) {
    const at = field.indexOf("=");
    const [name, text] = [field.slice(0, at), field.slice(at + 1)];
    if (at < 1) {
      throw new RangeError(
        `The link has ${JSON.stringify(field.slice(0, 30))}; it must have a setting with a value, such as seed=3.`,
      );
    }
    const option = name.startsWith(OPTION) ? name.slice(OPTION.length) : null;
    if (Object.hasOwn(settings, name) || option !== null && option in options) {
      throw new RangeError(`The link has ${name} twice; name each setting once.`);
    }
    if (option !== null) options[option] = numberOf(text);
    else if (NAMES.includes(name)) settings[name] = valueOf(name, text);
    else throw new RangeError(`There is no setting ${name}; the settings are ${NAMES.join(", ")}.`);
  }
  return Object.keys(options).length ? { ...settings, options: { ...options } } : settings;
}

const numberOf = (text) => text === "" ? NaN : Number(text);

function valueOf(name, text) {
  const usual = DEFAULTS[name];
  if (typeof usual === "number") return numberOf(text);
  return typeof usual === "boolean" && ["true", "false"].includes(text) ? text === "true" : text;
}
