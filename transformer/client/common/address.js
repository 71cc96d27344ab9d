// The address of a page holds its state: the query of the browser's address, or what else has these three functions.
// Selecting a head adds no entry to the browser's history.

/**
 * `write(next, true)` adds a history entry; `onChange(changed)` calls back when something else has written, and returns
 * what ends it.
 * @typedef {{
 *   params(): URLSearchParams, write(next: URLSearchParams, push?: boolean): void, onChange(changed: () => void): () => void,
 * }} Address
 */

/** @type {Address} */
export const browserAddress = {
  params: () => new URLSearchParams(location.search),
  write(next, push = false) {
    const address = location.pathname + (next.size ? `?${next}` : "");
    try {
      if (push) history.pushState(null, "", address);
      else history.replaceState(history.state, "", address);
    } catch { /* browsers limit how often the address may change; the next change writes this one, too */ }
  },
  onChange(changed) {
    addEventListener("popstate", changed);
    return () => removeEventListener("popstate", changed);
  },
};

// Write the fields of the state that `defaults` names where they differ from them, and remove the others of these.
/** @param {Address} address @param {Partial<State>} state */
export function writeState(address, state, defaults) {
  const params = address.params();
  for (const name of Object.keys(defaults)) {
    if (!(name in state)) continue; // the page's own
    params.delete(name);
    if (state[name] !== defaults[name]) params.set(name, state[name]);
  }
  address.write(params);
}

// Split one of the app's addresses into the page ("" for the first), the query, and the part before both.
/** @param {string} href @param {string[]} pages */
export function splitAddress(href, pages) {
  const { origin, pathname, searchParams } = new URL(href);
  const pageStart = pathname.lastIndexOf("/") + 1;
  const lastSegment = pathname.slice(pageStart);
  const page = pages.includes(lastSegment) ? lastSegment : "";
  return {
    base: origin + (page || !lastSegment ? pathname.slice(0, pageStart) : `${pathname}/`),
    page,
    query: searchParams.toString(),
  };
}
