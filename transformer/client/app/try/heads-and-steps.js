// The depths All heads and Step by step: the explorer, how the sentence is translated, what it is compared with, and files
// of it.

import { button, el } from "../../common/base.js";
import { explorerView } from "../../views/explorer/explorer.js";
import { changeFields, CHANGES, NO_CHANGES } from "./change-fields.js";
import { allows } from "./address-problems.js";
import { makeDecoding } from "./decoding.js";
import { makeRequests } from "./depth-requests.js";
import { makeComparison } from "./comparison.js";
import { makeFiles } from "./files.js";
import { arrayOf, headerOf } from "../../trace/packing.js";

// `names` are those of the explorer's views that it shows.
export function explorePage(container, context, names = Object.keys(context.tabs)) {
  const hasCompare = names.includes("compare");
  const compare = hasCompare ? makeComparison(context, change) : null;
  const decoding = makeDecoding(context, change);
  const changedNote = el("p", { class: "hu-live-note" });
  const root = el("div", { hidden: "" }); // until it has something to show
  const requests = makeRequests(context, "explore", show);
  const choices = el(
    "details",
    { class: "hu hu-live-form", hidden: "" },
    el("summary", {}, hasCompare ? "Decoding method, comparison and files" : "Decoding method"),
    decoding.node,
    ...(hasCompare ? [compare.node, makeFiles(context, requestFields, () => startOf(context))] : []),
  );
  container.append(
    el("div", { class: "hu hu-live-form" }, changedNote, requests.problem, requests.waiting),
    root,
    choices,
  );
  if (!hasCompare) container.insertBefore(choices, root); // on Step by step the method is what there is to choose
  const view = explorerView(
    root,
    (state, { size: _, ...linked }) => {
      if (names.length === 1) delete linked.view; // the depth has no other
      context.link(state, linked);
      draw(); // another token may have been forced
    },
    Object.fromEntries(names.map((name) => [name, context.tabs[name]])),
    { canForce: true, hasOwnSize: context.size === undefined, staysInView: () => context.params().has("lesson") },
  );
  let [visit, lastSettings, hasArrived] = [0, "", false];
  let answerCount = 0; // ignores alternatives of an earlier answer
  let sentStart = ""; // the state that the last request had

  function requestFields() {
    const query = context.params();
    const other = hasCompare ? compare.other() : "";
    const otherModel = hasCompare ? query.get("other_model") ?? "" : "";
    const changes = hasCompare ? changeFields(context) : {};
    const hasSecond = other || otherModel || CHANGES.some((name) => changes[name]);
    const isComparison = hasSecond && query.get("view") === "compare"; // then these are side B, not the forced token
    return {
      model: context.model,
      text: context.text,
      other,
      other_model: otherModel,
      ...changes,
      ...context.decoding(),
      force: isComparison ? "" : query.get("force") ?? "",
    };
  }

  // `arrived`: the address is not that of the explorer's state: the browser went back, or a place was opened.
  function draw(arrived = false) {
    const request = requestFields();
    compare?.draw();
    decoding.draw();
    changedNote.hidden = !CHANGES.some((name) => request[name]) || Boolean(request.force);
    changedNote.replaceChildren(
      "Side B is the same sentence with the changes of the depth Switch off. ",
      button("Restore everything", () => change(NO_CHANGES)),
    );
    const isResized = context.size && view.ctx.state && view.ctx.state.size !== context.size;
    if (isResized || (arrived && requests.isLast(request))) view.open(startOf(context));
    else hasArrived ||= arrived;
    requests.send(request, () => {
      const settings = JSON.stringify({ ...request, text: "", other: "", force: "" });
      const hasSameSettings = settings === lastSettings &&
        view.ctx.state?.force === (context.params().get("force") ?? "");
      lastSettings = settings;
      if (!hasSameSettings || hasArrived) visit += 1;
      hasArrived = false;
      sentStart = JSON.stringify(startOf(context));
      return { start: startOf(context), visit };
    });
  }

  function show(answer, request) {
    root.hidden = choices.hidden = false;
    if (context.params().get("view") === "compare") choices.open = true; // it has what is compared
    requests.problem.textContent = answer.refused;
    view.ctx.alternatives = null;
    view.show(answer.bytes, (store, header) => {
      for (const meta of header.later) {
        store.laterParts.set(meta.name, async () => {
          const part = await context.ask("part", { ...request, name: meta.name });
          return arrayOf(meta, new Uint8Array(part.values.buffer));
        });
      }
    }, [request.model, request.other_model || request.model].map((name) => context.site.models[name].languages));
    if (sentStart !== JSON.stringify(startOf(context))) view.open(startOf(context)); // changed while it was awaited
    if (!hasCompare) askAlternatives(request);
  }

  // The alternatives of every word of the translation that the table of steps shows. They take longer than the translation.
  async function askAlternatives({ model, text, force }) {
    const answerNumber = ++answerCount;
    const forced = force ? view.store.sides[1] : null;
    const prefix = forced ? forced.trace.ids.slice(0, parseInt(force) + 1) : [];
    const { method, ...settings } = context.decoding();
    const search = forced && method === "forced" ? {} : { method, ...settings };
    try {
      const bytes = await context.ask("glance", { model, text, ...search, prefix, with_alternatives: true });
      if (bytes && answerNumber === answerCount) view.setAlternatives(headerOf(bytes).alternatives);
    } catch { /* the table then shows tokens */ }
  }

  function change(fields) {
    context.write(fields);
    draw();
  }
  return { draw, forgetChange: view.forgetReport, close: view.close };
}

// The explorer's state in the address. What its fields do not allow is ignored.
function startOf({ params, site, size }) {
  const values = params();
  const names = Object.keys(site.explorer.defaults).filter((name) => allows(site.fields[name] ?? {}, values.get(name)));
  const start = names.map((name) => [name, site.fields[name].bounds ? Number(values.get(name)) : values.get(name)]);
  return { ...Object.fromEntries(start), ...(size ? { size } : {}) };
}
