// Large files, fetched once and stored in the browser's Cache storage. Stored files are checked like fetched
// ones: a truncated or changed file is fetched again and never used.

const ROOT = new URL("../../", import.meta.url); // the site's folder
export const CACHE_NAME = "heads-up-models";
/** @type {Map<string, Blob>} */
const partialDownloads = new Map(); // the first bytes of interrupted downloads, by URL; the storage has them too if it can

/**
 * @param {{ path: string, bytes: number, sha256: string }} file its path below the site's own, or its address
 * @param {(loaded: number) => void} onProgress called with the number of bytes loaded so far
 * @returns {Promise<{ bytes: Uint8Array, stored: boolean }>} the bytes, and whether the browser stores them
 */
export async function fetchFile(file, onProgress) {
  const url = new URL(`${file.path}?${file.sha256.slice(0, 12)}`, ROOT).href;
  // Storage may be forbidden, and does not exist on insecure pages.
  const cache = await Promise.resolve(globalThis.caches?.open(CACHE_NAME)).catch(() => undefined);
  const cached = await cache?.match(url).catch(() => undefined);
  if (cached) {
    const bytes = new Uint8Array(await cached.arrayBuffer());
    if (!(await problemOf(bytes, file))) {
      onProgress(bytes.length);
      return { bytes, stored: true };
    }
    await cache.delete(url);
  }
  const bytes = await download(url, file, onProgress, cache);
  const problem = await problemOf(bytes, file);
  if (problem) throw new Error(`The model file ${file.path} ${problem}; reload the page to fetch it again.`);
  let stored = Boolean(cache);
  try {
    await cache?.put(url, new Response(/** @type {any} */ (bytes)));
  } catch { // no space, or not allowed
    stored = false;
  }
  return { bytes, stored };
}

// Fetches a file. After an interruption the next call, of this visit or a later one, continues where it ended, if the
// server sends parts of files.
async function download(url, file, onProgress, cache) {
  const partUrl = `${url}&part`;
  const storedPart = partialDownloads.get(url) ?? (await cache?.match(partUrl).catch(() => undefined));
  const part = storedPart ? new Uint8Array(await storedPart.arrayBuffer()) : new Uint8Array();
  const forgetPart = async () => {
    partialDownloads.delete(url);
    await cache?.delete(partUrl).catch(() => undefined);
  };
  let response;
  try {
    response = await fetch(url, part.length ? { headers: { Range: `bytes=${part.length}-` } } : {});
  } catch {
    throw new Error("The model could not be fetched: check the connection, and try again.");
  }
  if (!response.ok) {
    if (response.status === 416) await forgetPart(); // the part is longer than the file is now
    throw new Error(`The model could not be fetched: the server answers ${response.status} for ${file.path}.`);
  }
  const bytes = new Uint8Array(file.bytes);
  let loaded = 0;
  if (response.status === 206) {
    bytes.set(part);
    loaded = part.length;
  }
  try {
    for (const reader = response.body.getReader();;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (loaded + value.length > bytes.length) {
        await forgetPart(); // a server may send the whole file as a part
        return new Uint8Array(loaded + value.length); // too long, which `problemOf` reports
      }
      bytes.set(value, loaded);
      loaded += value.length;
      onProgress(loaded);
    }
  } catch {
    const received = new Blob([bytes.subarray(0, loaded)]);
    partialDownloads.set(url, received);
    await cache?.put(partUrl, new Response(received)).catch(() => undefined);
    throw new Error("The connection ended before the model was fetched; try again to continue.");
  }
  await forgetPart();
  return bytes.subarray(0, loaded);
}

// What is wrong with these bytes, as the end of a sentence, or "".
async function problemOf(bytes, file) {
  if (bytes.length !== file.bytes) return `has ${bytes.length} bytes and must have ${file.bytes}`;
  if (!globalThis.crypto?.subtle) return ""; // on insecure pages
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex === file.sha256 ? "" : "is damaged";
}
