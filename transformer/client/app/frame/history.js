// Keeps at most one history entry for each action of the visitor. Streamlit adds one when it opens a page, and another
// if the page then completes its address, for example with the sentence that was typed after its link was drawn. When
// the server opens a page, Streamlit first adds the new page's parameters to the address of the page that is left: they
// would mean nothing there if the visitor reloaded it now, so that address is not written. Streamlit keeps the parameters
// for the address of the new page.

import { announceMoves } from "../../common/open.js";

const ACTIONS = ["pointerdown", "click", "keydown"]; // assistive technology sends clicks alone

let isInstalled = false;
let leftPath = ""; // path of the page that is left for another one

// Another page was asked for.
export function noteOtherPage() {
  leftPath = location.pathname;
}

export function addOneEntryPerAction() {
  if (isInstalled) return;
  isInstalled = true;
  announceMoves();
  let hasEntry = false; // whether there is an entry for the last action
  const push = history.pushState.bind(history);
  history.pushState = (...entry) => {
    const url = new URL(String(entry[2] ?? ""), location.href);
    const isOfStreamlit = JSON.stringify(entry[0]) === "{}";
    if (isOfStreamlit && url.pathname === leftPath && url.search) return;
    if (url.pathname !== leftPath) leftPath = "";
    if (hasEntry) history.replaceState(...entry);
    else push(...entry);
    hasEntry = true;
  };
  for (const name of ACTIONS) document.addEventListener(name, () => (hasEntry = false), true);
}
