// Two engines as one: a worker of this tab answers what it can, the server the rest. A tab has such a worker while its class
// lets the students' browsers compute (own-model.js).

import { QUESTIONS } from "../trace/questions/questions.js";
import { PARALLEL_KINDS } from "./python-answers.js";
import { OWN_MODEL } from "./worker-client.js";

/** @import { OwnModel } from "./worker-client.js" */

const WORKER_KINDS = ["glance", "explore", "part", "change", "importance", "cells", "translate", "lesson"];

// Whether the worker answers a request, and not the server.
/** @param {OwnModel | null} own @param {string} kind @param {any} request */
function isForWorker(own, kind, request) {
  if (!own || !WORKER_KINDS.includes(kind) || request.method === "sample") return false;
  if (kind === "lesson" && !Object.hasOwn(QUESTIONS, request.lesson)) return false; // Python makes the question
  return [request.model, request.other_model || request.model].every((model) => own.isReady(model));
}

/** @param {Engine} server @returns {Engine} */
export function withOwnModel(server) {
  /** @type {Map<string, unknown>} */
  const newest = new Map(); // the last request, by kind

  /** @type {Engine["ask"]} */
  async function ask(kind, request) {
    const own = /** @type {OwnModel | null} */ (document[OWN_MODEL] ?? null);
    const mark = {};
    newest.set(kind, mark);
    const isReplaced = () => newest.get(kind) !== mark && !PARALLEL_KINDS.includes(kind);
    try {
      const answer = isForWorker(own, kind, request)
        ? await own.ask(kind, request).catch(() => isReplaced() ? null : server.ask(kind, request))
        : await server.ask(kind, request);
      return isReplaced() ? null : answer; // the newer request may have gone to the other engine
    } catch (error) {
      if (isReplaced()) return null;
      throw error;
    }
  }
  return { ask };
}
