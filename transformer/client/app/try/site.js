// The page Try of the static site: its model runs in this browser.

import { el } from "../../common/base.js";
import { makeWorkerEngine, registerServiceWorker } from "../../engine/worker-client.js";
import { siteAddress } from "../../common/site-places.js";
import { makeEnd } from "./end.js";
import { kept, OPENED_MODEL } from "../trainer/kept.js";
import { openSiteLessons } from "../learn/site-lessons.js";
import { openTry } from "./try.js";

const TRAINED = "trained"; // the name of the model that the page Train has opened here
const TO_TRAINING = "Its training: film, loss and outputs →";
const NO_TRAINED_MODEL =
  "This browser has no model of yours: train one on the page Train, and choose “Open in every view” there.";

// The site's data of a model that this browser has trained.
const trainedModel = ({ config, symbols, safetensors, title, examples }) => ({
  label: `${title} (trained in this browser)`,
  kind: "trained",
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
export async function openSite(tabs, site) {
  const isTrained = new URLSearchParams(location.search).get("model") === TRAINED;
  const trained = isTrained ? await kept(OPENED_MODEL) : null;
  if (trained) site.models[TRAINED] = trainedModel(trained);
  else if (isTrained) history.replaceState(history.state, "", location.pathname);
  let showLoading = (_) => {};
  const engine = makeWorkerEngine(site, (loading) => showLoading(loading)); // lessons and page use the same model
  await openTry(document.getElementById("hu-live"), {
    tabs,
    makeEngine(onLoading) {
      showLoading = onLoading;
      return engine;
    },
    makeEnd: (context) => makeEnd(context, site.next, (place) => siteAddress(site.places, place)),
    isFile: true,
    notes: trained ? [el("a", { href: "train.html#opened" }, TO_TRAINING)] : isTrained ? [NO_TRAINED_MODEL] : [],
  });
  openSiteLessons(site, "", engine.ask);
  registerServiceWorker();
}
