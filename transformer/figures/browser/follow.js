// The status line of a class, and the connection that receives the teacher's view from the server. Another head
// of the same sentence is drawn at once; for anything else the page is rerun, and the server knows what to
// draw.

import { partsOf } from "./address.js";
import { el } from "./base.js";
import { LED_EVENT } from "./mount.js";

const CLASS_OVER_CODE = 4001; // close code of class_news.py: no more messages will come
const RERUN_WAIT_MS = 150; // ms to wait for a rerun that may already be under way
const RETRY_MS = [500, 5000]; // ms until reconnecting: first, and at most

export function followView(root, report) {
  const message = el("span", { role: "status" });
  const dot = el("i", { "aria-hidden": "true" });
  const node = el("p", { class: "hu hu-follow" }, dot, message);
  root.append(node);
  let [view, news, socket, timer, requestTimer, wait, requestedKey] = [null, null, null, 0, 0, RETRY_MS[0], ""];

  function open() {
    const url = partsOf(location.href, view.pages).base.replace(/^http/, "ws").replace(/\/$/, "") + view.path;
    socket = new WebSocket(url);
    socket.addEventListener("message", (event) => {
      if (event.target !== socket) return;
      wait = RETRY_MS[0];
      news = JSON.parse(event.data);
      update();
    });
    socket.addEventListener("close", ({ code, target }) => {
      if (target !== socket) return; // an outdated connection
      if (code === CLASS_OVER_CODE) return report({});
      timer = setTimeout(open, wait * (1 + Math.random()));
      wait = Math.min(2 * wait, RETRY_MS[1]);
    });
  }

  function update() {
    message.textContent = filled(view.text, news || {});
    if (!news) return;
    if (view.teaches) {
      // Another teacher has taken over, or has asked, closed or shown a question.
      if (news.state === view.standing && news.questions === view.questions) return;
      clearTimeout(requestTimer);
      requestTimer = setTimeout(ask, RERUN_WAIT_MS);
      return;
    }
    const follows = news.state === "follows";
    const same = ["shown", "leads", "race", "questions"].every((name) => news[name] === view[name]);
    if (news.state === view.standing && same) {
      if (!follows || news.number === view.number) return;
      if (isHeadAlone(view, news) && drawLedView(news.params)) {
        Object.assign(view, { number: news.number, params: news.params });
        return;
      }
    }
    const nextKey = JSON.stringify([news.state, news.shown, news.leads, news.race, news.questions, follows && news.number]);
    if (nextKey === requestedKey) return;
    requestedKey = nextKey;
    const own = news.state !== view.standing && view.standing !== "alone";
    clearTimeout(requestTimer);
    requestTimer = setTimeout(ask, own ? RERUN_WAIT_MS : 0);
  }

  function ask() {
    drawLedView(null);
    report({});
  }

  function show(data) {
    view = { ...data };
    requestedKey = "";
    clearTimeout(requestTimer);
    node.dataset.standing = view.standing;
    if (!socket) open();
    update();
  }

  function close() {
    const left = socket;
    socket = null;
    clearTimeout(timer);
    clearTimeout(requestTimer);
    // Do not close a connection that is still opening: that logs an error in the console.
    if (left?.readyState === WebSocket.CONNECTING) left.addEventListener("open", () => left.close());
    else left?.close();
  }

  return { show, close };
}

// Whether the explorer on this page can draw it from the data it has.
export function isHeadAlone(view, { page, params }) {
  const rest = (all) => JSON.stringify(Object.entries(all).filter(([name]) => !view.explored.includes(name)).sort());
  return page === view.page && "layer" in params && "head" in params && rest(params) === rest(view.params);
}

// The text with the message's numbers filled in; "…" while there are none.
export const filled = (text, news) => text.replace(/\{(\w+)\}/g, (_, name) => String(news[name] ?? "…"));

const drawLedView = (params) => !document.dispatchEvent(new CustomEvent(LED_EVENT, { detail: params, cancelable: true }));
