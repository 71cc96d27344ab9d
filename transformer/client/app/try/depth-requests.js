// The requests of a depth of the page: one whenever it differs from the last one, and what went wrong as a sentence.

import { el } from "../../common/base.js";
import { textProblem } from "./text-problem.js";

/**
 * @param {any} context the page's
 * @param {string} kind of the requests
 * @param {(answer: any, request: any) => void} show
 */
export function makeRequests(context, kind, show) {
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const waiting = el(
    "p",
    { class: "hu-live-note" },
    "The heads of this sentence appear here as soon as the model is loaded.",
  );
  let last = "";

  // `addFields()` returns further fields of a request that is sent.
  /** @param {any} request @param {() => any} [addFields] */
  async function send(request, addFields = () => ({})) {
    if (isLast(request)) return;
    last = JSON.stringify(request);
    problem.textContent = "";
    if (textProblem(request.text, context.modelInfo)) return; // which the sentence's own field shows
    try {
      const answer = await context.ask(kind, { ...request, ...addFields() });
      if (!answer && isLast(request)) last = ""; // a request of another depth has replaced it
      if (!answer) return;
      if (!problem.isConnected) return void (last = ""); // the visitor has left this depth, and asks again in it
      waiting.hidden = true;
      show(answer, request);
    } catch (error) {
      if (error.isLoadError) last = ""; // ask again when the model can be loaded
      else problem.textContent = error.message;
    }
  }
  // Whether this is the last request that was sent.
  const isLast = (request) => last === JSON.stringify(request);
  return { send, isLast, problem, waiting };
}
