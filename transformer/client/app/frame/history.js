// Keeps at most one history entry for each action of the visitor. Streamlit adds one when it opens a page, and another
// if the page then completes its address, for example with the sentence that was typed after its link was drawn. When
// the server opens a page, Streamlit first adds the new page's parameters to the address of the page that is left.

import { announceMoves } from "../../common/open.js";

const ACTIONS = ["pointerdown", "click", "keydown"]; // assistive technology sends clicks alone

let isInstalled = false;

export function addOneEntryPerAction() {
  if (isInstalled) return;
  isInstalled = true;
  announceMoves();
  let hasEntry = false; // whether there is an entry for the last action
  const push = history.pushState.bind(history);
  history.pushState = (...entry) => {
    if (hasEntry) history.replaceState(...entry);
    else push(...entry);
    hasEntry = true;
  };
  for (const name of ACTIONS) document.addEventListener(name, () => (hasEntry = false), true);
}
