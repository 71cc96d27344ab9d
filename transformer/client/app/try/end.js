// What follows the page Try: facts about the model, the first lesson, and the other pages.

import { el, wordsNode } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { openPlace, sharedFields } from "../../common/open.js";
import { fill, fillNodes } from "../../common/sentences.js";

const SMALL_MODEL = "This model has {millions} million weights, and anyone can train one like it on a laptop.";
const UNSEEN = "Never seen in training: {words}. The output for such symbols is arbitrary.";

/** @typedef {{ page: string, label: string, text: string, params: Record<string, string> }} NextPlace label, text: Markdown */

/**
 * @param {any} context the page's
 * @param {NextPlace[]} places where to go; the first is the first lesson
 * @param {(place: import("../../common/open.js").Place) => string} addressOf
 */
export function makeEnd(context, [lesson, ...places], addressOf) {
  const facts = el("div", {});
  const small = el("p", { class: "hu-live-note" });
  const links = [
    placeLink(lesson, { class: "hu-button hu-primary" }),
    ...places.map((place) => placeLink(place, { class: "hu-place-card" })),
  ];
  const below = el(
    "div",
    {},
    small,
    links[0].node,
    el("h2", { class: "hu-places-title" }, "Where to go from here"),
    el("div", { class: "hu-place-cards" }, ...links.slice(1).map(({ node }) => node)),
  );
  const node = el("footer", { class: "hu-try-end" }, facts, below);

  // A link to a place with the sentence and the head of this page.
  /** @param {NextPlace} place @param {any} options */
  function placeLink({ page, label, text, params }, options) {
    const link = el(
      "a",
      options,
      el("b", {}, ...markdownNodes(label)),
      ...(text ? [el("span", {}, ...markdownNodes(text))] : []),
    );
    const fields = () => ({ ...sharedFields(), ...params });
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab
      if (openPlace(page, fields())) event.preventDefault();
    });
    const draw = () => link.setAttribute("href", addressOf({ page, params: fields() }));
    return { node: link, draw };
  }

  function draw() {
    const { loadedModel, modelInfo, depth, text } = context;
    below.hidden = depth !== "bands";
    small.hidden = !modelInfo.weights;
    small.textContent = fill(SMALL_MODEL, { millions: Math.round(modelInfo.weights / 1e6) });
    for (const link of links) link.draw();
    const symbols = loadedModel?.symbols;
    const unseen = symbols ? [...new Set(text.split(/\s+/u))].filter((word) => word && !symbols.includes(word)) : [];
    const known = (loadedModel?.facts ?? []).join(" ");
    const words = wordsNode(unseen.slice(0, 8).join(" "), modelInfo.languages[0]);
    facts.replaceChildren(
      ...(known ? [el("p", { class: "hu-live-note" }, known)] : []),
      ...(unseen.length ? [el("p", { class: "hu-live-note" }, ...fillNodes(UNSEEN, { words }))] : []),
    );
  }
  return { node, draw };
}
