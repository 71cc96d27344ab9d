// Lessons on the static site: the model is in this browser, and pages that need a server are missing.

import { el } from "../../common/base.js";
import { announceMoves, onOpenPlace, onPlace } from "../../common/open.js";
import { siteAddress } from "../../common/site-places.js";
import { makeWorkerEngine, registerServiceWorker } from "../../engine/worker-client.js";
import { makeLoading } from "../try/loading.js";
import { LEARN } from "./lesson-places.js";
import { openLessons } from "./lessons.js";

// Draw the lessons of the page `page` in the element with the id "hu-lessons".
/** @param {any} site the data of the site that Python writes @param {string} page @param {Engine["ask"]} ask */
export function openSiteLessons(site, page, ask) {
  const container = document.getElementById("hu-lessons");
  const node = el("div", { class: "hu hu-file hu-lessons-view" });
  container.replaceChildren(node);
  const lessons = openLessons(node, {
    page,
    ask,
    place: () => ({ page, params: Object.fromEntries(new URLSearchParams(location.search)) }),
    titles: () => site.titles,
    canOpen: (place) => siteAddress(site.places, place) !== null,
    onVisible: (isVisible) => {
      container.dataset.lesson = isVisible ? "card" : "";
    },
  });
  announceMoves();
  onPlace(lessons.draw);
  onOpenPlace((place) => {
    const address = siteAddress(site.places, { ...place, params: place.params ?? {} });
    if (address === null) return false;
    if (place.page === page && page === LEARN && !place.params?.clinic) {
      history.pushState(null, "", address);
      scrollTo(0, 0);
    } else location.assign(address);
    return true;
  }, true);
  lessons.draw();
}

// The page Learn of the site.
/** @param {any} site */
export function openSiteLearn(site) {
  const progress = makeLoading(() => location.reload());
  const loading = el("div", { class: "hu hu-file", hidden: "" }, progress.node); // until a question needs the model
  const { ask } = makeWorkerEngine(site, (news) => {
    loading.hidden = false;
    progress.show(news);
  });
  openSiteLessons(site, LEARN, ask);
  document.getElementById("hu-lessons").prepend(loading);
  registerServiceWorker();
}
