// Places of the app: a page with the fields of its address. One part of a page opens another place with `openPlace`. The
// page Try (app/try/try.js) opens places on itself; the frame (app/frame) asks Streamlit for all others.

import { splitAddress } from "./address.js";

const OPEN_EVENT = "heads-up-open-place";
const MOVED_EVENT = "heads-up-moved"; // see `announceMoves`
const SHARED_FIELDS = ["model", "text", "kind", "layer", "head"];
const PAGES = Symbol.for("heads-up-pages"); // property of the document that all scripts share: the paths of the pages

/**
 * `page` is the page's path in addresses, "" for Try; `params` are the fields of the address.
 * @typedef {{ page: string, params: Record<string, string> }} Place
 */

// Each part that asks for places tells the paths first: the scripts of a page arrive in any order.
/** @param {string[]} pages */
export function setPages(pages) {
  document[PAGES] = pages;
}

// The place in the address bar.
/** @returns {Place} */
export function currentPlace() {
  const { page, query } = splitAddress(location.href, document[PAGES] ?? []);
  return { page, params: Object.fromEntries(new URLSearchParams(query)) };
}

// The sentence and the head of the place in the address bar, which the addresses of all pages can have.
/** @returns {Record<string, string>} */
export function sharedFields() {
  const { params } = currentPlace();
  return Object.fromEntries(SHARED_FIELDS.filter((name) => name in params).map((name) => [name, params[name]]));
}

// Open a place. Without `params` it is the page as the visitor has left it, with the sentence and the head of this page.
// False if nothing on this page can open it.
/** @param {string} page @param {Record<string, string> | null} params */
export const openPlace = (page, params = {}) =>
  !document.dispatchEvent(new CustomEvent(OPEN_EVENT, { detail: { page, params }, cancelable: true }));

// `open(place)` is called for each place to open, and returns whether it opens it; then no other listener is asked. The
// frame, which opens every place, is asked last.
/**
 * @param {(place: { page: string, params: Record<string, string> | null }) => boolean} open
 * @param {boolean} isLast
 * @returns {() => void} which ends it
 */
export function onOpenPlace(open, isLast = false) {
  const listener = (event) => {
    if (event.defaultPrevented || !open(event.detail)) return;
    event.preventDefault();
  };
  document.addEventListener(OPEN_EVENT, listener, !isLast);
  return () => document.removeEventListener(OPEN_EVENT, listener, !isLast);
}

// `moved()` is called whenever the address has changed.
/** @param {() => void} moved @returns {() => void} which ends it */
export function onPlace(moved) {
  document.addEventListener(MOVED_EVENT, moved);
  addEventListener("popstate", moved);
  return () => {
    document.removeEventListener(MOVED_EVENT, moved);
    removeEventListener("popstate", moved);
  };
}

// Tell `onPlace` about every address that a script writes; called once for a document.
export function announceMoves() {
  for (const name of ["pushState", "replaceState"]) {
    const write = history[name].bind(history);
    history[name] = (...entry) => {
      write(...entry);
      document.dispatchEvent(new CustomEvent(MOVED_EVENT));
    };
  }
}
