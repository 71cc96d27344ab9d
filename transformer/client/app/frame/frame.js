// The navigation bar: links to all pages with the sentence and the head that this page shows, “Larger” and “Share”, which
// copies the page's address. As it is on every page, it also disables the page after a reconnect, keeps the history
// short, keeps page translation from the words of a model, and asks Streamlit for the places that another part of the page
// opens (common/open.js).
// `.show(data)` takes `{ page, name, depths, pages, large }`: the path and the name of this page, its name in each of its
// depths, paths and titles of all pages, and whether everything is enlarged.

import { button, copyText, el, replaceChanged, wordsNode } from "../../common/base.js";
import { splitAddress } from "../../common/address.js";
import { noteLeaving } from "../../common/mount.js";
import { currentPlace, onOpenPlace, onPlace, openPlace, setPages, sharedFields } from "../../common/open.js";
import { addOneEntryPerAction, noteOtherPage } from "./history.js";
import { truncated } from "../../common/naming.js";
import { keepWords } from "./kept-words.js";
import { disableAfterReconnect } from "./reconnect.js";

const MESSAGE_MS = 6000; // until the message disappears
const MAX_VALUE = 20_000; // characters of a field of a place, as many as a sentence may have
const SIZE_COOKIE = "heads_up_size"; // read by ui/base/state.py when a session begins
const MAX_ASKED_MS = 10_000; // until a place that was asked for counts as opened, or as refused
const MIN_LOST_MS = 300; // until the page being drawn again means that the server has not got the message
const MAX_RETRIES = 2;

/** @type {{ message: any, page: string, from: string, since: number, isReached: boolean, retries: number } | null} */
let asked = null; // the place that was asked for last, on which page, and whether it was open
addEventListener("popstate", () => asked = null);
document.addEventListener("click", () => asked?.isReached && (asked = null), true); // it may open another page

