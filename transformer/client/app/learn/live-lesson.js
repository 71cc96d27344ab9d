// A lesson whose question is asked about the model in this browser, with the lesson's own sentence or the
// visitor's. Until the model has answered, the question is about the lesson's sentence that the page has packed.

import { button, el } from "../../common/base.js";
import { bytesOfBase64 } from "../../common/base64.js";
import { makeWorkerEngine, registerServiceWorker } from "../../engine/worker-client.js";
import { modelSelect } from "../try/model-select.js";
import { textProblem } from "../try/text-problem.js";
import { explorePage } from "../try/heads-and-steps.js";
import { liveField } from "../try/sentence-field.js";
import { makeLoading } from "../try/loading.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { lessonPicture } from "./lesson-picture.js";

const ROOT = "../"; // path from a lesson's page to the site's folder

/** @typedef {import("../../trace/questions/case.js").Question} Question */

// Draw the picture of a question that the page contains. Its answer is hidden until the visitor opens it.
/** @param {import("../../trace/questions/case.js").Picture} picture */
export function openPicture(picture) {
  const node = document.getElementById("hu-picture");
  const draw = (answered) => node.replaceChildren(lessonPicture(picture, answered));
  draw(false);
  for (
    const answer of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("#hu-answers .right"))
  ) {
    answer.addEventListener("toggle", () => answer.open && draw(true));
  }
}

/**
 * @param {Record<string, Tab>} tabs the explorer's views
 * @param {any} site the site's models and their files
 * @param {{ name: string, model: string, case: string, texts: string[], fields: any, find: boolean }} lesson
 *   texts: the sentences to try, one after the other; case: the first of them, packed and in base 64; fields: of the
 *   explorer that shows the answer; find: whether the visitor must find something in it
 */
