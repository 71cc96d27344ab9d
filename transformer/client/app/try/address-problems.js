// What is wrong with an address of the page, field by field.

import { fill } from "../../common/sentences.js";

const UNKNOWN_FIELD = "The address has the field “{field}”, which this page does not have.";
const WRONG_VALUE = "The address has {field}=“{value}”; it must be {must}.";
const NO_MODEL = "There is no model “{value}”; available: {models}.";
const BEYOND = "The address has {field}={value}, counted from 0; in this model it must be from 0 to {last}.";
const MAX_SHOWN = 60; // characters of a value in a sentence

/** @typedef {{ field: string, value: string | null, sentence: string }} AddressProblem `value` is what the field becomes */

/** @param {SiteData} site @param {URLSearchParams} params @returns {AddressProblem[]} */
export function addressProblems(site, params) {
  const problems = [];
  const refuse = (field, pattern, values, value = null) =>
    problems.push({ field, value, sentence: fill(pattern, { field, ...values }) });
  const model = params.get("model") || Object.keys(site.models)[0];
  const { n_layers: layers = 1, n_heads: heads = 1 } = /** @type {any} */ (site.models[model]?.config ?? {});
  for (const [field, text] of params) {
    const value = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
    const rule = Object.hasOwn(site.fields, field) ? site.fields[field] : null;
    const last = { layer: layers - 1, head: heads - 1 }[field];
    if (!rule) refuse(field, UNKNOWN_FIELD, {});
    else if (!allows(rule, text)) refuse(field, WRONG_VALUE, { value, must: rule.must });
    else if (["model", "other_model"].includes(field) && text && !Object.hasOwn(site.models, text)) {
      refuse(field, NO_MODEL, { value, models: Object.keys(site.models).slice(0, 10).join(", ") });
    } else if (last !== undefined && Number(text) > last && Object.hasOwn(site.models, model)) {
      refuse(field, BEYOND, { value, last: String(last) }, String(last));
    }
  }
  return problems;
}

// Whether a field may have this value. The rules are those of `figures.state.Field`.
/** @param {AddressField} field @param {string | null} text */
export function allows({ bounds, is_integer: isInteger, choices, form }, text) {
  if (text === null) return false;
  if (bounds) {
    const isNumber = isInteger ? /^-?\d{1,18}$/.test(text) : text.trim() !== "" && Number.isFinite(Number(text));
    return isNumber && bounds[0] <= Number(text) && Number(text) <= bounds[1];
  }
  if (choices) return choices.includes(text);
  return !form || new RegExp(`^(?:${form})$`).test(text);
}
