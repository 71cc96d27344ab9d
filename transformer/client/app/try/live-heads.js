// The depth Switch off of the site: the switchboard, and the changed translation next to the original.

import { button, el } from "../../common/base.js";
import { makeRequests } from "./live-requests.js";
import { switchboardView } from "../../views/grids/switchboard.js";

export function headsPage(container, context) {
  const { ablations } = context.site;
  const ablation = el(
    "select",
    {},
    ...Object.entries(ablations).map(([value, label]) => el("option", { value }, label)),
  );
  const results = el("div", { class: "hu hu-file hu-live-results", "aria-live": "polite" });
  const root = el("div", { hidden: "" }); // until it has something to show
  const requests = makeRequests(context, "heads", show);
  const choice = el("label", { class: "hu-live-check", hidden: "" }, "Kind of ablation ", ablation);
  container.append(
    el("div", { class: "hu hu-file hu-live-form" }, choice, requests.problem, requests.waiting),
    results,
    root,
  );
  const board = switchboardView(root, ({ off }) => change({ off: off || null }));
  root.firstElementChild.classList.add("hu-file");

  const currentRequest = () => ({
    model: context.model,
    text: context.text,
    off: context.params().get("off") ?? "",
    ablation: ablationOf(context),
  });

  function draw() {
    const request = currentRequest();
    ablation.value = request.ablation;
    requests.send(request);
  }

  function show(result, request) {
    choice.hidden = root.hidden = false;
    board.show(result.board);
    results.replaceChildren(...resultNodes(request, result));
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

// The kind of ablation in the address; the first one if it has none.
export function ablationOf({ site, params }) {
  const name = params().get("ablation");
  return Object.hasOwn(site.ablations, name) ? name : Object.keys(site.ablations)[0];
}
