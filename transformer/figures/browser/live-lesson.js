// A lesson whose question is asked about the model in this browser, with the lesson's own sentence or the
// visitor's. The question prepared by Python is shown until the model has answered.

import { el } from "./base.js";
import { makeClient, modelSelect, registerServiceWorker, textProblem } from "./live-client.js";
import { explorePage, liveField } from "./live-explore.js";
import { headsPage } from "./live-heads.js";
import { makeLoading } from "./live-loading.js";
import { markdownNodes } from "./inline-markdown.js";

const ROOT = "../"; // path from a lesson's page to the site's folder
const PANELS = { explore: explorePage, heads: headsPage };
const DEPTHS = { explore: "heads", heads: "off" }; // the depths of the first page that have these panels

/** @typedef {import("./questions/case.js").Question} Question */

/**
 * @param {Record<string, Tab>} tabs the explorer's views
 * @param {any} site the site's models and their files
 * @param {{ name: string, model: string, text: string, texts: string[], question: Question, fields: any, panel: string, find: boolean }} lesson
 *   texts: the sentences to try, one after the other; question: the prepared question, about `text`; panel: the view that
 *   shows the answer; find: whether the visitor must find something in that view
 */
export function openLesson(tabs, site, lesson) {
  const params = new URLSearchParams(location.search);
  const lessonModel = lesson.model;
  let model = Object.hasOwn(site.models, params.get("model")) ? params.get("model") : lessonModel;
  let visitorText = params.get("text"); // the visitor's sentence; null for a sentence of the lesson
  let current = { model: lessonModel, text: lesson.text, question: lesson.question };
  let [panel, requestCount] = [null, 0];

  const progress = makeLoading(ask);
  const client = makeClient(site, (loading) => {
    if (!loading.model || loading.model === model) progress.show(loading);
  }, ROOT);
  const textField = liveField("Ask about your own sentence");
  const models = modelSelect(site);
  const lessonButton = el("button", { type: "button", class: "hu-button" }, "Ask about the lesson's sentence");
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  document.getElementById("hu-live").replaceChildren(
    el(
      "div",
      { class: "hu hu-file hu-live-form" },
      textField.node,
      el("div", { class: "hu-live-top" }, models, lessonButton),
      progress.node,
      problem,
    ),
  );
  const [exhibitNode, answers] = ["hu-exhibit", "hu-answers"].map((id) => document.getElementById(id));

  function draw() {
    models.value = model;
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
    problem.textContent = visitorText === null ? "" : textProblem(visitorText);
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
        problem.textContent =
          `${subject} does not show what the lesson asks about: ${reply.missing}. The question below is still about “${current.text}”.`;
        return;
      }
      const previousKey = JSON.stringify(current);
      current = { model, ...reply };
      draw();
      if (!panel || previousKey !== JSON.stringify(current)) show();
    } catch (error) {
      if (request !== requestCount) return;
      if (!error.isLoadError) problem.textContent = error.message;
    }
  }

  // Draw the question, its choices and the link to the view; an open answer stays open.
  function show() {
    const { question } = current;
    exhibitNode.replaceChildren(...markdownNodes(question.exhibit));
    exhibitNode.hidden = !question.exhibit;
    const open = [...answers.querySelectorAll("details")].map((element) => element.open);
    panel = lesson.panel ? makePanel() : { node: null, link: [] };
    const details = [...question.options.map(optionDetails), solutionDetails()];
    answers.replaceChildren(...(lesson.find ? [panel.node] : []), ...details);
    if (open.length === details.length) {
      details.forEach((element, i) => {
        element.open = open[i];
      });
    }
  }

  function optionDetails({ label, feedback }, number) {
    const isCorrect = number === current.question.correct;
    return el(
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
    if (panel.node && !lesson.find) {
      node.append(panel.node);
      node.addEventListener("toggle", () => node.open && panel.draw());
    } else if (panel.node) {
      const button = el("button", { type: "button", class: "hu-button" }, "Show it above");
      button.addEventListener("click", () => panel.openState(question.answerFields));
      node.append(button);
    }
    return node;
  }

  // The explorer or the switchboard within the lesson; its state is not part of the lesson's address.
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
        depth: DEPTHS[lesson.panel],
        ...Object.fromEntries(fields),
        model,
        text,
      })}`;
    const context = {
      tabs,
      site,
      ask: client.ask,
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
    const page = PANELS[lesson.panel](container, context);
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
    const button = el("button", { type: "button", class: "hu-button" }, "Check");
    const status = el("p", { role: "status" });
    button.addEventListener("click", async () => {
      const chosen = {
        kind: fields.get("kind") ?? "cross",
        layer: Number(fields.get("layer") ?? 0),
        head: Number(fields.get("head") ?? 0),
        off: fields.get("off") ?? "",
      };
      try {
        const reply = await client.ask("check", {
          model: current.model,
          text: current.text,
          lesson: lesson.name,
          fields: chosen,
        });
        if (reply) {
          status.replaceChildren(
            el("b", {}, reply.correct ? "✓ Correct." : "✗ Not yet."),
            " ",
            ...markdownNodes(reply.text),
          );
        }
      } catch (error) {
        status.textContent = error.message;
      }
    });
    return el("div", { class: "hu hu-file hu-lesson-check" }, button, status);
  }

  textField.onText((typed) => {
    visitorText = typed;
    ask();
  });
  models.addEventListener("change", () => {
    if (site.models[models.value].languages[0] !== site.models[model].languages[0]) visitorText = null;
    model = models.value;
    ask();
  });
  lessonButton.addEventListener("click", () => {
    visitorText = null;
    ask();
  });
  ask();
  registerServiceWorker(ROOT);
}
