// The models in a worker of this tab, with the files that the app's server sends once (api/model_files.py). The first model
// is loaded at the start, another one when a request names it; until then, and if that fails, the server answers.

import { isSupported } from "../model/kernels.js";
import { makeWorkerEngine, OWN_MODEL } from "./worker-client.js";

/** @import { OwnModel } from "./worker-client.js" */

export const OWN_MODEL_NEWS = "heads-up-own-model"; // event of the document: `loading` has changed
const PAUSES_MS = [0, 5000, 30_000]; // before each attempt to load a model

/** @param {string} base address of the app @param {string} scripts folder of the worker's scripts, below `base` */
export function startOwnModel(base, scripts) {
  const [requested, ready] = [new Set(), new Set()]; // names of models
  let site = /** @type {SiteData | null} */ (null);
  let worker = /** @type {ReturnType<typeof makeWorkerEngine> | null} */ (null);
  let hasEnded = false;

  /** @type {OwnModel} */
  const own = {
    loading: { model: "" },
    ask: (kind, request) => worker.ask(kind, request),
    isReady(model) {
      if (site?.models[model]?.files && !requested.has(model)) load(model);
      return ready.has(model);
    },
    end() {
      hasEnded = true;
      delete document[OWN_MODEL];
      worker?.close();
    },
  };

  /** @param {Loading} loading */
  function report(loading) {
    const isFirst = !loading.model || loading.model === Object.keys(site.models)[0];
    if (hasEnded || !isFirst) return;
    own.loading = loading;
    document.dispatchEvent(new Event(OWN_MODEL_NEWS));
  }

  async function start() {
    if (!isSupported()) throw new Error("This browser has no WebAssembly with SIMD.");
    site = await (await fetch(`${base}api/models`)).json();
    if (hasEnded) return;
    const files = Object.values(site.models).flatMap((model) => model.files ?? []);
    for (const file of files) file.path = base + file.path;
    worker = makeWorkerEngine(site, report, `${base}${scripts}/`);
    const [first] = Object.keys(site.models);
    own.isReady(first);
    if (!requested.has(first)) throw new Error("A browser cannot run this model.");
  }

  /** @param {string} model */
  async function load(model) {
    requested.add(model);
    for (const pause of PAUSES_MS) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (hasEnded || ready.has(model)) return;
      await worker.ask("load", { model }).then(() => ready.add(model), () => {}); // `report` gets the reason
    }
  }

  document[OWN_MODEL] = own;
  start().catch((error) => report({ model: "", problem: error.message }));
}
