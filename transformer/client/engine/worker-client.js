// The engine "worker": requests to the model in a worker of this tab (worker.js), and their answers.

/**
 * `isReady` returns whether the worker has loaded a model of this name, and loads it if it has not. `loading`: the last
 * news of the first model.
 * @typedef {{ ask: Engine["ask"], isReady(model: string): boolean, loading: Loading, end(): void }} OwnModel
 */

// The property of the document that is the `OwnModel` of a tab in which own-model.js has started one. The scripts of a
// page share it, and each has a copy of this module.
export const OWN_MODEL = Symbol.for("heads-up-own-model");
const NO_WORKERS =
  "The model cannot run here: this browser does not support module workers. A current Chrome, Edge, Firefox or Safari does.";

/**
 * @param {any} site data of the models and their files, written by Python for the worker
 * @param {(loading: Loading) => void} onLoading called while a model is loading, and when it cannot be loaded
 * @param {string} scripts path from the page to the worker's scripts
 * @returns {Engine & { close(): void }}
 */
export function makeWorkerEngine(site, onLoading, scripts = "scripts/") {
  let [id, failure] = [0, ""];
  const pendingRequests = new Map();
  /** @type {Worker | null} */
  let worker = null;
  let readsType = false; // only a browser with module workers reads the option `type`
  try {
    worker = new Worker(`${scripts}engine/worker.js`, {
      get type() {
        readsType = true;
        return /** @type {WorkerType} */ ("module");
      },
    });
    worker.postMessage({ site });
  } catch {
    readsType = false;
  }
  if (!readsType) {
    worker?.terminate();
    fail(NO_WORKERS);
  }
  worker?.addEventListener("error", async (event) => {
    event.preventDefault();
    if (readsType) fail(await scriptProblem(site.scripts ?? [], scripts, event.message));
  });
  worker?.addEventListener("message", ({ data }) => {
    if (data.loading) return onLoading(data.loading);
    const { resolve, reject } = pendingRequests.get(data.id) ?? {};
    pendingRequests.delete(data.id);
    if (data.problem) reject?.(Object.assign(new Error(data.problem), { isLoadError: data.isLoadError }));
    else resolve?.(data.superseded ? null : data.result);
  });

  function fail(problem) {
    failure = problem;
    onLoading({ model: "", problem });
    for (const { reject } of pendingRequests.values()) reject(loadError(problem));
    pendingRequests.clear();
  }

  // The answer, or null if a newer request of this kind has replaced it.
  /** @type {Engine["ask"]} */
  function ask(kind, request) {
    if (kind === "models") return Promise.resolve(site);
    if (failure) {
      onLoading({ model: "", problem: failure });
      return Promise.reject(loadError(failure));
    }
    return new Promise((resolve, reject) => {
      pendingRequests.set(++id, { resolve, reject });
      worker.postMessage({ ...request, kind, id });
    });
  }

  // No request is answered after this.
  function close() {
    worker?.terminate();
    fail("The model has been closed.");
  }
  return { ask, close };
}

// An error that the line about loading shows: the page need not repeat it, and the same request can succeed later.
const loadError = (problem) => Object.assign(new Error(problem), { isLoadError: true });

// Why the worker's scripts do not run, as a sentence: a browser's own error names neither the file nor the reason.
/** @param {string[]} scripts their paths below `folder` @param {string} folder @param {string} message of the error event */
async function scriptProblem(scripts, folder, message = "") {
  for (const path of scripts) {
    const response = await fetch(folder + path).catch(() => null);
    if (!response) {
      return `The model cannot run: scripts/${path} could not be fetched. Check the connection, and reload the page.`;
    }
    if (!response.ok) return `The model cannot run: the server answers ${response.status} for scripts/${path}.`;
    const type = response.headers.get("Content-Type") ?? "no type";
    if (!type.includes("javascript")) {
      return `The model cannot run: the server sends scripts/${path} as ${type}, and a browser runs it only as text/javascript.`;
    }
  }
  return `The model cannot run: ${message || "its script has ended"}. Reload the page.`;
}

// Registers the service worker, which caches pages and scripts for offline use, where allowed.
export function registerServiceWorker(root = "") {
  navigator.serviceWorker?.register(`${root}service-worker.js`).catch(() => undefined);
}
