// The page Try: a sentence and its translation, in four depths. The static site, the app and notebooks mount it; its model
// is behind `ask` of an engine (engine/requests.d.ts). The page owns its address, which holds its whole state.

import { browserAddress, writeState } from "../../common/address.js";
import { el } from "../../common/base.js";
import { onOpenPlace } from "../../common/open.js";
import { addressProblems } from "./address-problems.js";
import { explorePage } from "./heads-and-steps.js";
import { homePage } from "./bands.js";
import { makeLoading } from "./loading.js";
import { languageSelect, modelSelect } from "./model-select.js";
import { decodingOf } from "./decoding.js";
import { offPage } from "./off.js";

const DEPTH_PAGES = {
  heads: explorePage,
  steps: (container, context) => explorePage(container, context, ["decoding"]),
  off: offPage,
}; // what is below the sentence; the bands belong to the view of the sentence itself
const KEPT_FIELDS = [
  ...["model", "text", "method", "target", "beam_size", "length_penalty", "temperature", "top_k", "top_p", "seed"],
  ...["kind", "layer", "head", "row", "column", "other", "other_model", "lesson", "lesson_text", "exact"],
  ...["off", "ablation", "edited_row", "masked_tokens", "patch"],
]; // fields kept in another depth
const MODEL_FIELDS = ["off", "edited_row", "masked_tokens", "patch", "force", "step", "why"]; // fields that mean nothing for another model

const NOTHING_TO_OPEN = "No model can be opened here. The page Train makes one.";

/** @typedef {import("../../common/address.js").Address} Address */

/**
 * @param {HTMLElement | ShadowRoot} container
 * @param {{
 *   tabs: Record<string, Tab>, makeEngine: (onLoading: (loading: Loading) => void) => Engine, isFile?: boolean,
 *   notes?: (string | Node)[], makeEnd?: (context: any) => { node: HTMLElement, draw(): void }, address?: Address,
 * }} options tabs: the explorer's views; isFile: outside of Streamlit, light or dark as the browser prefers; notes: shown
 *   above the page; makeEnd: makes what is below the page
 */
