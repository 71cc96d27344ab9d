// Views that a visitor keeps in this browser, each with a note: a list that is read, changed and
// written as a whole. A view is `{ page, query, title, note, day }`; `page` is one of the app's, so
// that no list from elsewhere leads out of it.

/** @typedef {{ page: string, query: string, title: string, note: string, day: string }} SavedView */

export const FORMAT = "heads-up views 1";
export const MOST_VIEWS = 100;
const MOST_SIGNS = { query: 8000, title: 200, note: 2000, day: 10 };
const STORE = "heads-up.views";

// What is kept; nothing where the browser keeps nothing, or what it kept is no list of ours.
/** @param {Pick<Storage, "getItem">} storage @param {string[]} pages @returns {SavedView[]} */
export function keptViews(storage, pages) {
  try {
    return viewsOf(storage.getItem(STORE) || "", pages);
  } catch {
    return [];
  }
}

// Whether the browser took it.
/** @param {Pick<Storage, "setItem">} storage @param {SavedView[]} views */
export function keepViews(storage, views) {
  try {
    storage.setItem(STORE, jsonOf(views));
    return true;
  } catch {
    return false;
  }
}

/** @param {SavedView[]} views */
export const jsonOf = (views) => `${JSON.stringify({ format: FORMAT, views }, null, 2)}\n`;

// The views that a text of `jsonOf` holds. Throws an Error that says in a sentence what is wrong.
/** @param {string} text @param {string[]} pages @returns {SavedView[]} */
export function viewsOf(text, pages) {
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("This file is no list of views: it is no JSON.");
  }
  if (found?.format !== FORMAT || !Array.isArray(found.views)) throw new Error(`This file is no list of views: its format must be “${FORMAT}”.`);
  if (found.views.length > MOST_VIEWS) throw new Error(`This list has ${found.views.length} views; at most ${MOST_VIEWS} are kept.`);
  return found.views.map((one, number) => checkedView(one, number + 1, pages));
}

function checkedView(one, number, pages) {
  for (const [name, most] of Object.entries(MOST_SIGNS)) {
    if (typeof one?.[name] !== "string") throw new Error(`View ${number} of this list has no ${name}.`);
    if (one[name].length > most) throw new Error(`The ${name} of view ${number} has ${one[name].length} signs; at most ${most} are kept.`);
  }
  if (!pages.includes(one.page)) throw new Error(`View ${number} of this list is of a page that this app does not have.`);
  const { page, title, note, day } = one;
  return { page, query: new URLSearchParams(one.query).toString(), title, note, day };
}

/** @param {string} base @param {Pick<SavedView, "page" | "query">} view */
export const addressOf = (base, { page, query }) => base + page + (query && `?${query}`);

// The list with this view in front; one of the same address only comes to the front.
/** @param {SavedView[]} views @param {SavedView} view */
export function withView(views, view) {
  const same = ({ page, query }) => page === view.page && query === view.query;
  return [views.find(same) || view, ...views.filter((one) => !same(one))].slice(0, MOST_VIEWS);
}

// The list with the view at `place` moved by `step` places.
/** @param {SavedView[]} views */
export function movedView(views, place, step) {
  const others = views.filter((_, i) => i !== place);
  return [...others.slice(0, place + step), views[place], ...others.slice(place + step)];
}
