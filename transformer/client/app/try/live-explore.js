// The depths All heads and Step by step: the explorer, how the sentence is translated, what it is compared with, and files
// of it.

import { button, download, el } from "../../common/base.js";
import { exportName } from "../../common/naming.js";
import { explorerView } from "../../views/explorer/explorer.js";
import { changeFields, CHANGES, NO_CHANGES } from "./change-fields.js";
import { allows } from "./address-problems.js";
import { makeDecoding } from "./decoding.js";
import { liveField } from "./live-field.js";
import { makeRequests } from "./live-requests.js";
import { oneWordChanged } from "./one-word.js";
import { arrayOf } from "../../trace/packing.js";

const FILE_LABELS = { html: "Export as web page (.html)", npz: "Export all tensors (.npz)" };
const FILE_HELP = {
  html: "One file with all heads that opens without this app and without a network.",
  npz: "For Python: open it with Trace.load_npz(file), or with NumPy alone.",
};

// `context.lesson`: the sentence and the state come from a lesson; `context.number` counts its requests. `names` are
// those of the explorer's views that it shows.
export function explorePage(container, context, names = Object.keys(context.tabs)) {
  const hasCompare = names.includes("compare");
  const compare = makeComparison(context, change);
  const decoding = makeDecoding(context, change);
  const changedNote = el("p", { class: "hu-live-note" });
  const root = el("div", { hidden: "" }); // until it has something to show
  const requests = makeRequests(context, "explore", show);
  const choices = el("div", { class: "hu hu-live-form", hidden: "" });
  if (!context.lesson) {
    choices.append(
      el("details", {}, el("summary", {}, "Decoding method"), decoding.node),
      ...(hasCompare ? [compare.node, makeFiles(context, requestFields)] : []),
    );
  }
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
    { canForce: true, hasOwnSize: context.size === undefined },
  );
  let [visit, lastSettings, hasArrived] = [0, "", false];
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
      number: context.number ?? 0,
      force: isComparison ? "" : query.get("force") ?? "",
    };
  }

  // `arrived`: the address is not that of the explorer's state: the browser went back, or a place was opened.
  function draw(arrived = false) {
    const request = requestFields();
    compare.draw();
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
    requests.problem.textContent = answer.refused;
    view.show(answer.bytes, (store, header) => {
      for (const meta of header.later) {
        store.laterParts.set(meta.name, async () => {
          const part = await context.ask("part", { ...request, name: meta.name });
          return arrayOf(meta, new Uint8Array(part.values.buffer));
        });
      }
    });
    if (sentStart !== JSON.stringify(startOf(context))) view.open(startOf(context)); // changed while it was awaited
  }

  function change(fields) {
    context.write(fields);
    draw();
  }
  return { draw, close: view.close };
}

// What the sentence is compared with: another one, or another model.
function makeComparison(context, change) {
  const { site } = context;
  const field = liveField(
    "Compare with another sentence",
    (text) => change({ other: text || null, ...(text ? { ...NO_CHANGES, view: "compare" } : {}) }),
  );
  const models = el("select", {});
  const choice = el("label", { class: "hu-live-check" }, "Compare with another model ", models);
  const stop = button("Stop comparing", () => change({ other: null, other_model: null, force: null, view: null }));
  const node = el("div", { class: "hu-live-comparison" }, field.node, el("div", { class: "hu-line" }, choice, stop));
  models.addEventListener("change", () => {
    change({ other_model: models.value || null, ...(models.value ? { ...NO_CHANGES, view: "compare" } : {}) });
  });

  // The other sentence. The view Compare begins with one word of the sentence changed.
  function other() {
    const params = context.params();
    const text = params.get("other") ?? "";
    const hasOther = text || params.get("other_model") || CHANGES.some((name) => params.get(name));
    if (hasOther || params.get("view") !== "compare") return text;
    return suggestion();
  }

  function suggestion() {
    const { languages, examples } = context.modelInfo;
    return oneWordChanged(context.text, languages[0]) || examples.find((text) => text !== context.text) || "";
  }

  function draw() {
    const params = context.params();
    const names = Object.keys(site.models).filter((name) =>
      name !== context.model && (site.models[name].in_menu !== false || name === params.get("other_model"))
    );
    choice.hidden = !names.length;
    models.replaceChildren(
      el("option", { value: "" }, "the same model"),
      ...names.map((name) => el("option", { value: name }, site.models[name].label)),
    );
    models.value = params.get("other_model") ?? "";
    stop.hidden = !["other", "other_model", "force"].some((name) => params.get(name));
    field.set(params.get("other") ?? "", { ...context.modelInfo, hint: suggestion() || context.modelInfo.hint });
  }
  return { node, draw, other };
}

// Buttons for files that the engine can make of the sentence.
function makeFiles(context, requestFields) {
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const buttons = (context.site.files ?? []).map((format) => {
    const save = async () => {
      saver.disabled = true;
      problem.textContent = "";
      try {
        const start = startOf(context);
        const bytes = await context.ask("file", { ...requestFields(), start, format });
        if (bytes) download(bytes, `${exportName("attention", context.model, context.text)}.${format}`);
      } catch (error) {
        problem.textContent = error.message;
      }
      saver.disabled = false;
    };
    const saver = /** @type {HTMLButtonElement} */ (button(FILE_LABELS[format], save, { title: FILE_HELP[format] }));
    return saver;
  });
  return el("div", {}, el("div", { class: "hu-line" }, ...buttons), problem);
}

// The explorer's state in the address. What its fields do not allow is ignored.
function startOf({ params, site, size }) {
  const values = params();
  const names = Object.keys(site.explorer.defaults).filter((name) => allows(site.fields[name] ?? {}, values.get(name)));
  const start = names.map((name) => [name, site.fields[name].bounds ? Number(values.get(name)) : values.get(name)]);
  return { ...Object.fromEntries(start), ...(size ? { size } : {}) };
}
