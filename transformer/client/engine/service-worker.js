// Caches the site's pages and scripts, so that it opens offline. Python fills in the two constants: the version
// of the site and its files. A new version is installed next to the old one and then replaces it. Models have a
// cache of their own (model-files.js).

/** @type {any} */
const worker = self;
const VERSION = "";
const FILES = [];
const MODELS = "models/";
const CACHE_NAME = `heads-up-site-${VERSION}`;

worker.addEventListener("install", (/** @type {any} */ event) => {
  const files = FILES.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE_NAME).then((cache) => cache.addAll(files)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (/** @type {any} */ event) => {
  const isOldCache = (name) => name.startsWith("heads-up-site-") && name !== CACHE_NAME;
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter(isOldCache).map((name) => caches.delete(name))))
      .then(() => worker.clients.claim()),
  );
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const url = new URL(event.request.url);
  const scope = new URL(worker.registration.scope);
  const path = url.pathname.slice(scope.pathname.length);
  if (event.request.method !== "GET" || url.origin !== scope.origin || path.startsWith(MODELS)) return;
  event.respondWith(respond(event.request, path === "" ? "index.html" : path));
});

// What a page or a frame shows of a file that is neither stored nor to be fetched, such as a film.
function notStored() {
  const text = "You are offline, and this browser has not stored this page: open it once while you are online.";
  const page = `<!doctype html><meta charset="utf-8"><title>Offline</title><p>${text}</p>`;
  return new Response(page, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8" } });
}

async function respond(request, path) {
  const cache = await caches.open(CACHE_NAME);
  const cached = await cache.match(path, { ignoreSearch: true });
  if (cached) return cached;
  const response = await fetch(request).catch((error) => {
    if (request.mode !== "navigate") throw error;
    return notStored();
  });
  if (response.ok && response.status === 200) await cache.put(path, response.clone()).catch(() => undefined); // a file that is not in FILES, such as a film
  return response;
}
