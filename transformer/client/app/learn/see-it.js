// On a small screen the card of a lesson is above its page. Scrolls to the figure that the card describes, so that the
// figure's highlighted part is visible below the card.

const PICTURE_SELECTOR = '[data-testid="stBidiComponentIsolated"], [data-testid="stPlotlyChart"]';
const STAGE_SELECTOR = ".hu-stage, .hu-view, svg"; // the figure within a view, below its tabs and switches

export function scrollToFigure() {
  const card = /** @type {HTMLElement} */ (document.querySelector(".st-key-lesson"));
  const picture = pictureAfter(card);
  const scroller = card.closest('[data-testid="stMain"]');
  if (!picture || !scroller) return;
  // The card sticks to the top after some scrolling; measure it in that position.
  scroller.scrollTop += picture.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  const cardBottom = card.parentElement.getBoundingClientRect().bottom;
  scroller.scrollTop += picture.getBoundingClientRect().top - cardBottom - 8;
  const view = /** @type {any} */ (picture.getRootNode());
  const highlighted = view.querySelector("[aria-current]")?.getBoundingClientRect();
  if (highlighted && highlighted.bottom > innerHeight - 8) {
    scroller.scrollTop += highlighted.top - (cardBottom + innerHeight) / 2;
  }
}

/** @param {Element} card */
function pictureAfter(card) {
  for (const candidate of document.querySelectorAll(PICTURE_SELECTOR)) {
    if (!(card.compareDocumentPosition(candidate) & Node.DOCUMENT_POSITION_FOLLOWING) || card.contains(candidate)) {
      continue;
    }
    const figureInView = [candidate, ...candidate.querySelectorAll("*")].find((node) => node.shadowRoot)?.shadowRoot
      .querySelector(STAGE_SELECTOR);
    const target = figureInView || candidate;
    if (target.getBoundingClientRect().height > 0) return target;
  }
  return null;
}