export async function openTry(container, options) {
  const { tabs, makeEngine, isFile = false, notes = [], makeEnd, address = browserAddress } = options;
  const ended = new AbortController();
  const loadings = new Map(); // the last news of each model
  const progress = makeLoading(() => draw());
  const problems = el("div", { class: "hu-live-notes" }, ...notes.map(noteOf));
  const top = el("div", { class: "hu-live-page" });
  const body = el("div", { class: "hu-live-body" });
  const bar = el("div", { class: "hu-line hu-live-top" }, progress.node);
  const root = el("div", { class: `hu hu-try${isFile ? " hu-file" : ""}` }, problems, bar, top, body);
  container.replaceChildren(root);

  let site = /** @type {SiteData | null} */ (null);
  const engine = makeEngine(showLoading);
  site = await engine.ask("models");
  const pages = new Map();
  const details = new Map(); // what is known of the models that are loaded
  const { params } = address;
  const firstModel = () => Object.keys(site.models)[0];

  const context = {
    tabs,
    site,
    ask: engine.ask,
    openDepth,
    draw,
    params,
    address,
    link: (state, defaults) => writeState(address, state, defaults),
    size: isFile ? undefined : "normal", // of the page around it, if that has a button for it
    get model() {
      return Object.hasOwn(site.models, params().get("model") ?? "") ? params().get("model") : firstModel();
    },
    get modelInfo() {
      return site.models[context.model];
    },
    /** @returns {LoadedModel | null} */
    get loadedModel() {
      return details.get(context.model) ?? null;
    },
    get text() {
      return params().get("text") ?? context.modelInfo.examples[0] ?? "";
    },
    get depth() {
      const names = site.depths.map(([name]) => name);
      return names.includes(params().get("depth")) ? params().get("depth") : names[0];
    },
    write,
    place: () => ({ page: "", params: Object.fromEntries(params()) }),
    decoding: () => decodingOf(site, params()),
  };
  if (!firstModel()) {
    problems.append(noteOf(NOTHING_TO_OPEN));
    return { enlarge() {}, close() {} };
  }
  const models = modelSelect(site);
  const language = languageSelect(context, (text) => {
    write({ text });
    draw();
  });
  bar.prepend(models.node, language.node);
  const home = homePage(top, context);
  const end = makeEnd?.(context);
  if (end) root.append(end.node);

  // Set fields of the address; null removes one. Only a change of depth adds a history entry.
  /** @param {Record<string, string | null>} changes */
  function write(changes, push = false) {
    const next = params();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    address.write(next, push);
  }

  // Open another depth with the same sentence and head.
  /** @param {string} depth @param {Record<string, string>} fields */
  function openDepth(depth, fields = {}) {
    const dropped = [...params().keys()].filter((name) => !KEPT_FIELDS.includes(name));
    write({ ...Object.fromEntries(dropped.map((name) => [name, null])), depth, ...fields }, true);
    draw(true);
  }

  function showLoading(loading) {
    loadings.set(loading.model, loading);
    if (!site || !loading.model || loading.model === context.model) progress.show(loading);
  }

  // Fields of the address that mean nothing here are removed, with a sentence for each.
  function checkAddress() {
    const found = addressProblems(site, params());
    if (!found.length) return;
    write(Object.fromEntries(found.map(({ field, value }) => [field, value])));
    problems.append(...found.map(({ sentence }) => noteOf(sentence)));
  }

  function draw(arrived = false) {
    const { depth, model } = context;
    models.choose(model);
    language.draw();
    if (isFile && address === browserAddress) {
      document.title = `${site.depths.find(([name]) => name === depth)[1]} · Heads Up`;
    }
    root.toggleAttribute("data-lesson", params().has("lesson"));
    home.draw();
    if (!Object.hasOwn(DEPTH_PAGES, depth)) body.replaceChildren();
    else {
      if (!pages.has(depth)) {
        const node = el("section", { class: "hu-live-page" });
        pages.set(depth, { node, ...DEPTH_PAGES[depth](node, context) });
      }
      if (body.firstChild !== pages.get(depth).node) body.replaceChildren(pages.get(depth).node);
      pages.get(depth).draw(arrived);
    }
    end?.draw();
    const loading = loadings.get(model);
    if (loading) progress.show(loading);
    if (!details.has(model)) loadModel(model);
  }

  async function loadModel(model) {
    try {
      details.set(model, await engine.ask("load", { model }));
      if (context.model === model && !ended.signal.aborted) draw();
    } catch { /* `showLoading` says why not */ }
  }

  models.node.addEventListener("change", () => {
    const [before, after] = [context.modelInfo, site.models[models.node.value]];
    const cleared = before.languages[0] === after.languages[0] ? MODEL_FIELDS : [...MODEL_FIELDS, "text", "target"];
    write({
      ...Object.fromEntries(cleared.map((name) => [name, null])),
      model: models.node.value === firstModel() ? null : models.node.value,
    });
    draw();
  });
  const arrive = () => {
    problems.replaceChildren();
    home.forgetTyped();
    for (const page of pages.values()) page.forgetChange?.();
    checkAddress();
    draw(true);
  };
  const endArriving = address.onChange(arrive);
  const endOpening = onOpenPlace(({ page, params: fields }) => {
    if (page || !fields) return false;
    address.write(new URLSearchParams(fields), true);
    arrive();
    return true;
  });
  checkAddress();
  draw();
  return {
    // Everything larger, for a projector.
    /** @param {boolean} large */
    enlarge(large) {
      const size = large ? "large" : "normal";
      root.dataset.size = size;
      if (context.size === size) return;
      context.size = size;
      draw();
    },
    close() {
      ended.abort();
      endArriving();
      endOpening();
      home.close();
      for (const page of pages.values()) page.close?.();
    },
  };
}

/** @param {string | Node} text */
const noteOf = (text) => el("p", { class: "hu-live-note", role: "alert" }, text);
