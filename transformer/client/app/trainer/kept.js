// What this browser keeps of the page that trains: the last run, so that a closed tab can go on, and the model that the
// site's page Try opens.

const [DATABASE, STORE] = ["heads-up-training", "runs"];
export const LAST_RUN = "last";
export const OPENED_MODEL = "model";

/** @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest} use @returns {Promise<any>} */
async function withStore(mode, use) {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  const database = await resultOf(request);
  try {
    return await resultOf(use(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

const resultOf = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Keep a value; returns one sentence if it could not be kept, or "".
export async function keep(key, value) {
  try {
    await withStore("readwrite", (store) => store.put(value, key));
    return "";
  } catch {
    return "This browser cannot store the model (its storage is full or switched off): do not close the tab before you have saved it.";
  }
}

// The kept value, or null.
export const kept = (key) =>
  withStore("readonly", (store) => store.get(key)).then((value) => value ?? null, () => null);

export const forget = (key) => withStore("readwrite", (store) => store.delete(key)).catch(() => undefined);
