// Saved views and their dialog: save, name, annotate, reorder, remove and export.

import { splitAddress } from "../../common/address.js";
import { button, chooseFile, download, el } from "../../common/base.js";

// The browser stores a list that is read, changed and written as a whole. A view is `{ page, query, title,
// note, day }`; `page` must be one of the app's, so that an imported list cannot link elsewhere.
/** @typedef {{ page: string, query: string, title: string, note: string, day: string }} SavedView */

export const FORMAT = "heads-up views 1";
export const MAX_VIEWS = 100;
const MAX_CHARACTERS = { query: 8000, title: 200, note: 2000, day: 10 };
const STORAGE_KEY = "heads-up.views";

// The stored list; empty if the browser stores nothing or something invalid.
/** @param {Pick<Storage, "getItem">} storage @param {string[]} pages @returns {SavedView[]} */
export function storedViews(storage, pages) {
  try {
    return parseViews(storage.getItem(STORAGE_KEY) || "", pages);
  } catch {
    return [];
  }
}

// Stores the list. Returns false if the browser does not allow it.
/** @param {Pick<Storage, "setItem">} storage @param {SavedView[]} views */
export function storeViews(storage, views) {
  try {
    storage.setItem(STORAGE_KEY, jsonOf(views));
    return true;
  } catch {
    return false;
  }
}

/** @param {SavedView[]} views */
export const jsonOf = (views) => `${JSON.stringify({ format: FORMAT, views }, null, 2)}\n`;

// Parses the text that `jsonOf` writes. Throws an Error whose message says what is wrong.
/** @param {string} text @param {string[]} pages @returns {SavedView[]} */
export function parseViews(text, pages) {
  let content = null;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("This file is not valid JSON, so it contains no list of views.");
  }
  if (content?.format !== FORMAT || !Array.isArray(content.views)) {
    throw new Error(`This file is not a list of views; its format must be “${FORMAT}”.`);
  }
  if (content.views.length > MAX_VIEWS) {
    throw new Error(`This list has ${content.views.length} views; at most ${MAX_VIEWS} can be saved.`);
  }
  return content.views.map((view, index) => checkedView(view, index + 1, pages));
}

function checkedView(view, number, pages) {
  for (const [name, maxCharacters] of Object.entries(MAX_CHARACTERS)) {
    if (typeof view?.[name] !== "string") throw new Error(`View ${number} of this list has no ${name}.`);
    if (view[name].length > maxCharacters) {
      throw new Error(
        `The ${name} of view ${number} has ${view[name].length} characters; at most ${maxCharacters} can be saved.`,
      );
    }
  }
  if (!pages.includes(view.page)) {
    throw new Error(`View ${number} of this list belongs to a page that this app does not have.`);
  }
  const { page, title, note, day } = view;
  return { page, query: new URLSearchParams(view.query).toString(), title, note, day };
}

/** @param {string} base @param {Pick<SavedView, "page" | "query">} view */
export const addressOf = (base, { page, query }) => base + page + (query && `?${query}`);

// The list with this view first; a view of the same address moves to the front.
/** @param {SavedView[]} views @param {SavedView} view */
export function withView(views, view) {
  const hasSameAddress = ({ page, query }) => page === view.page && query === view.query;
  return [views.find(hasSameAddress) || view, ...views.filter((saved) => !hasSameAddress(saved))].slice(0, MAX_VIEWS);
}

// The list with the view at `index` moved by `step`.
/** @param {SavedView[]} views */
export function movedView(views, index, step) {
  const otherViews = views.filter((_, i) => i !== index);
  return [...otherViews.slice(0, index + step), views[index], ...otherViews.slice(index + step)];
}

const EMPTY_NOTE = "There are no saved views yet. Save this view to find it here again in this browser.";

// Accessed on use: where storage is forbidden, even reading the property throws.
const storage = {
  getItem: (name) => localStorage.getItem(name),
  setItem: (name, value) => localStorage.setItem(name, value),
};

