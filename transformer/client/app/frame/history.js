// Keeps at most one history entry for each action of the visitor. Streamlit adds one when it opens a page, and another
// if the page then completes its address, for example with the sentence that was typed after its link was drawn. When
// the server opens a page, Streamlit first adds the new page's parameters to the address of the page that is left: they
// would mean nothing there if the visitor reloaded it now, so that address is not written. Streamlit keeps the parameters
// for the address of the new page.

import { announceMoves } from "../../common/open.js";

const ACTIONS = ["pointerdown", "click", "keydown"]; // assistive technology sends clicks alone

const MAX_OPENING_MS = 30_000; // until a page that was asked for counts as not opened

let isInstalled = false;
let [isOpening, timer] = [false, 0]; // whether another page was asked for and is not there yet

export function noteOtherPage() {
  isOpening = true;
  clearTimeout(timer);
  timer = setTimeout(endOpening, MAX_OPENING_MS);
}

const endOpening = () => (isOpening = false);

// Whether Streamlit writes these parameters for the page that it opens; it passes an empty object.
function isForNextPage(state, url) {
  if (!isOpening || JSON.stringify(state) !== "{}") return false;
  const { pathname, search } = new URL(String(url ?? ""), location.href);
  return pathname === location.pathname && search !== "";
}

export function addOneEntryPerAction() {
  if (isInstalled) return;
  isInstalled = true;
  announceMoves();
  let hasEntry = false; // whether there is an entry for the last action
  const [push, replace] = [history.pushState.bind(history), history.replaceState.bind(history)];
  history.replaceState = (state, title, url) => {
    if (!isForNextPage(state, url)) replace(state, title, url);
  };
  history.pushState = (state, title, url) => {
    if (isForNextPage(state, url)) return;
    if (hasEntry) replace(state, title, url);
    else push(state, title, url);
    hasEntry = true;
    if (JSON.stringify(state) === "{}") endOpening();
  };
  const begin = () => {
    hasEntry = false;
    endOpening();
  };
  for (const name of ACTIONS) document.addEventListener(name, begin, true);
}