export function frameView(root, report, reportAlways) {
  /** @type {{ page: string, name: string, depths: Record<string, string>, pages: [string, string][], large: boolean }} */
  let data = { page: "", name: "", depths: {}, pages: [], large: false };
  let timer = 0;
  const links = el("nav", { class: "hu-pages", "aria-label": "Pages" });
  const larger = button("Larger", () => report({ large: !data.large }), {
    class: "hu-button hu-larger",
    title: "Makes everything larger and uses the full width, for a projector. Not part of shared links.",
  });
  const share = button("Share", shareLink, { class: "hu-button hu-link-button", title: "Copy a link to what you see" });
  const message = el("p", { class: "hu-link-message", role: "status", popover: "manual" });
  const node = el("div", { class: "hu hu-frame" }, links, larger, share, message);
  root.append(node);

  // A link to a page. Its address is right for another tab, too.
  /** @param {[string, string]} page path and title */
  function pageLink([path, title]) {
    const isOpen = path === data.page;
    const link = el("a", { "data-page": path, href: addressOf(path), "aria-current": isOpen ? "page" : null }, title);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const pages = [data.page, asked?.page ?? data.page, currentPlace().page];
      if (pages.some((page) => path !== page)) openPlace(path, null);
      else if (path) openPlace(path, sharedFields()); // from a part of this page to its beginning
    });
    return link;
  }

  // The address of a page, with the sentence and the head that this page shows.
  function addressOf(path) {
    const shared = new URLSearchParams(sharedFields());
    const { base } = splitAddress(location.href, data.pages.map(([path]) => path));
    return `${base}${path}${shared.size ? `?${shared}` : ""}`;
  }

  function drawLinks() {
    for (const link of /** @type {Iterable<HTMLAnchorElement>} */ (links.children)) {
      link.href = addressOf(link.dataset.page);
    }
  }

  async function shareLink() {
    const link = location.href;
    const wasCopied = await copyText(link, node);
    showMessage(
      wasCopied ? ["Copied a link to ", ...linkSummary(data, link)] : ["Copy this link: ", linkField(link)],
    );
    if (!wasCopied) message.querySelector("input").select();
  }
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideMessage();
  });

  function showMessage(parts) {
    clearTimeout(timer);
    message.replaceChildren(...parts);
    const { right, bottom } = share.getBoundingClientRect();
    message.showPopover?.(); // in the top layer: the scrolling row of links would clip it on a phone
    const maxLeft = document.documentElement.clientWidth - message.offsetWidth - 8;
    message.style.left = `${Math.max(8, Math.min(right - message.offsetWidth, maxLeft))}px`;
    message.style.top = `${bottom + 8}px`;
    if (!message.querySelector("input")) timer = setTimeout(hideMessage, MESSAGE_MS);
  }

  function hideMessage() {
    clearTimeout(timer);
    message.hidePopover?.();
  }

  function show(shown) {
    data = shown;
    askAgain();
    setPages(data.pages.map(([path]) => path));
    document.cookie = `${SIZE_COOKIE}=${data.large ? "large; Path=/" : "; Path=/; Max-Age=0"}; SameSite=Lax`;
    larger.setAttribute("aria-pressed", String(data.large));
    replaceChanged(links, data.pages.map(pageLink)); // a rerun draws them again
  }

  const listeners = new AbortController();
  for (const listener of [skipToHeading, openLink]) {
    document.addEventListener("click", listener, { capture: true, signal: listeners.signal });
  }
  const stopObserving = disableAfterReconnect();
  const endKeeping = keepWords();
  addOneEntryPerAction();
  const endMoves = onPlace(drawLinks);
  const endOpening = onOpenPlace((place) => {
    if (place.params && !place.page && !currentPlace().page) return false; // the page Try opens its own places
    leaveFor(place);
    return true;
  }, true);

  // A message from a page that the server has left is lost with that page, and returns the browser to it.
  function askAgain() {
    const passed = performance.now() - asked?.since;
    if (!asked || passed > MAX_ASKED_MS || asked.retries === MAX_RETRIES) asked = null;
    else if (asked.page === data.page) asked.isReached = true;
    else if (asked.from !== data.page || asked.isReached || passed > MIN_LOST_MS) {
      asked.retries++;
      asked.from = data.page;
      reportAlways(asked.message);
    }
  }

  function leaveFor(place) {
    const message = { ...place, origin: clipped(currentPlace()) };
    reportAlways(message);
    noteLeaving();
    asked = { message, page: place.page, from: data.page, since: performance.now(), isReached: false, retries: 0 };
    if (place.page !== data.page) noteOtherPage();
  }

  // Streamlit's links would send messages of their own, which a choice on the page that is left would undo.
  function openLink(event) {
    const link = event.target.closest?.("a[data-testid=stPageLink-NavLink]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { page, query } = splitAddress(link.href, data.pages.map(([path]) => path));
    leaveFor({ page, params: Object.fromEntries(new URLSearchParams(query)), is_link: true });
  }
  return {
    show,
    close() {
      stopObserving();
      endKeeping();
      endMoves();
      endOpening();
      hideMessage();
      listeners.abort();
    },
  };
}

// Streamlit's "Skip to main content" leads to our navigation, the first element of the main area. Move the
// focus to the page's heading instead.
function skipToHeading(event) {
  const heading = /** @type {HTMLElement | null} */ (document.querySelector(".stMain h1"));
  if (!heading || !event.target.closest?.("[data-testid=stSkipToContent]")) return;
  event.preventDefault();
  event.stopPropagation();
  heading.tabIndex = -1;
  heading.focus();
}

// A place that the server reads: a pasted text may be too long for it.
/** @param {import("../../common/open.js").Place} place */
const clipped = ({ page, params }) => ({
  page,
  params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value.slice(0, MAX_VALUE)])),
});

// The page's name and the fields of its address that differ from the defaults.
function linkSummary({ name, depths }, link) {
  const params = new URL(link).searchParams;
  const depth = params.get("depth");
  const text = params.get("text");
  const [layer, head] = ["layer", "head"].map((field) => params.get(field));
  const parts = [
    text && ["“", wordsNode(truncated(text, 60)), "”"],
    params.has("model") && params.get("model"),
    layer !== null && head !== null && Number(layer) >= 0 && `layer ${Number(layer) + 1}, head ${Number(head) + 1}`,
  ];
  return [
    el("b", {}, Object.hasOwn(depths, depth) ? depths[depth] : name),
    ...parts.filter(Boolean).flatMap((part) => [", ", ...[part].flat()]),
  ];
}

const linkField = (link) => el("input", { type: "text", readonly: "", value: link, "aria-label": "The link" });
