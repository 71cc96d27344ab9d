// Places of a class: the teacher's tab sends where it is, and a student's tab that follows opens it.

import { currentPlace, onPlace, openPlace } from "../../common/open.js";

/** @import { Place } from "../../common/open.js" */
/** @import { ClassConnection } from "./class-connection.js" */

const SEND_MS = 200; // between two places that a teacher sends
const SETTLE_MS = 50; // Streamlit writes two addresses when it opens a page
const MAX_LENGTH = 20_000; // of a place that is sent, in characters
const ACTION_MS = 10_000; // within which an action may change the address
const PAUSE_MS = 300; // after an action, until a place of the teacher is opened
const CHECK_MS = 100;
const OPENING_MS = [1500, 10_000]; // until a place is taken as opened: with its address unchanged, and always
const MAX_RECENT = 32; // places of the teacher that do not end following
const ACTIONS = ["pointerdown", "click", "keydown", "input"]; // assistive technology sends clicks or input alone

// A place without the fields that are each visitor's own choice.
/** @param {Place} place @param {string[]} personal @returns {Place} */
export const commonPlace = ({ page, params }, personal) => ({
  page,
  params: Object.fromEntries(Object.entries(params).filter(([name]) => !personal.includes(name))),
});

const keyOf = ({ page, params }) => JSON.stringify([page, Object.entries(params).sort()]);

// Whether Streamlit runs the script of the page.
export const isRunning = () =>
  /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stApp]"))?.dataset.testScriptState ===
    "running";

// Send the teacher's places while the teacher leads, except those on the page `ownPage`. `begin()` begins leading here.
/** @param {ClassConnection} connection @param {string[]} personal @param {string} ownPage */
export function sendPlaces(connection, personal, ownPage) {
  let [leads, isFirst, hasBegun, timer, sentAt, sentKey] = [false, true, false, 0, -Infinity, ""];

  function send() {
    timer = 0;
    const place = commonPlace(currentPlace(), personal);
    const key = keyOf(place);
    if (!leads || place.page === ownPage || key === sentKey || key.length > MAX_LENGTH) return;
    if (!connection.send({ lead: place })) return;
    [sentAt, sentKey] = [performance.now(), key];
  }
  const moved = () => {
    timer ||= setTimeout(send, Math.max(SETTLE_MS, sentAt + SEND_MS - performance.now()));
  };
  const endNews = connection.onNews((news) => {
    const begins = news.leads && !leads;
    leads = news.leads;
    if (!leads) sentKey = "";
    // Not in the teacher's other tabs: the class follows the one that was used last.
    if (begins && (hasBegun || (isFirst && document.visibilityState === "visible"))) moved();
    if (leads && !news.number && sentKey) { // the server was restarted
      sentKey = "";
      moved();
    }
    [isFirst, hasBegun] = [false, false];
  });
  const endPlaces = onPlace(moved);
  return {
    begin() {
      hasBegun = connection.send({ leading: true });
    },
    end() {
      endNews();
      endPlaces();
      clearTimeout(timer);
    },
  };
}

// Open the teacher's places while this student follows, and stop following when the student opens another one.
/** @param {ClassConnection} connection @param {string[]} personal */
export function followPlaces(connection, personal) {
  const recent = /** @type {string[]} */ ([]);
  const listeners = new AbortController();
  let target = /** @type {(Place & { number: number }) | null} */ (null); // null: does not follow
  let opening = /** @type {{ page: string, key: string, at: number } | null} */ (null);
  let [openedNumber, actedAt, timer] = [0, -Infinity, 0];

  const here = () => commonPlace(currentPlace(), personal);

  function remember(key) {
    recent.push(key);
    if (recent.length > MAX_RECENT) recent.shift();
  }

  // Open the newest place. One at a time, and no action of the student is interrupted.
  function proceed() {
    clearTimeout(timer);
    timer = 0;
    if (opening && hasOpened(opening)) {
      if (currentPlace().page === opening.page) remember(keyOf(here())); // a page corrects its address
      else openedNumber = 0; // it was lost: once more
      opening = null;
    }
    if (!target || (!opening && target.number === openedNumber)) return;
    const isTry = !target.page && !currentPlace().page;
    const isBusy = performance.now() - actedAt < PAUSE_MS || (isRunning() && !isTry);
    if (!opening && !isBusy) open(target, isTry);
    if (opening || target.number !== openedNumber) timer = setTimeout(proceed, CHECK_MS);
  }

  function open(place, isTry) {
    const before = keyOf(here());
    if (before !== keyOf(place)) {
      const own = Object.entries(currentPlace().params).filter(([name]) => personal.includes(name));
      actedAt = -Infinity;
      opening = isTry ? null : { page: place.page, key: before, at: performance.now() };
      if (!openPlace(place.page, { ...place.params, ...Object.fromEntries(own) })) {
        opening = null;
        return;
      }
      if (isTry) remember(keyOf(here()));
    }
    openedNumber = place.number;
  }

  function hasOpened({ page, key, at }) {
    const elapsed = performance.now() - at;
    if (elapsed > OPENING_MS[1]) return true;
    const isChanged = keyOf(here()) !== key || elapsed > OPENING_MS[0];
    return isChanged && currentPlace().page === page && !isRunning();
  }

  function moved() {
    if (!target || (opening && currentPlace().page === opening.page)) return;
    if (performance.now() - actedAt > ACTION_MS || recent.includes(keyOf(here()))) return;
    connection.send({ follow: false });
    target = opening = null;
  }

  for (const name of ACTIONS) {
    document.addEventListener(name, () => (actedAt = performance.now()), { capture: true, signal: listeners.signal });
  }
  addEventListener("popstate", () => (actedAt = performance.now()), { signal: listeners.signal });
  const endPlaces = onPlace(moved);
  const endNews = connection.onNews((news) => {
    if (news.state !== "follows") {
      target = opening = null;
      openedNumber = 0;
      return;
    }
    const place = { page: news.page ?? "", params: news.params ?? {} };
    if (target?.number !== news.number) remember(keyOf(place));
    target = { ...place, number: news.number ?? 0 };
    proceed();
  });
  return {
    isOpening: () => opening !== null,
    end() {
      endNews();
      endPlaces();
      listeners.abort();
      clearTimeout(timer);
    },
  };
}
