// The engine "notebook": requests to the kernel (transformer/api/notebook.py), as messages of an anywidget. The kernel
// answers one message after the other, and none while it runs a cell. So of each kind of request at most one is sent,
// and only the newest waits. A request is sent again until it is answered, so that the page goes on after an interruption.

import { PARALLEL_KINDS, pythonAnswers } from "./python-answers.js";

const PAUSES_MS = [5000, 10_000, 20_000, 40_000]; // before a request is sent again
const NO_ANSWER =
  "The notebook's kernel does not answer. Your change is kept until it does. If the kernel was restarted, run this cell again.";

/**
 * @param {any} model anywidget's
 * @param {(loading: Loading) => void} onLoading called when a model is ready, and while the kernel does not answer
 * @param {number[]} [pauses] in ms, for tests
 * @returns {Engine & { close(): void }}
 */
export function makeNotebookEngine(model, onLoading, pauses = PAUSES_MS) {
  const display = Math.random().toString(36).slice(2); // a widget can have several, which all receive its messages
  /** @type {Map<string, { resolve: (bytes: Uint8Array) => void, reject: (error: Error) => void, timer: number }>} */
  const pendingRequests = new Map();
  /** @type {Map<string, Promise<unknown>>} */
  const newest = new Map(); // by kind: the answer to the last request
  /** @type {Record<string, (request: any) => Promise<any>>} */
  const answers = pythonAnswers(send);
  let count = 0;

  /** @type {Engine["ask"]} */
  async function ask(kind, request) {
    if (PARALLEL_KINDS.includes(kind)) return await answers[kind](request);
    const before = newest.get(kind);
    const isReplaced = () => newest.get(kind) !== answer;
    const answer = (async () => {
      await before?.catch(() => null);
      return isReplaced() ? null : await answers[kind](request);
    })();
    newest.set(kind, answer);
    try {
      const result = await answer;
      return isReplaced() ? null : result;
    } catch (error) {
      if (isReplaced()) return null;
      throw error;
    }
  }

  /** @param {string} path @param {any} request @returns {Promise<Uint8Array>} */
  async function send(path, request) {
    const id = `${display} ${++count}`;
    const name = request?.model ?? "";
    let isLate = false;
    const attempt = (number = 0) => {
      try {
        model.send({ id, kind: path, request: request ?? {} });
      } catch { /* there is no connection now */ }
      pendingRequests.get(id).timer = setTimeout(() => {
        isLate = true;
        onLoading({ model: name, problem: NO_ANSWER });
        attempt(number + 1);
      }, pauses[Math.min(number, pauses.length - 1)]);
    };
    try {
      return await new Promise((resolve, reject) => {
        pendingRequests.set(id, { resolve, reject, timer: 0 });
        attempt();
      });
    } finally {
      pendingRequests.delete(id);
      if (isLate || path === "ask/load") onLoading({ model: name, ready: true, stored: true });
    }
  }

  /** @param {{ id: string, problem?: string }} reply @param {DataView[]} buffers */
  function receive({ id, problem }, [data]) {
    const pending = pendingRequests.get(id);
    if (!pending) return; // of another display, or answered before
    clearTimeout(pending.timer);
    if (problem) pending.reject(new Error(problem));
    else pending.resolve(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }

  model.on("msg:custom", receive);
  return {
    ask,
    close() {
      model.off("msg:custom", receive);
      for (const { timer } of pendingRequests.values()) clearTimeout(timer);
    },
  };
}
