// The page's address follows the state while the app runs: the same as the server writes, but
// without an entry in the browser's history for every head that was looked at.

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
