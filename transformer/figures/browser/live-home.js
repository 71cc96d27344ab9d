// The site's first page: the same view as the app's (glance.js), with the model in this browser.

import { glanceView } from "./glance.js";
import { textProblem } from "./live-client.js";

export function homePage(container, context) {
  const view = glanceView(container, answer);
  container.firstElementChild.classList.add("hu-file"); // independent of the page's theme, light or dark
  let lastRequest = ""; // model and text of the last request
  let requestCount = 0; // ignores answers to earlier requests
  let lastTranslation = {}; // the last translation, which stays visible while another text cannot be translated

  // The data around a translation, as in ui/pages/home/glance.py.
  function viewData(text, fields) {
    const { reads, writes, languages, hint, examples, aligner_agreement } = context.modelInfo;
    return {
      number: 0,
      problem: "",
      typed: text,
      prefix: [],
      off: "",
      has_alternatives: true,
      unknown: [],
      reads,
      writes,
      languages,
      hint,
      examples,
      aligner_agreement,
      model: context.model === Object.keys(context.site.models)[0] ? "" : context.model,
      default_text: examples[0],
      text,
      ...fields,
    };
  }

  // Handles the view's requests: a translation, the alternatives, or opening a head.
  /** @param {any} request */
  async function answer({ open_head: openHead, text, number = 0, prefix = [], off = "", with_alternatives = false }) {
    if (openHead) {
      return context.openPage("attention", { kind: "cross", layer: String(openHead[0]), head: String(openHead[1]) });
    }
    lastRequest = `${context.model} ${off} ${text}`;
    const requestNumber = ++requestCount;
    const problem = textProblem(text);
    if (problem) return view.show(viewData(text, { ...lastTranslation, number, problem }));
    try {
      const reply = await context.ask("glance", { model: context.model, text, prefix, off, with_alternatives });
      if (!reply || requestNumber !== requestCount) return;
      lastTranslation = { text, prefix, off, has_alternatives: with_alternatives, ...reply };
      view.show(viewData(text, { ...lastTranslation, number }));
    } catch (error) {
      if (requestNumber === requestCount) {
        view.show(viewData(text, { ...lastTranslation, number, problem: error.message }));
      }
    }
  }

  function draw() {
    const [text, off] = [context.text, context.params().get("off") ?? ""];
    if (lastRequest === `${context.model} ${off} ${text}`) return;
    const prepared = context.modelInfo.prepared; // the first example, prepared with the site and available before the model
    if (text === prepared.text) lastTranslation = { has_alternatives: true, ...prepared };
    view.show(viewData(text, { ...(text === prepared.text ? lastTranslation : {}), off }));
    answer({ text, off });
  }
  return { draw };
}
