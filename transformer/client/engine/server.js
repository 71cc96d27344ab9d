// The engine "server": requests to the app's server (transformer/api/), which answers with PyTorch and knows all models
// of the visitor. A request is sent again until the server answers, so that a page goes on after a restart.

import { unpackCase } from "../trace/questions/case.js";
import { questionOf, QUESTIONS } from "../trace/questions/questions.js";
import { jsonOf, PARALLEL_KINDS, pythonAnswers } from "./python-answers.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000]; // before a request is sent again
const TEMPORARY = [408, 429, 502, 503, 504]; // statuses after which it is
const REPLACED = 409;
const SLOW_MS = 5000;
const SLOW = "The server is busy and has not answered yet. Your change is kept.";
const GONE = "The server does not answer. Your changes are kept, and this page tries again until it does.";
const OTHER_VERSION = "The server has been updated. Reload the page to use the new version.";

/**
 * @param {string} root path from the page to the app, "" or with "/" at the end
 * @param {(loading: Loading) => void} onLoading called when a model is ready, and while the server cannot be reached
 * @param {{ pauses?: number[], slow?: number }} [times] in ms, for tests
 * @returns {Engine}
 */
export function makeServerEngine(root, onLoading, { pauses = PAUSES_MS, slow = SLOW_MS } = {}) {
  const tab = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
  /** @type {Map<string, AbortController>} */
  const newest = new Map(); // by kind
  let [number, version] = [0, ""];

  /** @type {Engine["ask"]} */
  async function ask(kind, request) {
    const controller = new AbortController();
    if (!PARALLEL_KINDS.includes(kind)) {
      newest.get(kind)?.abort();
      newest.set(kind, controller);
    }
    try {
      return await handlers[kind](request ?? {}, controller.signal);
    } catch (error) {
      if (controller.signal.aborted || error.status === REPLACED) return null;
      throw error;
    }
  }

  const answers = pythonAnswers(send);
  /** @type {Record<keyof Requests, (request: any, signal: AbortSignal) => Promise<any>>} */
  const handlers = {
    ...answers,
    lessons: async (_, signal) => jsonOf(await send("lessons", null, signal)),
    translate: async (request, signal) => jsonOf(await send("translate", request, signal)),

    async load(request, signal) {
      const loaded = await answers.load(request, signal);
      onLoading({ model: request.model, ready: true, stored: true });
      return loaded;
    },

    // The server sends traces, and the question is made here, if it is about a picture of a trace.
    async lesson({ model, lesson, texts, exact = false }, signal) {
      if (!Object.hasOwn(QUESTIONS, lesson)) {
        return jsonOf(await send("ask/question", { model, lesson, exact }, signal));
      }
      const translate = async (text) => jsonOf(await send("translate", { model, text }, signal)).text;
      let missing = "";
      for (const sentence of texts) {
        const packed = await send("ask/case", { model, text: sentence }, signal);
        const reply = await questionOf(lesson, unpackCase(packed, translate, exact));
        if (reply.question) return { text: sentence, question: reply.question };
        missing ||= reply.missing;
      }
      return { missing };
    },
  };

  // The body of the answer. Without one the request is sent again, until it is aborted.
  /** @param {string} path below "api/" @param {any} request @param {AbortSignal} signal @returns {Promise<Uint8Array>} */
  async function send(path, request, signal) {
    const model = request?.model ?? "";
    let hasProblem = false;
    const report = (problem) => {
      hasProblem = true;
      if (!signal.aborted) onLoading({ model, problem });
    };
    for (let attempt = 0;; attempt++) {
      const timer = setTimeout(() => report(SLOW), slow);
      const answer = await attemptOnce(path, request, signal);
      clearTimeout(timer);
      signal.throwIfAborted();
      if (answer) {
        if (hasProblem) onLoading({ model, ready: true, stored: true });
        if (version && version !== answer.version) onLoading({ model: "", problem: OTHER_VERSION });
        version ||= answer.version;
        if (answer.ok) return answer.body;
        throw Object.assign(new Error(problemOf(answer)), { status: answer.status });
      }
      report(GONE);
      await pause(pauses[Math.min(attempt, pauses.length - 1)], signal);
    }
  }

  // The answer, or null if there is none now.
  async function attemptOnce(path, request, signal) {
    try {
      const response = await fetch(`${root}api/${path}`, {
        method: request ? "POST" : "GET",
        // None for a request without a body: the browser has sent it in advance (ui/services/view_scripts.py).
        headers: request ? { "Content-Type": "application/json", "X-Request": `${tab} ${++number}` } : {},
        body: request && JSON.stringify(request),
        signal,
      });
      if (TEMPORARY.includes(response.status)) return null;
      const { ok, status } = response;
      return {
        ok,
        status,
        version: response.headers.get("X-Heads-Up-Version") ?? "",
        body: new Uint8Array(await response.arrayBuffer()),
      };
    } catch {
      return null;
    }
  }

  return { ask };
}

// What the server says is wrong, as a sentence.
/** @param {{ status: number, body: Uint8Array }} answer */
function problemOf({ status, body }) {
  try {
    return jsonOf(body).problem;
  } catch {
    return `The server answered with status ${status}.`;
  }
}

/** @param {number} ms @param {AbortSignal} signal which ends the pause */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener("abort", resolve);
  });
