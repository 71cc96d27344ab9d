// A line that says how a visitor stands in their class, and the ear of the page: the server tells it
// where the teacher is. Another head of the same sentence is drawn here at once; for all else the page
// is asked for anew, and the server knows what to draw.
//
// `.show(data)` takes `{ text, standing, teaches, path, pages }`, and of a student's page the news that
// it was drawn for: `{ shown, leads, race, number, page, params, explored }`. In `text`, {following} and {members}
// are numbers of the news. `report()` asks for the page.

import { partsOf } from "./address.js";
import { el } from "./base.js";
import { LED } from "./mount.js";

const OVER = 4001; // as in class_news.py: nobody will tell anything more
const PATIENCE = 150; // ms in which the page may be on its way already, because of what was done on it
const AGAIN = [500, 5000]; // ms until a lost connection is tried again, and at most after many

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
      if (target !== socket) return; // the page has left it
      if (code === OVER) return report({});
      timer = setTimeout(open, wait * (1 + Math.random()));
      wait = Math.min(2 * wait, AGAIN[1]);
    });
  }

  function heed() {
    said.textContent = filled(told.text, news || {});
    if (!news || told.teaches) return;
    const follows = news.state === "follows";
    const same = ["shown", "leads", "race"].every((name) => news[name] === told[name]);
    if (news.state === told.standing && same) {
      if (!follows || news.number === told.number) return;
      if (isHeadAlone(told, news) && led(news.params)) {
        Object.assign(told, { number: news.number, params: news.params });
        return;
      }
    }
    const wanted = JSON.stringify([news.state, news.shown, news.leads, news.race, follows && news.number]);
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
    // One that is not open yet is left to open: to break it off is an error in the browser's console.
    if (left?.readyState === WebSocket.CONNECTING) left.addEventListener("open", () => left.close());
    else left?.close();
  }

  return { show, close };
}

// Whether the explorer on this page need only draw what it has.
export function isHeadAlone(told, { page, params }) {
  const rest = (all) => JSON.stringify(Object.entries(all).filter(([name]) => !told.explored.includes(name)).sort());
  return page === told.page && "layer" in params && "head" in params && rest(params) === rest(told.params);
}

// The text with the news' numbers in it; "…" while there are none.
export const filled = (text, news) => text.replace(/\{(\w+)\}/g, (_, name) => String(news[name] ?? "…"));

const led = (params) => !document.dispatchEvent(new CustomEvent(LED, { detail: params, cancelable: true }));
