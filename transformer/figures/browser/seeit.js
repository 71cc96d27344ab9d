// On a small screen a lesson's card stands above its page: a button that goes on to the picture that
// the card speaks of, which then begins where the card ends, or as far below as what is lit up needs.

import { el } from "./base.js";

const PICTURES = '[data-testid="stBidiComponentIsolated"], [data-testid="stPlotlyChart"]';
const STAGE = ".hu-stage, .hu-view, svg"; // within a view: below its tabs and switches

export function seeitView(root) {
  const button = el("button", { type: "button" }, "See it ↓");
  root.append(el("div", { class: "hu hu-seeit" }, button));
  button.addEventListener("click", () => {
    const card = /** @type {HTMLElement} */ (document.querySelector(".st-key-lesson"));
    const picture = pictureAfter(card);
    const scroller = card.closest('[data-testid="stMain"]');
    if (!picture || !scroller) return;
    // The card goes along until it sticks, so that it is measured where it will be.
    scroller.scrollTop += picture.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    const below = card.parentElement.getBoundingClientRect().bottom;
    scroller.scrollTop += picture.getBoundingClientRect().top - below - 8;
    const view = /** @type {any} */ (picture.getRootNode());
    const chosen = view.querySelector("[aria-current]")?.getBoundingClientRect();
    if (chosen && chosen.bottom > innerHeight - 8) scroller.scrollTop += chosen.top - (below + innerHeight) / 2;
  });
  return { show: () => {}, close: () => {} };
}

/** @param {Element} card */
function pictureAfter(card) {
  for (const one of document.querySelectorAll(PICTURES)) {
    if (!(card.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) || card.contains(one)) continue;
    const within = [one, ...one.querySelectorAll("*")].find((node) => node.shadowRoot)?.shadowRoot.querySelector(STAGE);
    const found = within || one;
    if (found.getBoundingClientRect().height > 0) return found;
  }
  return null;
}
