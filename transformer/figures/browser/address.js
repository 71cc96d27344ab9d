// The app's addresses: what they are made of; and the page's own, which follows the state while the app
// runs: the same as the server writes, but without an entry in the browser's history for every head that
// was looked at.

/** @param {State} state */
export function writeAddress(state, defaults) {
  const params = new URLSearchParams(location.search);
  for (const name of Object.keys(defaults)) {
    params.delete(name);
    if (state[name] !== defaults[name]) params.set(name, state[name]);
  }
  const query = params.toString();
  history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : ""));
}

// The page, "" for the first, and the query of one of the app's addresses, and what stands before both.
/** @param {string} href @param {string[]} pages */
export function partsOf(href, pages) {
  const { origin, pathname, searchParams } = new URL(href);
  const cut = pathname.lastIndexOf("/") + 1;
  const last = pathname.slice(cut);
  const page = pages.includes(last) ? last : "";
  return { base: origin + (page || !last ? pathname.slice(0, cut) : `${pathname}/`), page, query: searchParams.toString() };
}
