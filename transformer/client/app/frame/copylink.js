// The button “Share”, which copies the page's address and says what it leads to. As it is on every page, it also
// disables the page after a reconnect, keeps the history short, and asks Streamlit for the places that another part of the
// page opens (common/open.js).
// `.show(data)` takes `{ page, pages, large }`: the page's name, the addresses of all pages, and whether
// everything is enlarged.

import { button, copyText, el } from "../../common/base.js";
import { splitAddress } from "../../common/address.js";
import { onOpenPlace, setPages } from "../../common/open.js";
import { addOneEntryPerAction } from "./history.js";
import { truncated } from "../../common/naming.js";
import { disableAfterReconnect } from "./reconnect.js";

const MESSAGE_MS = 6000; // until the message disappears
const SIZE_COOKIE = "heads_up_size"; // read by ui/base/state.py when a session begins

export function copylinkView(root, report) {
  let [page, pages, timer] = ["", [], 0];
  const share = button("Share", shareLink, { class: "hu-button hu-link-button", title: "Copy a link to what you see" });
  const message = el("p", { class: "hu-link-message", role: "status", popover: "manual" });
  const node = el("div", { class: "hu hu-link" }, share, message);
  root.append(node);

  async function shareLink() {
    const link = location.href;
    const wasCopied = await copyText(link, node);
    showMessage(wasCopied ? ["Copied a link to ", ...linkSummary(page, link)] : ["Copy this link: ", linkField(link)]);
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

  function show(data) {
    ({ page, pages } = data);
    setPages(pages);
    document.cookie = `${SIZE_COOKIE}=${data.large ? "large; Path=/" : "; Path=/; Max-Age=0"}; SameSite=Lax`;
  }

  const listeners = new AbortController();
  const options = { capture: true, signal: listeners.signal };
  document.addEventListener("click", skipToHeading, options);
  for (const name of ["pointerdown", "focusin"]) {
    document.addEventListener(name, (event) => addFirstPagePath(event, pages), options);
  }
  const stopObserving = disableAfterReconnect();
  addOneEntryPerAction();
  const endOpening = onOpenPlace((place) => {
    report(place);
    return true;
  });
  return {
    show,
    close() {
      stopObserving();
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

// Streamlit writes its links to the first page without a path ("?text=…"): a new tab would open the displayed page.
function addFirstPagePath({ target }, pages) {
  const link = target.closest?.("[data-testid=stPageLink-NavLink]");
  const href = link?.getAttribute("href");
  if (href === "" || href?.startsWith("?")) link.href = splitAddress(location.href, pages).base + href;
}

// The page's name and the fields of its address that differ from the defaults.
function linkSummary(page, link) {
  const params = new URL(link).searchParams;
  const text = params.get("text");
  const [layer, head] = ["layer", "head"].map((name) => params.get(name));
  const parts = [
    text && `“${truncated(text, 60)}”`,
    params.has("model") && params.get("model"),
    layer !== null && head !== null && Number(layer) >= 0 && `layer ${Number(layer) + 1}, head ${Number(head) + 1}`,
  ];
  return [el("b", {}, page), ...parts.filter(Boolean).map((part) => `, ${part}`)];
}

const linkField = (link) => el("input", { type: "text", readonly: "", value: link, "aria-label": "The link" });
