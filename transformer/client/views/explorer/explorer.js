// The attention explorer: tabs of views over one state. `views` are the tabs in order, by name: see `Tab` in
// types.d.ts. `.show(bytes)` is called for new content; `report(state, defaults)` after the user has
// changed the state. `canForce`: the model can translate again with a forced token; `hasOwnSize`: the explorer has a
// button for the larger size, which the page around it lacks; `staysInView()`: whether a head is chosen without opening it.

import { button, clampIndex, colours, el, listenForResize, wordsNode } from "../../common/base.js";
import { listenForKeys, makeExact, makeHelp, makeLarger } from "../../common/help.js";
import { combinedHeads, matrixOf } from "../../common/matrix.js";
import { MEASURES, sinkNote } from "../../common/measures.js";
import { headGrid } from "../grids/all-heads.js";
import { sideGrid } from "../grids/grid-data.js";
import { headName, layerName, sentenceCase, setExactNames, shortName } from "../../common/naming.js";
import { makeControls } from "../../common/options.js";
import { TERMS } from "../../common/terms.js";
import { makeMarks } from "./marks-line.js";
import { makePins } from "./pins-panel.js";
import { pinnedWord } from "./pins.js";
import { makeDataTable } from "../../common/data-table.js";
import { makeStore } from "./store.js";
import { makeNotableHeads } from "./notable-heads.js";
import { makeExportMenu } from "../../common/export-menu.js";
import { startState } from "../../trace/explorer-data.js";
import { measureNames } from "../../trace/head-measures.js";
import { notices } from "../../trace/sentence-heads.js";

const CHOOSE_HEAD = "Choose a layer and a head";
const FIRST_TABS = ["heads", "heatmap"]; // the other tabs are shown with “More tools”
const REPORT_DELAY_MS = 150; // ms without another change, so that a held arrow key reports twice

/**
 * @param {HTMLElement | ShadowRoot} root
 * @param {(state: Partial<State>, defaults: State) => void} report
 * @param {Record<string, Tab>} views
 */
