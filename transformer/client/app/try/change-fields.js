// The changes of the depth Switch off, as fields of the address.

export const CHANGES = ["off", "edited_row", "masked_tokens", "patch"];
/** @type {Record<string, null>} */
export const NO_CHANGES = Object.fromEntries([...CHANGES, "ablation"].map((name) => [name, null]));

// The kind of ablation in the address; the first one if it has none.
export function ablationOf({ site, params }) {
  const name = params().get("ablation");
  return Object.hasOwn(site.ablations, name) ? name : Object.keys(site.ablations)[0];
}

/** @param {any} context @returns {Record<string, string>} */
export const changeFields = (context) => ({
  ...Object.fromEntries(CHANGES.map((name) => [name, context.params().get(name) ?? ""])),
  ablation: ablationOf(context),
});
