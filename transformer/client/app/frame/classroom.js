// The line of a class: the visitor's status, and the buttons that change it. It opens the connection to the class.
// `.show(data)` takes, for a visitor who is no longer in the class, `{ over }`, a sentence, and otherwise
// `{ path, worker, code, teaches, teacher, page, classPage, pages, depths, personal, drawn }`: the connection's path; the
// folder of the scripts with which a student's browser runs the models; the class's code; the teacher's name; the path of this page and of the page Class; the titles of all pages and the labels of the
// depths of Try; the fields of an address that are each visitor's own; and what of the news Streamlit has drawn on this
// page, which is drawn again when it changes.

import { splitAddress } from "../../common/address.js";
import { button, el } from "../../common/base.js";
import { openPlace, setPages } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { OWN_MODEL_NEWS, startOwnModel } from "../../engine/own-model.js";
import { OWN_MODEL } from "../../engine/worker-client.js";
import { classConnection, connectToClass, onClassChange } from "./class-connection.js";
import { followPlaces, isRunning, sendPlaces } from "./class-places.js";
import { planLine } from "./plan-line.js";

const CODE_COOKIE = "heads_up_class"; // read by ui/widgets/class_line.py when a session begins
const PLACES = Symbol.for("heads-up-class-places"); // property of the document: what follows or leads in this tab
const IDLE_MS = 300; // after a click, or news, until a rerun is requested: they may open another page
const LOST_RERUN_MS = 10_000; // after which a requested rerun counts as lost

export function classroomView(root, report) {
  const message = el("span", { role: "status" });
  const dot = el("i", { "aria-hidden": "true" });
  const actions = el("span", { class: "hu-class-actions" });
  const ownModel = el("p", { class: "hu-class-model" });
  const status = el("p", { class: "hu-class-status" }, dot, message);
  const plan = planLine((station) => classConnection()?.send({ station }));
  const node = el("div", { class: "hu hu-class-line" }, status, actions, plan.node, ownModel);
  root.append(node);
  const listeners = new AbortController();
  let [data, news, timer, requestedAt, actedAt] = [null, null, 0, -Infinity, -Infinity];
  let endNews = () => {};
  document.addEventListener("click", () => (actedAt = performance.now()), { capture: true, signal: listeners.signal });
  document.addEventListener(OWN_MODEL_NEWS, () => data && draw(), { signal: listeners.signal });
  const endChanges = onClassChange(() => {
    if (data && !data.over && !classConnection()) requestRerun(); // the page says why
  });

  function connect() {
    const { base } = splitAddress(location.href, Object.keys(data.pages));
    let connection = classConnection();
    if (!connection) {
      connection = connectToClass(base.replace(/^http/, "ws").replace(/\/$/, "") + data.path);
      document[PLACES]?.end();
      document[PLACES] = data.teaches
        ? sendPlaces(connection, data.personal, data.classPage)
        : followPlaces(connection, data.personal);
    }
    connection.keep();
    endNews();
    endNews = connection.onNews((newest) => {
      news = newest;
      const isOwn = news.role === "student" && news.ownEngines;
      if (!isOwn) document[OWN_MODEL]?.end();
      else if (!document[OWN_MODEL]) startOwnModel(base, data.worker);
      draw();
      if (isOutdated(data.drawn, news)) requestRerun();
    });
  }

  // Ask for one rerun, when neither a click nor another place or rerun may be under way: it ends with `show`, unless it
  // was lost or the data are the same.
  function requestRerun() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const now = performance.now();
      const isAwaited = now - requestedAt < LOST_RERUN_MS;
      // A rerun of this page would undo that another one is being opened.
      if (isAwaited || isRunning() || document[PLACES]?.isOpening?.() || now - actedAt < IDLE_MS) return requestRerun();
      requestedAt = now;
      report({});
    }, IDLE_MS);
  }

  function draw() {
    const state = news?.state ?? (data.teaches ? "leads" : "alone");
    node.dataset.state = state;
    message.textContent = lineText(data, news);
    plan.show(news?.plan ?? null, news?.receivedAt ?? 0);
    const own = data.page === data.classPage ? document[OWN_MODEL] : null;
    ownModel.textContent = own ? loadingText(own.loading) : "";
    const send = (sent) => classConnection()?.send(sent);
    const parts = {
      leads: ["Stop leading", () => send({ leading: false })],
      follows: ["Stop following", () => send({ follow: false })],
      away: ["Follow again", () => send({ follow: true })],
      alone: data.teaches ? ["Lead the class", () => document[PLACES].begin()] : null,
    }[state];
    const nodes = [classLink(), news && parts && actionButton(parts)].filter(Boolean);
    // Not on every news: the focus stays on the button.
    const key = `${data.page} ${nodes.map((part) => part.textContent)}`;
    if (actions.dataset.key !== key) actions.replaceChildren(...nodes);
    actions.dataset.key = key;
  }

  function classLink() {
    if (data.page === data.classPage) return null;
    const { base } = splitAddress(location.href, Object.keys(data.pages));
    const link = el("a", { href: `${base}${data.classPage}` }, data.pages[data.classPage]);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openPlace(data.classPage, {});
    });
    return link;
  }

  function show(shown) {
    data = shown;
    clearTimeout(timer);
    requestedAt = -Infinity;
    const seconds = data.over ? 0 : 12 * 3600;
    document.cookie = `${CODE_COOKIE}=${data.code ?? ""}; Path=/; Max-Age=${seconds}; SameSite=Lax`;
    if (data.over) {
      endNews();
      classConnection()?.close();
      document[OWN_MODEL]?.end();
      ownModel.textContent = "";
      plan.show(null, 0);
      node.dataset.state = "over";
      message.textContent = data.over;
      actions.replaceChildren();
      return;
    }
    setPages(Object.keys(data.pages));
    draw();
    connect();
  }

  function close() {
    clearTimeout(timer);
    plan.close();
    endNews();
    endChanges();
    listeners.abort();
    classConnection()?.leave();
  }

  return { show, close };
}

const actionButton = ([label, act]) =>
  button(label, act, label.startsWith("Stop") ? {} : { class: "hu-button hu-primary" });

// The sentence of the line.
export function lineText({ teaches, teacher, pages, depths }, news) {
  if (teaches) {
    const { following, members, state } = news ?? { state: "leads" };
    const sentence = state === "leads" ? "Leading: {following} of {members} following" : "Your class: {members} joined";
    return fill(sentence, { following, members });
  }
  const { state, page, params } = news ?? { state: "alone" };
  if (state === "follows") return fill("Following {teacher}", { teacher });
  if (state === "alone") return fill("In the class of {teacher}", { teacher });
  const place = (page === "" && depths[params.depth]) || pages[page];
  return fill("Exploring on your own; {teacher} is at {place}", { teacher, place });
}

// The sentence about the model in a student's browser.
/** @param {Loading} loading */
export function loadingText({ loaded = 0, bytes = 0, ready = false, problem = "" }) {
  const [done, all] = [loaded, bytes].map((count) => (count / 1e6).toFixed(0));
  const sentence = problem
    ? "Your browser cannot run the model, so the server computes for it."
    : ready
    ? "Your browser computes by itself, with the model of {all} MB that it has loaded once."
    : "Your browser is loading the model: {done} of {all} MB. Until then the server computes.";
  return fill(sentence, { done, all });
}

// Whether the news differ from what Streamlit has drawn.
export function isOutdated(drawn, news) {
  const shown = Object.values(news.answers).filter((answers) => answers.shown).length;
  const { questions, state } = news;
  return Object.entries(drawn).some(([name, value]) => ({ questions, state, shown })[name] !== value);
}