// `.button` opens `.dialog`. `currentTitle()` returns the name of the current view.
export function makeSavedViews(currentTitle) {
  let pages = [""];
  let views = [];
  const status = el("p", { class: "hu-saved-message", role: "status" });
  const list = el("ol", { class: "hu-saved-list" });
  const html = button("Export as HTML", exportHtml);
  const json = button("Export as JSON", exportJson);
  const importFile = () => chooseFile(".json,application/json", async (file) => importViews(await file.text()));
  const buttons = el(
    "div",
    { class: "hu-line" },
    button("Save this view", add, { class: "hu-button hu-saved-first" }),
    html,
    json,
    button("Import JSON …", importFile, { title: "Adds the views of an exported JSON file to this list" }),
    button("Close", () => dialog.close()),
  );
  const dialog = el(
    "dialog",
    { class: "hu-dialog hu-saved", "aria-label": "Saved views" },
    el("h2", {}, "Saved views"),
    el("p", { class: "hu-saved-about" }, "Stored only in this browser; they are not sent to the server."),
    buttons,
    status,
    list,
  );
  const opener = button(el("span", { class: "hu-saved-mark", "aria-hidden": "true" }), open, {
    class: "hu-button hu-link-button hu-saved-button",
    "aria-label": "Saved",
    title: "Saved views: save the current view with a note, or export the list",
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  function open() {
    views = storedViews(storage, pages);
    status.textContent = "";
    draw();
    dialog.showModal();
  }

  function add() {
    const { page, query } = splitAddress(location.href, pages);
    if (views.length >= MAX_VIEWS) return showStatus(`${MAX_VIEWS} views are saved already; remove one first.`);
    setViews(withView(views, { page, query, title: currentTitle().slice(0, 200), note: "", day: today() }));
    list.querySelector("textarea")?.focus();
    return undefined;
  }

  function importViews(text) {
    try {
      const imported = parseViews(text, pages);
      setViews(imported.reduceRight(withView, views));
      showStatus(`${imported.length} view${imported.length === 1 ? "" : "s"} opened.`);
    } catch (error) {
      showStatus(error.message);
    }
  }

  function setViews(newViews) {
    views = newViews;
    showStatus(
      storeViews(storage, views)
        ? ""
        : "This browser does not allow storage for this page; export the list as JSON before you leave.",
    );
    draw();
  }

  function showStatus(text) {
    status.textContent = text;
  }

  function draw() {
    html.disabled = json.disabled = !views.length;
    list.replaceChildren(...(views.length ? views.map(entry) : [el("li", { class: "hu-saved-empty" }, EMPTY_NOTE)]));
  }

  function entry(view, index) {
    const change = (name) => (event) => {
      views = views.map((saved, i) => (i === index ? { ...saved, [name]: event.target.value } : saved));
      if (!storeViews(storage, views)) showStatus("This browser does not allow storage for this page.");
    };
    const title = el("input", { type: "text", value: view.title, maxlength: 200, "aria-label": "Name of the view" });
    const note = el("textarea", {
      rows: 2,
      maxlength: 2000,
      placeholder: "Note",
      "aria-label": `Note on ${view.title}`,
    });
    note.value = view.note;
    title.addEventListener("input", change("title"));
    note.addEventListener("input", change("note"));
    const move = (label, step, name) => {
      const node = button(label, () => setViews(movedView(views, index, step)), namedFor(name));
      node.disabled = index + step < 0 || index + step >= views.length;
      return node;
    };
    const namedFor = (name) => ({ title: name, "aria-label": `${name}: ${view.title}` });
    const remove = button("✕", () => setViews(views.filter((_, i) => i !== index)), namedFor("Remove"));
    const { base } = splitAddress(location.href, pages);
    const attributes = {
      class: "hu-button hu-saved-open",
      href: addressOf(base, view),
      "aria-label": `Open: ${view.title}`,
    };
    const link = el("a", attributes, "Open");
    return el(
      "li",
      {},
      el("div", { class: "hu-line" }, title, link, move("↑", -1, "Up"), move("↓", 1, "Down"), remove),
      note,
    );
  }

  function exportJson() {
    download(new Blob([jsonOf(views)], { type: "application/json" }), `heads-up-views-${today()}.json`);
  }
  function exportHtml() {
    const html = pageOf(views, splitAddress(location.href, pages).base);
    download(new Blob([html], { type: "text/html" }), `heads-up-views-${today()}.html`);
  }

  return {
    button: opener,
    dialog,
    show: (pageNames) => {
      pages = pageNames;
    },
  };
}

const today = () => new Date().toISOString().slice(0, 10);

// An HTML page with a link and a note for each view. User input becomes text, never HTML.
function pageOf(views, base) {
  const page = document.implementation.createHTMLDocument("Views of Heads Up");
  page.documentElement.lang = "en";
  page.head.prepend(el("meta", { charset: "utf-8" }));
  page.head.append(
    el(
      "style",
      {},
      "body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; } li { margin-block: 1.2rem; } p { margin: 0.3rem 0; white-space: pre-wrap; } small { color: #555; }",
    ),
  );
  page.body.append(
    el("h1", {}, "Views of Heads Up"),
    el("p", {}, `The links open where the app runs: ${base}`),
    el(
      "ol",
      {},
      ...views.map((view) =>
        el(
          "li",
          {},
          el("a", { href: addressOf(base, view) }, view.title || "(no name)"),
          " ",
          el("small", {}, view.day),
          view.note ? el("p", {}, view.note) : null,
        )
      ),
    ),
  );
  return `<!doctype html>\n${new XMLSerializer().serializeToString(page.documentElement)}\n`;
}
