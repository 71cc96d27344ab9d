// The last run in this browser, so that a closed tab can go on; and a trained model as one file.

const [DATABASE, STORE, KEY] = ["heads-up-training", "runs", "last"];

/** @returns {Promise<IDBObjectStore>} */
function openStore(mode) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const transaction = request.result.transaction(STORE, mode);
      transaction.oncomplete = () => request.result.close();
      resolve(transaction.objectStore(STORE));
    };
  });
}

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Keep { link, pairs, state } as the last run; returns one sentence if it could not be kept, or "".
export async function keepRun(saved) {
  try {
    await done((await openStore("readwrite")).put(saved, KEY));
    return "";
  } catch {
    return "This browser cannot store the run (its storage is full or switched off): do not close the tab before you have saved the model.";
  }
}

// The last run, or null.
export async function keptRun() {
  try {
    return await done((await openStore("readonly")).get(KEY)) ?? null;
  } catch {
    return null;
  }
}

export async function forgetRun() {
  try {
    await done((await openStore("readwrite")).delete(KEY));
  } catch { /* nothing was stored */ }
}

// A model as one safetensors file, whose metadata hold its configuration and its symbols without the special ones: `Translator.load` reads it.
/** @param {import("../training/protocol.d.ts").SavedModel} model @returns {Blob} */
export function modelFile({ config, symbols, safetensors }) {
  const view = new DataView(safetensors.buffer, safetensors.byteOffset, safetensors.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(safetensors.subarray(8, 8 + length)));
  header.__metadata__ = {
    ...header.__metadata__,
    config: JSON.stringify(config),
    symbols: JSON.stringify(symbols),
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(32); // spaces, as the format allows
  padded.set(text);
  const size = new DataView(new ArrayBuffer(8));
  size.setBigUint64(0, BigInt(padded.length), true);
  return new Blob([size.buffer, padded, /** @type {BlobPart} */ (safetensors.subarray(8 + length))], {
    type: "application/octet-stream",
  });
}

// Sentence pairs, one a line with a tab between the sentences, from a text field. Throws one sentence if they are not.
/** @param {string} text @returns {import("../training/protocol.d.ts").PairData} */
export function pairsOf(text) {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim()).filter(Boolean);
  if (!lines.length) {
    throw new RangeError(
      "There are no sentence pairs yet: paste one pair a line, with a tab between the two sentences.",
    );
  }
  const pairs = lines.map((line) => line.split("\t").map((part) => part.trim()));
  const wrong = pairs.findIndex((pair) => pair.length !== 2 || !pair[0] || !pair[1]);
  if (wrong >= 0) {
    throw new RangeError(
      `Line ${wrong + 1} is ${
        JSON.stringify(lines[wrong].slice(0, 40))
      }; it must be a sentence, a tab and its translation.`,
    );
  }
  if (lines.length < MIN_PAIRS || lines.length > MAX_PAIRS) {
    throw new RangeError(
      `There are ${lines.length} sentence pairs; paste from ${MIN_PAIRS} to ${MAX_PAIRS.toLocaleString("en")}.`,
    );
  }
  const words = (sentence) => sentence.match(/[\p{L}\p{M}\p{N}]+['’]?|[^\s\p{L}\p{M}\p{N}]/gu)?.join(" ") ?? "";
  return { train: pairs.map(([src, tgt]) => /** @type {[string, string]} */ ([words(src), words(tgt)])) };
}
const [MIN_PAIRS, MAX_PAIRS] = [20, 5000];
