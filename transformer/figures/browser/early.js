// The first picture before the app is there: the same view, from what stands in the page that the server
// gave. Streamlit's own scripts are many times as long (`python -m benchmarks.first_sight`).

import { el } from "./base.js";
import { jsonIn } from "./file.js";
import { EARLY, glanceView } from "./glance.js";

const THEME = `stActiveTheme-${location.pathname}-v2`; // where Streamlit keeps what a visitor has chosen
const BELOW = 16; // px between what Streamlit stacks

// `style` is that of the view. It stays until the app's own picture stands, or a page without one.
/** @param {string} style */
export function showEarly(style) {
  const place = document.getElementById("hu-early");
  try {
    draw(place, style);
  } catch (problem) { // nothing may stand before the app
    place.remove();
    console.warn("The app comes without its early picture.", problem);
  }
}

/** @param {HTMLElement} place @param {string} style */
function draw(place, style) {
  const app = document.getElementById("root");
  const data = jsonIn(document.getElementById("hu-early-data"));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  place.shadowRoot.adoptedStyleSheets = [sheet];
  place.dataset.theme = localStorage.getItem(THEME)?.replaceAll('"', "") || "System"; // it is seen from here on
  const picture = el("div");
  place.shadowRoot.append(picture);
  const view = glanceView(picture, () => {}); // what is asked here, the app's own asks again
  view.show(data);

  const seen = new MutationObserver(() => {
    const lead = app.querySelector(".st-key-lead");
    if (lead) { // what stands above the picture is the app's own by now
      for (const one of place.shadowRoot.querySelectorAll("h1, p.lead")) one.remove();
      place.style.paddingTop = "0";
      place.style.top = `${lead.getBoundingClientRect().bottom + BELOW}px`;
    }
    const done = app.querySelector('[data-test-script-state="notRunning"]') && app.querySelector(".stElementContainer");
    if (done && !app.querySelector(".st-key-glance")) leave();
  });
  seen.observe(app, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-test-script-state"] });

  function leave() {
    const found = { data, ...view.now() };
    view.close();
    seen.disconnect();
    place.remove();
    return found;
  }
  document[EARLY] = leave;
}