export function openLesson(tabs, site, lesson) {
  const params = new URLSearchParams(location.search);
  const lessonModel = lesson.model;
  let model = Object.hasOwn(site.models, params.get("model")) ? params.get("model") : lessonModel;
  let visitorText = params.get("text"); // the visitor's sentence; null for a sentence of the lesson
  /** @type {{ model: string, text: string, question: Question | null }} */
  let current = { model: lessonModel, text: lesson.texts[0], question: null };
  let [panel, requestCount] = [null, 0];

  const progress = makeLoading(ask);
  const client = makeWorkerEngine(site, (loading) => {
    if (!loading.model || loading.model === model) progress.show(loading);
  }, `${ROOT}scripts/`);
  const textField = liveField("Ask about your own sentence", (typed) => {
    visitorText = typed;
    ask();
  });
  const { node: models, choose } = modelSelect(site);
  const lessonButton = button("Ask about the lesson's sentence", () => {
    visitorText = null;
    ask();
  });
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  document.getElementById("hu-live").replaceChildren(
    el(
      "div",
      { class: "hu hu-live-form" },
      textField.node,
      el("div", { class: "hu-line hu-live-top" }, models, lessonButton),
      progress.node,
      problem,
    ),
  );
  const [exhibitNode, answers] = ["hu-exhibit", "hu-answers"].map((id) => document.getElementById(id));
  const pictureNode = document.getElementById("hu-picture");

  function draw() {
    choose(model);
    textField.set(visitorText ?? current.text, site.models[model]);
    lessonButton.hidden = visitorText === null;
    const address = new URLSearchParams(
      [["model", model === lessonModel ? "" : model], ["text", visitorText]].filter(([, value]) => value),
    );
    history.replaceState(history.state, "", location.pathname + (address.size ? `?${address}` : ""));
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".way a"))) {
      link.search = model === lessonModel ? "" : `?model=${encodeURIComponent(model)}`;
    }
  }

  async function ask() {
    const request = ++requestCount;
    problem.textContent = visitorText === null ? "" : textProblem(visitorText, site.models[model]);
    draw();
    if (problem.textContent) return;
    try {
      const reply = await client.ask("lesson", {
        model,
        lesson: lesson.name,
        texts: visitorText === null ? lesson.texts : [visitorText],
      });
      if (!reply || request !== requestCount) return;
      if (reply.missing) {
        const subject = visitorText === null ? "This model" : "This sentence";
        const still = current.question ? ` The question below is still about “${current.text}”.` : "";
        problem.textContent = `${subject} does not show what the lesson asks about: ${reply.missing}.${still}`;
        return;
      }
      const keyOf = ({ model, text, question }) => JSON.stringify([model, text, question?.answer]);
      const previousKey = keyOf(current);
      current = { model, text: reply.text, question: reply.question };
      draw();
      if (previousKey !== keyOf(current)) show();
    } catch (error) {
      if (request !== requestCount) return;
      if (!error.isLoadError) problem.textContent = error.message;
    }
  }

  // Draw the question, its picture, its choices and the link to the view; an open answer stays open.
  function show() {
    const { question } = current;
    exhibitNode.replaceChildren(...markdownNodes(question.exhibit));
    exhibitNode.hidden = !question.exhibit;
    drawPicture(false);
    const open = [...answers.querySelectorAll("details")].map((element) => element.open);
    panel = makePanel();
    const details = [...question.options.map(optionDetails), solutionDetails()];
    answers.replaceChildren(...(lesson.find ? [panel.node] : []), ...details);
    if (open.length === details.length) {
      details.forEach((element, i) => {
        element.open = open[i];
      });
    }
  }

  // The picture of the question; its answer is hidden until the visitor has opened it.
  function drawPicture(answered) {
    const { picture } = current.question;
    pictureNode.replaceChildren(...(picture ? [lessonPicture(picture, answered)] : []));
  }

  function optionDetails({ label, feedback }, number) {
    const isCorrect = number === current.question.correct;
    const node = el(
      "details",
      { name: "guess" },
      el("summary", {}, ...markdownNodes(label)),
      el(
        "p",
        {},
        el("b", {}, isCorrect ? "✓ Correct." : "✗ Incorrect."),
        " ",
        ...markdownNodes(feedback || current.question.answer),
      ),
    );
    if (isCorrect) node.addEventListener("toggle", () => node.open && drawPicture(true));
    return node;
  }

  function solutionDetails() {
    const { question } = current;
    const node = el(
      "details",
      { class: "look" },
      el("summary", {}, "Show the answer"),
      el("p", {}, ...markdownNodes(question.answer)),
      ...panel.link,
    );
    node.addEventListener("toggle", () => node.open && drawPicture(true));
    if (!lesson.find) {
      node.append(panel.node);
      node.addEventListener("toggle", () => node.open && panel.draw());
    } else {
      node.append(button("Show it above", () => panel.openState(question.answerFields)));
    }
    return node;
  }

  // The explorer within the lesson; its state is not part of the lesson's address.
  function makePanel() {
    const { model, text, question } = current;
    const node = el("div", { class: "hu-lesson-panel" });
    const container = el("div");
    const fields = new URLSearchParams();
    const set = (changes) => {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") fields.delete(name);
        else fields.set(name, String(value));
      }
    };
    const ownPageUrl = () =>
      `${ROOT}index.html?${new URLSearchParams({
        depth: "heads",
        ...Object.fromEntries(fields),
        model,
        text,
      })}`;
    const context = {
      tabs,
      site,
      ask: client.ask,
      decoding: () => ({}),
      lesson: true,
      number: 0,
      model,
      text,
      modelInfo: site.models[model],
      params: () => fields,
      write: set,
      link: (state, linked) =>
        set(
          Object.fromEntries(
            Object.keys(linked).map((name) => [name, state[name] === linked[name] ? null : state[name]]),
          ),
        ),
      openDepth: (depth, more) =>
        location.assign(
          `${ROOT}index.html?${new URLSearchParams({ depth, model, text, ...Object.fromEntries(fields), ...more })}`,
        ),
    };
    const page = explorePage(container, context);
    const openState = (changes) => {
      for (const name of [...fields.keys()]) fields.delete(name);
      set({ ...lesson.fields, ...changes });
      context.number += 1;
      page.draw();
    };
    set({ ...lesson.fields, ...(lesson.find ? question.startFields : question.answerFields) });
    const link = [el("p", {}, el("a", { href: ownPageUrl() }, `Open “${text}” in its own page`))];
    node.append(container);
    if (lesson.find) {
      node.append(checkControls(fields));
      page.draw();
    }
    return { node, link, draw: page.draw, openState };
  }

  // The button that checks whether the selection in the panel solves the lesson.
  function checkControls(fields) {
    const status = el("p", { role: "status" });
    const check = () => {
      const [layer, head] = ["layer", "head"].map((name) => Number(fields.get(name) ?? 0));
      const [isCorrect, text] = current.question.verdicts[fields.get("kind") ?? "cross"][layer][head];
      status.replaceChildren(el("b", {}, isCorrect ? "✓ Correct." : "✗ Not yet."), " ", ...markdownNodes(text));
    };
    return el("div", { class: "hu hu-lesson-check" }, button("Check", check), status);
  }

  models.addEventListener("change", () => {
    if (site.models[models.value].languages[0] !== site.models[model].languages[0]) visitorText = null;
    model = models.value;
    ask();
  });
  const caseBytes = bytesOfBase64(lesson.case);
  client.ask("packedLesson", { lesson: lesson.name, bytes: caseBytes }).then((reply) => {
    if (!reply?.question || current.question) return; // the model tries the next sentences, or was faster
    current = { ...current, question: reply.question };
    show();
  }).catch(() => {}); // the line about loading says why there is no model
  ask();
  registerServiceWorker(ROOT);
}
