// The connection of a tab to its class: news from the server, and what the teacher or the student does. The class's line
// (classroom.js) opens it, and it stays open while the tab changes pages. Other parts of a page, whose scripts have a copy
// of this module, share it through a property of the document. ui/services/class_updates.py is the other end.

/**
 * What a class sends. `answers` is by the key of a lesson's question: `count` for the teacher and once the answers are
 * shown, `counts`, by option, once they are shown; `answered`: whether this visitor has answered. `plan`: the teacher's;
 * `receivedAt`: when the news came, as performance.now().
 * @typedef {{
 *   role: "teacher" | "student", state: "leads" | "alone" | "follows" | "away", leads: boolean, ownEngines: boolean, questions: number,
 *   answers: Record<string, { shown: boolean, answered: boolean, count?: number, counts?: Record<string, number> }>,
 *   following?: number, members?: number, question?: { number: number, answered: number } | null,
 *   number?: number, page?: string, params?: Record<string, string>, receivedAt: number,
 *   plan: import("./plan-line.js").PlanNews | null,
 * }} ClassNews
 * @typedef {{ lead: { page: string, params: Record<string, string> } } | { leading: boolean } | { follow: boolean }
 *   | { answer: { lesson: string, sentence: string, option: number } } | { station: number }
 *   | { show: { lesson: string, sentence: string, options: string[], correct: number } }} ClassMessage
 * @typedef {{
 *   onNews(callback: (news: ClassNews) => void): () => void, send(message: ClassMessage): boolean,
 *   url: string, keep(): void, leave(): void, close(): void,
 * }} ClassConnection
 */

const [OVER_CODE, REPLACED_CODE] = [4001, 4002]; // close codes of class_updates.py after which nobody should connect again
const RETRY_MS = [500, 5000]; // ms until reconnecting: initial and maximum delay
const PAGE_CHANGE_MS = 5000; // until the connection closes if no line on another page keeps it
const CONNECTION = Symbol.for("heads-up-class-connection"); // property of the document
const CHANGE_EVENT = "heads-up-class-change";

// The connection of this tab, or null outside of a class.
/** @returns {ClassConnection | null} */
export const classConnection = () => document[CONNECTION] ?? null;

// `changed()` is called when the tab gets a connection, and when it has none any more.
/** @param {() => void} changed @returns {() => void} which ends it */
export function onClassChange(changed) {
  document.addEventListener(CHANGE_EVENT, changed);
  return () => document.removeEventListener(CHANGE_EVENT, changed);
}

// Connect this tab.
/** @param {string} url @returns {ClassConnection} */
export function connectToClass(url) {
  const callbacks = new Set();
  let [retryTimer, leaveTimer, delay] = [0, 0, RETRY_MS[0]];
  let socket = /** @type {WebSocket | null} */ (null);
  let news = /** @type {ClassNews | null} */ (null);

  function connect() {
    socket = new WebSocket(url);
    socket.addEventListener("message", ({ data, target }) => {
      if (target !== socket) return;
      delay = RETRY_MS[0];
      news = { ...JSON.parse(data), receivedAt: performance.now() };
      for (const callback of [...callbacks]) callback(news);
    });
    socket.addEventListener("close", ({ code, target }) => {
      if (target !== socket || code === REPLACED_CODE) return; // an outdated connection, or too many tabs
      if (code === OVER_CODE) return close();
      retryTimer = setTimeout(connect, delay * (1 + Math.random()));
      delay = Math.min(2 * delay, RETRY_MS[1]);
    });
  }

  function close() {
    const oldSocket = socket;
    socket = null;
    clearTimeout(retryTimer);
    clearTimeout(leaveTimer);
    // Do not close a connection that is still opening: that logs an error in the console.
    if (oldSocket?.readyState === WebSocket.CONNECTING) oldSocket.addEventListener("open", () => oldSocket.close());
    else oldSocket?.close();
    if (document[CONNECTION] === connection) share(null);
  }

  const connection = {
    url,
    // Call `callback` with the last news, if there are any, and with all later ones.
    onNews(callback) {
      callbacks.add(callback);
      if (news) callback(news);
      return () => callbacks.delete(callback);
    },
    // Returns whether the message was sent: false while there is no connection.
    send(message) {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
    // A page with the class's line is shown, or is left.
    keep: () => clearTimeout(leaveTimer),
    leave() {
      clearTimeout(leaveTimer);
      leaveTimer = setTimeout(close, PAGE_CHANGE_MS);
    },
    close,
  };
  connect();
  share(connection);
  return connection;
}

function share(connection) {
  document[CONNECTION] = connection;
  document.dispatchEvent(new CustomEvent(CHANGE_EVENT));
}
