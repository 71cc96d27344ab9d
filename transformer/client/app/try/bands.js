// The top of the page Try: the sentence, the depths, and in the first depth the bands.

import { bytesOfBase64 } from "../../common/base64.js";
import { glanceView, unpackGlance } from "../../views/glance/glance.js";
import { decidingHead } from "../../views/glance/glance-deciding.js";
import { textProblem } from "./text-problem.js";

export function homePage(container, context) {
  const view = glanceView(container, answer, context.address);
  let askedKey = ""; // model, heads and text of the request that has no answer yet
  let answeredKey = ""; // those of the last answer
  let requestCount = 0; // ignores answers to earlier requests
  let viewNumber = 0; // the view's number of its last request
  let lastTranslation = {}; // the last answer, which stays visible while another text cannot be translated
  let refused = null; // what is typed and cannot be translated, with the reason: the translation before it stays
  let lastModel = "";
  let deciding = { key: "", head: null, problem: "" }; // which head decides about the word that is explained

  const explainedWord = () => {
    const why = context.params().get("why");
    return why === null ? -1 : Number(why);
  };
  const keyOf = (text, off) => JSON.stringify([context.model, off, text]);

  // The data around a translation.
  function viewData(text, fields) {
    const { reads, writes, languages, hint, examples, mistakes = [], aligner_agreement } = context.modelInfo;
    return {
      number: viewNumber,
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
      mistakes,
      aligner_agreement,
      depths: context.site.depths,
      depth: context.depth,
      model: context.model === Object.keys(context.site.models)[0] ? "" : context.model,
      default_text: examples[0] ?? "",
      text,
      why: Math.min(explainedWord(), (fields.words?.length ?? 0) - 1),
      deciding: null,
      ...fields,
    };
  }

  // Show a translation; if a word of it is to be explained, ask once which head decides about it.
  function show(text, fields) {
    const data = viewData(text, fields);
    if (data.words && data.why !== explainedWord()) context.write({ why: String(data.why) }); // there are fewer words
    if (data.why >= 0) data.deciding = decidingFor(data);
    view.show(data);
  }

  // What is known of the head that decides about a word. It is asked about the model's own translation with all heads.
  function decidingFor({ text, words, why, off, prefix }) {
    if (off || prefix.length) return null;
    const key = JSON.stringify([context.model, text, why]);
    if (deciding.key !== key) {
      deciding = { key, head: null, problem: "" };
      askDeciding(key, text, words[why]);
    }
    return deciding;
  }

  async function askDeciding(key, text, { step, p }) {
    const answer = { key, head: null, problem: "" };
    try {
      const losses = await context.ask("importance", { model: context.model, text, step });
      answer.head = losses && decidingHead(losses, p);
    } catch (error) {
      answer.problem = error.message;
    }
    if (deciding.key !== key) return; // another word is explained now
    deciding = answer.head || answer.problem ? answer : { ...answer, key: "" };
    if (context.depth === "bands" && answeredKey === keyOf(text, "")) show(text, lastTranslation);
  }

  // Handles the view's requests: a translation, the alternatives, another depth, opening a head, or explaining a word.
  /** @param {any} request */
  async function answer(
    { open_head: openHead, depth, why, text, number = 0, prefix = [], off = "", with_alternatives = false },
  ) {
    if (depth) return context.openDepth(depth);
    if (openHead) {
      const [layer, head] = openHead.map(String);
      const row = context.modelInfo.aligner?.weights_to === "input" ? { word_row: "input" } : {};
      return context.openDepth("heads", { kind: "cross", layer, head, ...row });
    }
    if (why !== undefined) {
      context.write({ why: why < 0 ? null : String(why) });
      return draw();
    }
    viewNumber = Math.max(viewNumber, number);
    const isBands = context.depth === "bands";
    const problem = textProblem(text, context.modelInfo);
    refused = problem ? { text, off, problem } : null;
    if (refused) return showRefused(isBands);
    endAsking();
    if (!isBands) return context.draw();
    askedKey = keyOf(text, off);
    const requestNumber = requestCount;
    const isOutdated = () => requestNumber !== requestCount || !container.isConnected; // the page may be left already
    try {
      const reply = await context.ask("glance", { model: context.model, text, prefix, off, with_alternatives });
      if (isOutdated()) return;
      if (!reply) return endAsking();
      const { aligner } = context.modelInfo;
      lastTranslation = unpackGlance(reply, { text, prefix, off, has_alternatives: with_alternatives, aligner });
    } catch (error) {
      if (isOutdated()) return;
      const message = error.isLoadError ? "" : error.message;
      lastTranslation = { ...lastTranslation, off, problem: message };
      if (error.isLoadError) askedKey = ""; // ask again when the model can be loaded
    }
    answeredKey = askedKey;
    endAsking();
    if (refused) showRefused(); // erased while the text of the address was translated
    else show(text, lastTranslation);
  }

  function showRefused(isBands = true) {
    const { text, ...fields } = refused;
    view.show(viewData(text, { ...(isBands ? lastTranslation : {}), ...fields }));
  }

  function endAsking() {
    requestCount += 1;
    askedKey = "";
  }

  function draw() {
    const [text, off] = [context.text, context.params().get("off") ?? ""];
    if (lastModel !== context.model) [lastModel, lastTranslation, answeredKey] = [context.model, {}, ""];
    const problem = textProblem(text, context.modelInfo);
    const key = keyOf(text, off);
    const isAsked = askedKey === key && context.depth === "bands";
    if (!isAsked && (askedKey || context.depth !== "bands")) endAsking();
    if (context.depth !== "bands") {
      refused = null;
      return view.show(viewData(text, { off, problem }));
    }
    if (problem) return view.show(viewData(text, { ...lastTranslation, off, problem }));
    if (answeredKey === key) return show(text, lastTranslation);
    const prepared = context.modelInfo.prepared; // the first example, prepared with the site and available before the model
    if (text === prepared.text) {
      const { aligner } = context.modelInfo;
      const bytes = bytesOfBase64(prepared.picture);
      lastTranslation = unpackGlance(bytes, { text, prefix: [], off: "", has_alternatives: true, aligner });
      answeredKey = "";
    }
    // Until the answer is here, nothing is said about the effect of the heads that are off.
    view.show(viewData(text, { ...lastTranslation, original_words: [], has_alternatives: true, off, why: -1 }));
    if (!isAsked) answer({ text, off });
  }
  function close() {
    requestCount += 1; // an answer that comes now has no page to be drawn on
    view.close();
  }
  function forgetTyped() {
    refused = null;
    view.forgetTyped();
  }
  return { draw, forgetTyped, close };
}
