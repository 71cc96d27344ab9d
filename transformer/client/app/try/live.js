// The site without a server: the app's page Try with a model that runs in this browser. The address holds the state,
// in the fields of the app's addresses.

import { writeAddress } from "../../common/address.js";
import { el } from "../../common/base.js";
import { makeWorkerEngine, registerServiceWorker } from "../../engine/worker-client.js";
import { modelSelect } from "./model-select.js";
import { BEAM_SIZE, explorePage } from "./live-explore.js";
import { homePage } from "./live-home.js";
import { offPage } from "./off.js";
import { makeLoading } from "./live-loading.js";
import { kept, OPENED_MODEL } from "../trainer/kept.js";

const DEPTH_PAGES = {
  heads: explorePage,
  steps: (container, context) => explorePage(container, context, ["decoding"]),
  off: offPage,
}; // what is below the sentence; the bands belong to the view of the sentence itself
const KEPT_FIELDS = [
  ...["model", "text", "method", "kind", "layer", "head", "row", "column", "other"],
  ...["off", "ablation", "edited_row", "masked_tokens", "patch"],
]; // fields kept in another depth
const MODEL_FIELDS = ["off", "edited_row", "masked_tokens", "patch", "force", "step"]; // fields that mean nothing for another model

const TRAINED = "trained"; // the name of the model that the page Train has opened here
const NO_TRAINED_MODEL =
  "This browser has no model of yours: train one on the page Train, and choose “Open in every view” there.";

// The site's data of a model that this browser has trained.
const trainedModel = ({ config, symbols, safetensors, title, examples }) => ({
  label: `${title} (trained in this browser)`,
  reads: "",
  writes: "",
  languages: ["", ""],
  hint: "Symbols separated by spaces",
  examples,
  config,
  symbols,
  safetensors,
  aligner: null,
  aligner_agreement: null,
  prepared: { text: null },
});

/** @param {Record<string, Tab>} tabs the explorer's views @param {any} site the data of the site that Python writes */
export async function openLive(tabs, site) {
  const isTrained = new URLSearchParams(location.search).get("model") === TRAINED;
  const trained = isTrained ? await kept(OPENED_MODEL) : null;
  if (trained) site.models[TRAINED] = trainedModel(trained);
  const models = modelSelect(site);
  const progress = makeLoading(draw);
  const top = el("div", { class: "hu-live-page" });
  const body = el("div", { class: "hu-live-body" });
  document.getElementById("hu-live").replaceChildren(
    el("div", { class: "hu-line hu-live-top" }, el("label", { class: "hu-live-languages" }, models), progress.node),
    ...(isTrained && !trained ? [el("p", { class: "hu-live-note" }, NO_TRAINED_MODEL)] : []),
    top,
    body,
  );

  const pages = new Map();
  const loadings = new Map(); // the last news of each model
  const client = makeWorkerEngine(site, showLoading);
  const params = () => new URLSearchParams(location.search);

  const context = {
    tabs,
    site,
    ask: client.ask,
    openDepth,
    draw,
    params,
    link: writeAddress,
    get model() {
      return Object.hasOwn(site.models, params().get("model")) ? params().get("model") : Object.keys(site.models)[0];
    },
    get modelInfo() {
      return site.models[context.model];
    },
    get text() {
      return params().get("text") ?? context.modelInfo.examples[0];
    },
    get depth() {
      const names = site.depths.map(([name]) => name);
      return names.includes(params().get("depth")) ? params().get("depth") : names[0];
    },
    write,
    decoding: () => ({ beam: params().get("method") === "beam" ? BEAM_SIZE : 1 }),
  };
  const home = homePage(top, context);

  // Set fields of the address; null removes one. Only a change of depth adds a history entry.
  /** @param {Record<string, string | null>} changes */
  function write(changes, push = false) {
    const next = params();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    const address = location.pathname + (next.size ? `?${next}` : "");
    if (push) history.pushState(null, "", address);
    else history.replaceState(history.state, "", address);
  }

  // Open another depth with the same sentence and head.
  /** @param {string} depth @param {Record<string, string>} fields */
  function openDepth(depth, fields = {}) {
    const dropped = [...params().keys()].filter((name) => !KEPT_FIELDS.includes(name));
    write({ ...Object.fromEntries(dropped.map((name) => [name, null])), depth, ...fields }, true);
    draw();
  }

  function showLoading(loading) {
    loadings.set(loading.model, loading);
    if (!loading.model || loading.model === context.model) progress.show(loading);
  }

  function draw() {
    const { depth, model } = context;
    models.value = model;
    document.title = `${site.depths.find(([name]) => name === depth)[1]} · Heads Up`;
    home.draw();
    if (!Object.hasOwn(DEPTH_PAGES, depth)) body.replaceChildren();
    else {
      if (!pages.has(depth)) {
        const node = el("section", { class: "hu-live-page" });
        pages.set(depth, { node, ...DEPTH_PAGES[depth](node, context) });
      }
      if (body.firstChild !== pages.get(depth).node) body.replaceChildren(pages.get(depth).node);
      pages.get(depth).draw();
    }
    const loading = loadings.get(model);
    if (loading) progress.show(loading);
    if (!loading?.ready) client.ask("load", { model }).catch(() => undefined); // `showLoading` says why not
  }

  models.addEventListener("change", () => {
    const [before, after] = [context.modelInfo, site.models[models.value]];
    const cleared = before.languages[0] === after.languages[0] ? MODEL_FIELDS : [...MODEL_FIELDS, "text"];
    write({
      ...Object.fromEntries(cleared.map((name) => [name, null])),
      model: models.value === Object.keys(site.models)[0] ? null : models.value,
    });
    draw();
  });
  addEventListener("popstate", draw);
  draw();
  registerServiceWorker();
}
