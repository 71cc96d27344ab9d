// The status line of a class, and the connection that receives the teacher's view from the server. Another head
// of the same sentence is drawn at once; for anything else the page is rerun, and the server knows what to
// draw.

import { partsOf } from "./address.js";
import { el } from "./base.js";
import { LED_EVENT } from "./mount.js";

const OVER = 4001; // close code of class_news.py: no more messages will come
const PATIENCE = 150; // ms to wait for a rerun that may already be under way
const AGAIN = [500, 5000]; // ms until reconnecting: first, and at most

export function followView(root, report) {
  const said = el("span", { role: "status" });
  const dot = el("i", { "aria-hidden": "true" });
  const node = el("p", { class: "hu hu-follow" }, dot, said);
  root.append(node);
  let [told, news, socket, timer, asking, wait, asked] = [null, null, null, 0, 0, AGAIN[0], ""];

  function open() {
    const url = partsOf(location.href, told.pages).base.replace(/^http/, "ws").replace(/\/$/, "") + told.path;
    socket = new WebSocket(url);
    socket.addEventListener("message", (event) => {
      if (event.target !== socket) return;
      wait = AGAIN[0];
      news = JSON.parse(event.data);
      heed();
    });
    socket.addEventListener("close", ({ code, target }) => {
      if (target !== socket) return; // an outdated connection
      if (code === OVER) return report({});
      timer = setTimeout(open, wait * (1 + Math.random()));
      wait = Math.min(2 * wait, AGAIN[1]);
    });
  }

  function heed() {
    said.textContent = filled(told.text, news || {});
    if (!news) return;
    if (told.teaches) {
      // Another teacher has taken over, or has asked, closed or shown a question.
      if (news.state === told.standing && news.questions === told.questions) return;
      clearTimeout(asking);
      asking = setTimeout(ask, PATIENCE);
      return;
    }
    const follows = news.state === "follows";
    const same = ["shown", "leads", "race", "questions"].every((name) => news[name] === told[name]);
    if (news.state === told.standing && same) {
      if (!follows || news.number === told.number) return;
      if (isHeadAlone(told, news) && led(news.params)) {
        Object.assign(told, { number: news.number, params: news.params });
        return;
      }
    }
    const wanted = JSON.stringify([news.state, news.shown, news.leads, news.race, news.questions, follows && news.number]);
    if (wanted === asked) return;
    asked = wanted;
    const own = news.state !== told.standing && told.standing !== "alone";
    clearTimeout(asking);
    asking = setTimeout(ask, own ? PATIENCE : 0);
  }

  function ask() {
    led(null);
    report({});
  }

  function show(data) {
    told = { ...data };
    asked = "";
    clearTimeout(asking);
    node.dataset.standing = told.standing;
    if (!socket) open();
    heed();
  }

  function close() {
    const left = socket;
    socket = null;
    clearTimeout(timer);
    clearTimeout(asking);
    // Do not close a connection that is still opening: that logs an error in the console.
    if (left?.readyState === WebSocket.CONNECTING) left.addEventListener("open", () => left.close());
    else left?.close();
  }

  return { show, close };
}

// Whether the explorer on this page can draw it from the data it has.
export function isHeadAlone(told, { page, params }) {
  const rest = (all) => JSON.stringify(Object.entries(all).filter(([name]) => !told.explored.includes(name)).sort());
  return page === told.page && "layer" in params && "head" in params && rest(params) === rest(told.params);
}

// The text with the message's numbers filled in; "…" while there are none.
export const filled = (text, news) => text.replace(/\{(\w+)\}/g, (_, name) => String(news[name] ?? "…"));

const led = (params) => !document.dispatchEvent(new CustomEvent(LED_EVENT, { detail: params, cancelable: true }));
