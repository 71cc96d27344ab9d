// The switchboard of the site: heads switched off, and the changed translation next to the original.

import { el } from "./base.js";
import { textProblem } from "./live-client.js";
import { liveField } from "./live-explore.js";
import { switchboardView } from "./switchboard.js";

const OFF_METHODS = {
  off: "zero output",
  uniform: "uniform attention to all tokens",
  mean: "their mean output over all positions",
};

export function headsPage(container, context) {
  const field = liveField("Your sentence");
  const offMethod = el(
    "select",
    {},
    ...Object.entries(OFF_METHODS).map(([value, label]) => el("option", { value }, label)),
  );
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const results = el("div", { class: "hu-live-results", "aria-live": "polite" });
  const root = el("div", {});
  container.append(
    el(
      "div",
      { class: "hu hu-file hu-live-form" },
      ...(context.lesson
        ? []
        : [field.node, el("label", { class: "hu-live-check" }, "Switched-off heads have ", offMethod)]),
      problem,
    ),
    results,
    root,
  );
  const board = switchboardView(root, ({ off }) => change({ off: off || null }));
  root.firstElementChild.classList.add("hu-file");
  let lastRequest = "";

  const currentRequest = () => ({
    model: context.model,
    text: context.text,
    off: context.params().get("off") ?? "",
    how: context.params().get("how") ?? "off",
  });

  async function draw() {
    const request = currentRequest();
    field.set(request.text, context.modelInfo);
    offMethod.value = request.how in OFF_METHODS ? request.how : "off";
    if (lastRequest === JSON.stringify(request)) return;
    lastRequest = JSON.stringify(request);
    problem.textContent = textProblem(request.text);
    if (problem.textContent) return;
    try {
      const result = await context.ask("heads", { ...request, how: offMethod.value });
      if (!result) return;
      board.show(result.board);
      results.replaceChildren(...resultNodes(request, result));
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  function resultNodes({ off }, { original, altered }) {
    const translationBlock = (title, { text, finished }) =>
      el(
        "section",
        {},
        el("h3", {}, title),
        el(
          "p",
          { lang: context.modelInfo.languages[1] || null },
          text || "(nothing)",
          finished ? "" : " … (stopped at the maximum length)",
        ),
      );
    if (!off) return [translationBlock("As trained", original)];
    const compare = el("button", { type: "button", class: "hu-button" }, "Compare every head with and without →");
    compare.addEventListener(
      "click",
      () =>
        context.openPage("attention", {
          off,
          ...(offMethod.value === "off" ? {} : { how: offMethod.value }),
          view: "compare",
        }),
    );
    const comparisonNote = el(
      "p",
      { class: "hu-live-note" },
      original.text === altered.text ? "The translation stays the same." : "The translation has changed.",
    );
    return [
      translationBlock("As trained", original),
      translationBlock("With these heads changed", altered),
      el("section", {}, comparisonNote, compare),
    ];
  }

  const change = (fields) => {
    context.write(fields);
    draw();
  };
  field.onText((text) => change({ text }));
  offMethod.addEventListener("change", () => change({ how: offMethod.value === "off" ? null : offMethod.value }));
  return { draw };
}
