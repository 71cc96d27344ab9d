// The depth Switch off of the site: the switchboard, and the changed translation next to the original.

import { button, el } from "../common/base.js";
import { textProblem } from "./live-client.js";
import { switchboardView } from "../grids/switchboard.js";

export function headsPage(container, context) {
  const { ablations } = context.site;
  const ablation = el(
    "select",
    {},
    ...Object.entries(ablations).map(([value, label]) => el("option", { value }, label)),
  );
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const results = el("div", { class: "hu hu-file hu-live-results", "aria-live": "polite" });
  const root = el("div", { hidden: "" }); // until it has something to show
  const waiting = waitingNote();
  const choice = el("label", { class: "hu-live-check", hidden: "" }, "Kind of ablation ", ablation);
  container.append(el("div", { class: "hu hu-file hu-live-form" }, choice, problem, waiting), results, root);
  const board = switchboardView(root, ({ off }) => change({ off: off || null }));
  root.firstElementChild.classList.add("hu-file");
  let lastRequest = "";

  const currentRequest = () => ({
    model: context.model,
    text: context.text,
    off: context.params().get("off") ?? "",
    ablation: ablationOf(context),
  });

  async function draw() {
    const request = currentRequest();
    ablation.value = request.ablation;
    if (lastRequest === JSON.stringify(request)) return;
    lastRequest = JSON.stringify(request);
    problem.textContent = "";
    if (textProblem(request.text, context.modelInfo)) return; // which the sentence's own field shows
    try {
      const result = await context.ask("heads", request);
      if (!result) return;
      waiting.hidden = true;
      choice.hidden = false;
      root.hidden = false;
      board.show(result.board);
      results.replaceChildren(...resultNodes(request, result));
    } catch (error) {
      if (error.isLoadError) lastRequest = "";
      else problem.textContent = error.message;
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
          text || "(empty)",
          finished ? "" : " … (stopped at the maximum length)",
        ),
      );
    if (!off) return [translationBlock("With all heads", original)];
    const openComparison = () => context.openDepth("heads", { view: "compare" });
    const comparisonNote = el(
      "p",
      { class: "hu-live-note" },
      original.text === altered.text ? "The translation stays the same." : "The translation has changed.",
    );
    return [
      translationBlock("With all heads", original),
      translationBlock("After the change", altered),
      el("section", {}, comparisonNote, button("Compare every head with and without →", openComparison)),
    ];
  }

  const change = (fields) => {
    context.write(fields);
    draw();
  };
  ablation.addEventListener(
    "change",
    () => change({ ablation: ablation.value === Object.keys(ablations)[0] ? null : ablation.value }),
  );
  return { draw };
}

// What a depth shows before the model's first answer.
export const waitingNote = () =>
  el("p", { class: "hu-live-note" }, "The heads of this sentence appear here as soon as the model is loaded.");

// The kind of ablation in the address; the first one if it has none.
export function ablationOf({ site, params }) {
  const name = params().get("ablation");
  return Object.hasOwn(site.ablations, name) ? name : Object.keys(site.ablations)[0];
}