export function explorerView(
  root,
  report,
  views,
  { canForce = false, hasOwnSize = true, staysInView = () => false } = {},
) {
  /** @type {State} */
  let state = null;
  let visitNumber = null;
  let defaults = null;
  let secondKind = ""; // what the second side is: "other" or "force"
  let [reportTimer, lastReport] = [0, 0];
  const openViews = new Map(); // views, created when first opened
  const store = makeStore(() => redraw());

  const tabs = el("div", { class: "hu-tabs", role: "tablist", "aria-label": "Views of attention" });
  for (const [name, { label }] of Object.entries(views)) {
    tabs.append(button(label, () => set({ view: name }), { class: null, role: "tab", "data-view": name }));
  }
  const tools = el("div", { class: "hu-tools" });
  const controls = makeControls((changes) => set(changes));
  const mosaicSection = el("section", { class: "hu-mosaic" });
  const selectHead = ({ layer, head }) => (view().choose || set)({ layer, head });
  const mosaic = headGrid(mosaicSection, { role: "radio", onClick: selectHead, onMove: selectHead, help: CHOOSE_HEAD });
  const title = el("h2", { class: "hu-title" });
  const code = el("code", { class: "hu-code" });
  const note = el("p", { class: "hu-note" });
  const panel = el("div", { class: "hu-view", role: "tabpanel" });
  const dataTable = makeDataTable(() => view());
  const notableHeads = makeNotableHeads(
    (changes) => set(changes),
    (text, sentence) => wordsNode(text, store.sides[0][sentence === "s" ? "src" : "tgt"].lang),
  );
  let headNotices = null; // of the current trace, computed when they are first needed
  let getNotices = () => headNotices;
  const marks = makeMarks(() => set({ marks: "" }));
  const isSingle = Object.keys(views).length === 1; // a depth of its own, without what is about heads
  const main = el(
    "div",
    { class: "hu-main" },
    ...(isSingle ? [] : [notableHeads.first]),
    el("header", {}, title, code),
    note,
    marks.node,
    panel,
    dataTable.node,
  );
  const frame = el(
    "div",
    { class: isSingle ? "hu hu-explorer hu-single" : "hu hu-explorer" },
    el("div", { class: "hu-top" }, tabs, controls.kinds, tools),
    el("div", { class: "hu-split" }, mosaicSection, controls.node, main),
    ...(isSingle ? [] : [notableHeads.node]),
  );
  root.append(frame);

  // The context of the views.
  /** @type {Context} */
  const ctx = {
    set,
    store,
    canForce,
    staysInView,
    alternatives: null,
    views: Object.keys(views),
    get secondKind() {
      return secondKind;
    },
    get state() {
      return state;
    },
    theme: null,
    get sides() {
      return store.sides;
    },
    get side() {
      return store.sides[0];
    },
    get pairs() {
      return store.pairs;
    },
    // The current table of numbers.
    matrix: (side = store.sides[0], changes = {}) => {
      const changedState = { ...state, ...changes };
      return matrixOf(side, changedState, combinedHeads(side, clippedState(changedState, side, ctx.views)));
    },
    title: () => titleOf(store.sides[0], state),
  };
  const pins = makePins(ctx);
  if (!isSingle) frame.prepend(pins.node);
  const exportMenu = makeExportMenu(ctx, () => view());
  const help = makeHelp(ctx, () => view());
  const largerButton = makeLarger(ctx);
  const exactButton = makeExact(ctx);
  const sizeButtons = hasOwnSize ? [largerButton.node] : [];
  tools.append(controls.more, exportMenu.node, exactButton.node, ...sizeButtons, help.button);
  frame.append(help.dialog);
  listenForKeys(frame, ctx, help, () => tabs.querySelector("[aria-selected=true]").focus());

  function view() {
    if (!openViews.has(state.view)) openViews.set(state.view, views[state.view].make(ctx));
    return openViews.get(state.view);
  }

  // `registerParts(store, header)` registers the parts of a file that are unpacked later; `languages` are the codes of the
  // source's and the target's language of every side.
  /** @param {Uint8Array} bytes @param {any} [registerParts] @param {string[][]} [languages] */
  function show(bytes, registerParts = null, languages = []) {
    const previousSource = store.sides[0]?.source;
    const pinned = state?.pin ? pinnedWord(store.sides[0], state.pin) : null;
    const { header, isSameTrace } = store.load(bytes, languages);
    registerParts?.(store, header);
    const [side] = store.sides;
    if (!isSameTrace) headNotices = null;
    getNotices = () => headNotices ??= notices(side.trace, header.aligner);
    if (!state || visitNumber !== header.visit) {
      visitNumber = header.visit;
      state = startState(side, { ...header.defaults, ...header.start }, getNotices);
    } else if (state.pin && previousSource !== header.sides[0].source) {
      if (pinnedWord(side, state.pin)?.label !== pinned?.label) set({ pin: "" }); // it would now be another word
    }
    ({ defaults, second_kind: secondKind } = header);
    const names = new Set(store.sides.flatMap(({ trace }) => trace.kinds.flatMap((kind) => measureNames(trace, kind))));
    const known = Object.entries(header.measures).filter(([name]) => names.has(name));
    for (const name of Object.keys(MEASURES)) delete MEASURES[name];
    Object.assign(MEASURES, Object.fromEntries(known));
    Object.assign(TERMS, header.terms);
    const labels = known.map(([name, { label }]) => [name, label]);
    controls.setChoices("measure", { none: "none", ...Object.fromEntries(labels) });
    notableHeads.show(header.has_notices ? getNotices() : []);
    redraw();
  }

  // Show the state of an address with the same sentence, without reporting it.
  /** @param {Partial<State>} start */
  function open(start) {
    if (!state) return;
    forgetReport();
    state = startState(store.sides[0], { ...defaults, size: state.size, ...start }, getNotices);
    redraw();
  }

  function set(changes) {
    state = { ...state, ...changes };
    redraw();
    scheduleReport();
  }

  // A single change is reported at once.
  function scheduleReport() {
    forgetReport();
    const isSingle = performance.now() - lastReport > REPORT_DELAY_MS;
    lastReport = performance.now();
    if (isSingle) report(state, defaults);
    else reportTimer = setTimeout(reportNow, REPORT_DELAY_MS);
  }

  // Report the last change before something else happens.
  function reportNow() {
    if (!reportTimer) return;
    forgetReport();
    report(state, defaults);
  }

  function forgetReport() {
    clearTimeout(reportTimer);
    reportTimer = 0;
  }

  // Draw this state at once, keeping the reader's own size and exactness.
  /** @param {Partial<State>} given */
  function applyState(given) {
    state = { ...defaults, ...given, size: state.size, exact: state.exact };
    redraw();
    scheduleReport();
  }

  function redraw() {
    // Outside the page it has no colours and no width.
    if (!state || !store.sides.length || !frame.isConnected) return;
    const side = store.sides[0];
    state = clippedState(state, side, ctx.views);
    setExactNames(state.exact);
    ctx.theme = colours(frame);
    frame.dataset.size = state.size;
    for (const tab of tabs.children) {
      const isSelected = tab.dataset.view === state.view;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
      tab.hidden = !state.more && !isSelected && !FIRST_TABS.includes(tab.dataset.view);
    }
    exportMenu.node.hidden = !state.more;
    const currentView = view();
    if (panel.firstChild !== currentView.node) panel.replaceChildren(currentView.node);
    const kinds = currentView.kinds === false ? [] : side.kinds;
    controls.draw(state, currentView.options || [], kinds, defaults);
    mosaicSection.hidden = !views[state.view].mosaic;
    if (!mosaicSection.hidden) mosaic.show({ ...sideGrid(side, [state.kind]), selected: state, theme: ctx.theme });
    title.textContent = currentView.title ? currentView.title() : ctx.title();
    code.hidden = !state.exact;
    code.textContent = code.hidden ? "" : currentView.code ? currentView.code() : codeOf(state);
    note.textContent = currentView.note ? currentView.note() : sinkNote(side, state);
    marks.draw(currentView.marks ? currentView.marks() : ctx.matrix(), state);
    notableHeads.draw();
    pins.draw();
    currentView.draw();
    largerButton.draw();
    exactButton.draw();
    dataTable.draw();
  }

  tabs.addEventListener("keydown", (event) => {
    const names = ctx.views; // a tab that is not shown yet appears when it is selected
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    set({ view: names[(names.indexOf(state.view) + step + names.length) % names.length] });
    tabs.querySelector("[aria-selected=true]").focus();
  });

  const endResize = listenForResize(frame, redraw);
  document.addEventListener("click", reportNow, true);

  return {
    show,
    applyState,
    // Alternatives of every word, for a table of steps in whole words; null if they are unknown.
    setAlternatives(alternatives) {
      ctx.alternatives = alternatives;
      redraw();
    },
    open,
    forgetReport, // of a place that the visitor has left
    store,
    ctx,
    close: () => {
      endResize();
      document.removeEventListener("click", reportNow, true);
      forgetReport();
      exportMenu.close();
      dataTable.close();
      for (const openView of openViews.values()) openView.close?.();
    },
  };
}

// The state clipped to what this sentence and model have.
/** @param {State} state @param {Side} side */
function clippedState(state, side, views) {
  const kind = side.kinds.includes(state.kind) ? state.kind : side.kinds[side.kinds.length - 1];
  return {
    ...state,
    view: views.includes(state.view) ? state.view : views[0],
    kind,
    layer: clampIndex(state.layer, side.depths[kind]),
    head: clampIndex(state.head, side.n_heads),
    measure: state.measure in MEASURES ? state.measure : "none",
  };
}

/** @param {Side} side @param {State} state */
function titleOf(side, state) {
  if (state.combine === "one") return sentenceCase(headName(state));
  const heads = combinedHeads(side, state);
  const name = state.combine === "mean" ? "Mean" : "Maximum";
  const of = state.heads ? heads.map(shortName).join(", ") : `all heads of ${layerName(state.layer)}`;
  return `${name} of ${of}`;
}

/** @param {State} state */
function codeOf(state) {
  const weights = `trace.weights("${state.kind}", layer=${state.layer})`;
  if (state.combine === "one") return `${weights}[${state.head}]`;
  return state.heads ? "" : `${weights}.${state.combine}(axis=0)`;
}
