// Writes and splits the app's addresses. The page's address follows the state: it equals the one that the server
// writes, but selecting a head adds no entry to the browser's history.

/** @param {Partial<State>} state */
export function writeAddress(state, defaults) {
  const params = new URLSearchParams(location.search);
  for (const name of Object.keys(defaults)) {
    if (!(name in state)) continue; // the page's own
    params.delete(name);
    if (state[name] !== defaults[name]) params.set(name, state[name]);
  }
  const query = params.toString();
  try {
    history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : ""));
  } catch { /* browsers limit how often the address may change; the next change writes this one, too */ }
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
