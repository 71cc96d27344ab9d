// The site without a server: the app's first page, its explorer and a switchboard, with a model that runs in
// this browser. The address holds the state: `page`, and the same fields as the app's addresses.

import { writeAddress } from "./address.js";
import { el } from "./base.js";
import { makeClient, registerServiceWorker } from "./live-client.js";
import { explorePage } from "./live-explore.js";
import { headsPage } from "./live-heads.js";
import { homePage } from "./live-home.js";
import { makeLoading } from "./live-loading.js";

const LIVE_PAGES = {
  "": { title: "Translate", make: homePage },
  attention: { title: "Attention", make: explorePage },
  heads: { title: "Switch heads off", make: headsPage },
};
const SHARED_FIELDS = ["model", "text"]; // fields kept when the page changes

/** @param {Record<string, Tab>} tabs the explorer's views @param {any} site the data of the site that Python writes */
export function openLive(tabs, site) {
  const container = document.getElementById("hu-live");
  const nav = el("nav", { class: "hu-live-nav", "aria-label": "Pages" });
  const modelSelect = el(
    "select",
    { class: "hu-live-model", "aria-label": "Languages" },
    ...Object.entries(site.models).map(([name, { label }]) => el("option", { value: name }, label)),
  );
  const progress = makeLoading();
  const body = el("div", { class: "hu-live-body" });
  container.append(
    el("div", { class: "hu-live-top" }, nav, el("label", { class: "hu-live-languages" }, modelSelect)),
    progress.node,
    body,
  );

  const client = makeClient(site, showProgress);
  const pages = new Map();
  const ready = new Set();
  const params = () => new URLSearchParams(location.search);

  const context = {
    tabs,
    site,
    ask: client.ask,
    openPage,
    params,
    get model() {
      return site.models[params().get("model")] ? params().get("model") : Object.keys(site.models)[0];
    },
    get modelInfo() {
      return site.models[context.model];
    },
    get text() {
      return params().get("text") ?? context.modelInfo.examples[0];
    },
    get ready() {
      return ready.has(context.model);
    },
  };

  // Set fields of the address; null removes one. Only a change of page adds a history entry.
  /** @param {Record<string, string | null>} changes */
  function write(changes, push = false) {
    const next = params();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    const address = location.pathname + (next.size ? `?${next}` : "");
    if (push) history.pushState(null, "", address);
    else history.replaceState(history.state, "", address);
  }

  // Open another page, keeping only the shared fields.
  /** @param {string} page @param {Record<string, string>} fields */
  function openPage(page, fields = {}) {
    const clearedFields = Object.fromEntries(
      [...params().keys()].map((name) => [name, SHARED_FIELDS.includes(name) ? params().get(name) : null]),
    );
    write({ ...clearedFields, page, ...fields }, true);
    draw();
    scrollTo(0, 0);
  }
  context.write = write;
  context.link = writeAddress;

  function showProgress(update) {
    if (update.ready) ready.add(update.model);
    if (update.model === context.model) progress.show(update);
  }

  function draw() {
    const name = LIVE_PAGES[params().get("page") ?? ""] ? params().get("page") ?? "" : "";
    modelSelect.value = context.model;
    nav.replaceChildren(
      ...Object.entries(LIVE_PAGES).map(([page, { title }]) => {
        const linkParams = new URLSearchParams(
          SHARED_FIELDS.filter((field) => params().has(field)).map((field) => [field, params().get(field)]),
        );
        if (page) linkParams.set("page", page);
        const link = el("a", {
          href: linkParams.size ? `?${linkParams}` : location.pathname,
          "aria-current": page === name ? "page" : null,
        }, title);
        link.addEventListener("click", (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
          event.preventDefault();
          openPage(page);
        });
        return link;
      }),
      el("a", { href: "course.html" }, "Course"),
    );
    document.title = `${LIVE_PAGES[name].title} · Heads Up`;
    if (!pages.has(name)) {
      const node = el("section", { class: "hu-live-page" });
      pages.set(name, { node, ...LIVE_PAGES[name].make(node, context) });
    }
    if (body.firstChild !== pages.get(name).node) body.replaceChildren(pages.get(name).node);
    pages.get(name).draw();
    progress.bar.hidden = context.ready;
    if (!context.ready) client.ask("load", { model: context.model }).catch(progress.problem);
  }

  modelSelect.addEventListener("change", () => {
    write({ model: modelSelect.value === Object.keys(site.models)[0] ? null : modelSelect.value, text: null });
    draw();
  });
  addEventListener("popstate", draw);
  draw();
  registerServiceWorker();
}
