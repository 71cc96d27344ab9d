// The switchboard of the site: heads switched off, and the changed translation next to the original.

import { el } from "./base.js";
import { problemOf } from "./live-client.js";
import { liveField } from "./live-explore.js";
import { switchboardView } from "./switchboard.js";

const OFF_METHODS = {
  off: "zero output",
  uniform: "uniform attention to all tokens",
  mean: "their mean output over all positions",
};

export function headsPage(container, context) {
  const field = liveField("Your sentence");
  const how = el("select", {}, ...Object.entries(OFF_METHODS).map(([value, label]) => el("option", { value }, label)));
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const results = el("div", { class: "hu-live-results", "aria-live": "polite" });
  const root = el("div", {});
  container.append(
    el("div", { class: "hu hu-file hu-live-form" }, ...(context.lesson ? [] : [field.node, el("label", { class: "hu-live-check" }, "Switched-off heads have ", how)]), problem),
    results, root,
  );
  const board = switchboardView(root, ({ off }) => change({ off: off || null }));
  root.firstElementChild.classList.add("hu-file");
  let lastRequest = "";

  const question = () => ({
    model: context.model, text: context.text, off: context.params().get("off") ?? "", how: context.params().get("how") ?? "off",
  });

  async function draw() {
    const now = question();
    field.set(now.text, context.about);
    how.value = now.how in OFF_METHODS ? now.how : "off";
    if (lastRequest === JSON.stringify(now)) return;
    lastRequest = JSON.stringify(now);
    problem.textContent = problemOf(now.text);
    if (problem.textContent) return;
    try {
      const answer = await context.ask("heads", { ...now, how: how.value });
      if (!answer) return;
      board.show(answer.board);
      results.replaceChildren(...written(now, answer));
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  function written({ off }, { plain, altered }) {
    const block = (title, { text, finished }) => el("section", {},
      el("h3", {}, title), el("p", { lang: context.about.languages[1] || null }, text || "(nothing)", finished ? "" : " … (it never ends)"));
    if (!off) return [block("As trained", plain)];
    const compare = el("button", { type: "button", class: "hu-button" }, "Compare every head with and without →");
    compare.addEventListener("click", () => context.go("attention", { off, ...(how.value === "off" ? {} : { how: how.value }), view: "compare" }));
    const same = el("p", { class: "hu-live-note" }, plain.text === altered.text ? "The translation stays the same." : "The translation has changed.");
    return [block("As trained", plain), block("With these heads changed", altered), el("section", {}, same, compare)];
  }

  const change = (fields) => { context.write(fields); draw(); };
  field.onText((text) => change({ text }));
  how.addEventListener("change", () => change({ how: how.value === "off" ? null : how.value }));
  return { draw };
}
