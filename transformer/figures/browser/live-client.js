// The page's interface to live/worker.js: requests to the model and their answers.

const NO_WORKERS =
  "The model cannot run here: this browser does not support module workers. A current Chrome, Edge, Firefox or Safari does.";

/**
 * @typedef {{ model: string, bytes: number, loaded: number, ready?: boolean, stored?: boolean }} Loading
 * @param {any} site data written by Python for the worker
 * @param {(loading: Loading) => void} onLoading called while a model is loading
 * @param {string} root path from the page to the site's folder
 */
export function makeClient(site, onLoading, root = "") {
  let [id, failure] = [0, ""];
  const pendingRequests = new Map();
  /** @type {Worker | null} */
  let worker = null;
  try {
    worker = new Worker(`${root}scripts/live/worker.js`, { type: "module" });
    worker.postMessage({ site });
  } catch {
    failure = NO_WORKERS;
  }
  worker?.addEventListener("error", (event) => {
    event.preventDefault();
    failure = NO_WORKERS;
    for (const { reject } of pendingRequests.values()) reject(new Error(failure));
    pendingRequests.clear();
  });
  worker?.addEventListener("message", ({ data }) => {
    if (data.loading) return onLoading(data.loading);
    const { resolve, reject } = pendingRequests.get(data.id) ?? {};
    pendingRequests.delete(data.id);
    if (data.problem) reject?.(Object.assign(new Error(data.problem), { isTextError: data.isTextError }));
    else resolve?.(data.superseded ? null : data.result);
  });

  // The answer, or null if a newer request of this kind has replaced it.
  /** @param {string} kind @param {any} request @returns {Promise<any>} */
  function ask(kind, request) {
    if (failure) return Promise.reject(new Error(failure));
    return new Promise((resolve, reject) => {
      pendingRequests.set(++id, { resolve, reject });
      worker.postMessage({ ...request, kind, id });
    });
  }
  return { ask };
}

// Registers the service worker, which caches pages and scripts for offline use, where allowed.
export function registerServiceWorker(root = "") {
  navigator.serviceWorker?.register(`${root}service-worker.js`).catch(() => undefined);
}

// Why this text cannot be translated, as a sentence, or "". The model itself checks the number of pieces.
/** @param {string} text */
export function textProblem(text) {
  if (!text.trim()) return "Type a few words to translate.";
  if (!/[\p{L}\p{N}]/u.test(text)) return "The text contains only symbols; type a word.";
  if (text.length > 20_000) return `The text has ${text.length.toLocaleString("en")} characters; type at most 20,000.`;
  return "";
}
