// The depths All heads and Step by step of the site: the explorer, how the sentence is translated, and what it is
// compared with.

import { button, el } from "../../common/base.js";
import { explorerView } from "../../views/explorer/explorer.js";
import { changeFields, CHANGES, NO_CHANGES } from "./change-fields.js";
import { liveField } from "./live-field.js";
import { makeRequests } from "./live-requests.js";
import { arrayOf } from "../../trace/packing.js";

export const BEAM_SIZE = 4; // beam size of the paper

// `context.lesson`: the sentence and the state come from a lesson; `context.number` counts its requests. `names` are
// those of the explorer's views that it shows.
export function explorePage(container, context, names = Object.keys(context.tabs)) {
  const hasCompare = names.includes("compare");
  const other = liveField(
    "Compare with another sentence",
    (text) => change({ other: text || null, ...(text ? { ...NO_CHANGES, view: "compare" } : {}) }),
  );
  const beam = el("input", { type: "checkbox" });
  const changedNote = el("p", { class: "hu-live-note" });
  const root = el("div", { hidden: "" }); // until it has something to show
  const requests = makeRequests(context, "explore", show);
  const choices = el("div", { class: "hu hu-file hu-live-form", hidden: "" });
  if (!context.lesson) {
    choices.append(
      el("label", { class: "hu-live-check" }, beam, ` Beam search, beam size ${BEAM_SIZE}`),
      ...(hasCompare ? [other.node] : []),
    );
  }
  container.append(
    el("div", { class: "hu hu-file hu-live-form" }, changedNote, requests.problem, requests.waiting),
    root,
    choices,
  );
  const view = explorerView(
    root,
    (state, { size: _, ...linked }) => {
      if (names.length === 1) delete linked.view; // the depth has no other
      context.link(state, linked);
      draw(); // another token may have been forced
    },
    Object.fromEntries(names.map((name) => [name, context.tabs[name]])),
    false,
    true,
  );
  root.firstElementChild.classList.add("hu-file");
  let [visit, lastSettings] = [0, ""];

  const requestFields = () => {
    const query = context.params();
    const other = hasCompare ? query.get("other") ?? "" : "";
    const changes = hasCompare ? changeFields(context) : {};
    const hasSecond = other || CHANGES.some((name) => changes[name]);
    const isComparison = hasSecond && query.get("view") === "compare"; // then these are side B, not the forced token
    return {
      model: context.model,
      text: context.text,
      other,
      ...changes,
      ...context.decoding(),
      number: context.number ?? 0,
      force: isComparison ? "" : query.get("force") ?? "",
    };
  };

  function draw() {
    const request = requestFields();
    other.set(request.other, context.modelInfo);
    beam.checked = request.beam > 1;
    changedNote.hidden = !CHANGES.some((name) => request[name]) || Boolean(request.force);
    changedNote.replaceChildren(
      "Side B is the same sentence with the changes of the depth Switch off. ",
      button("Restore everything", () => change(NO_CHANGES)),
    );
    requests.send(request, () => {
      const settings = JSON.stringify({ ...request, text: "", other: "", force: "" });
      const hasSameSettings = settings === lastSettings &&
        view.ctx.state?.force === (context.params().get("force") ?? "");
      lastSettings = settings;
      if (!hasSameSettings) visit += 1;
      return { start: startOf(context), visit };
    });
  }

  function show(answer, request) {
    root.hidden = choices.hidden = false;
    requests.problem.textContent = answer.refused;
    view.show(answer.bytes, (store, header) => {
      for (const meta of header.later) {
        store.laterParts.set(meta.name, async () => {
          const part = await context.ask("part", { ...request, name: meta.name });
          return arrayOf(meta, new Uint8Array(part.values.buffer));
        });
      }
    });
  }

  const change = (fields) => {
    context.write(fields);
    draw();
  };
  beam.addEventListener("change", () => change({ method: beam.checked ? "beam" : null }));
  return { draw };
}

// The explorer's state in the address. What its fields do not allow is ignored.
function startOf({ params, site }) {
  const entries = Object.entries(site.fields).filter(([name, field]) => allows(field, params().get(name)));
  return Object.fromEntries(
    entries.map(([name, field]) => [name, "bounds" in field ? Number(params().get(name)) : params().get(name)]),
  );
}

// Whether a field of figures/state.py may have this value.
/** @param {{ bounds?: number[], choices?: string[], form?: string }} field @param {string | null} text */
function allows({ bounds, choices, form }, text) {
  if (text === null) return false;
  if (bounds) return /^-?\d{1,9}$/.test(text) && bounds[0] <= Number(text) && Number(text) <= bounds[1];
  if (choices) return choices.includes(text);
  return new RegExp(`^(?:${form})$`).test(text);
}
