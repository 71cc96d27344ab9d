// Lessons in the app, mounted by Streamlit on every page: the card of the open lesson, and on the page Learn the list.
// The address says which lesson is open, and nothing here causes a rerun.

import { el } from "../../common/base.js";
import { splitAddress } from "../../common/address.js";
import { currentPlace, onOpenPlace, onPlace, setPages } from "../../common/open.js";
import { withOwnModel } from "../../engine/own-engine.js";
import { makeServerEngine } from "../../engine/server.js";
import { listenToClass } from "./class-answers.js";
import { makeGuesses } from "./guesses.js";
import { lessonCard } from "./lesson-card.js";
import { lessonList } from "./lesson-list.js";
import { LEARN } from "./lesson-places.js";

const SHOWN = "lesson"; // data attribute of the element around the view, "card" or "list", for the style of the page

export function lessonView(root) {
  const problem = el("p", { class: "hu-note", role: "status" });
  const node = el("div", { class: "hu hu-lessons-view" }, problem);
  root.append(node);
  /** @type {any} */
  let data = null;
  let draw = () => {};
  let ends = [];

  function mark(hasCard) {
    const { host } = root.getRootNode();
    if (!host) return;
    if (data.page === LEARN) host.dataset[SHOWN] = "list";
    else if (hasCard) host.dataset[SHOWN] = "card";
    else delete host.dataset[SHOWN];
  }

  function start() {
    const { base } = splitAddress(location.href, Object.keys(data.titles));
    const { ask: askServer } = withOwnModel(makeServerEngine(base, (loading) => {
      problem.textContent = loading.problem ?? "";
    }));
    const ask = withMemory(askServer);
    const guesses = makeGuesses();
    const place = () => ({ ...currentPlace(), page: data.page });
    const group = listenToClass(() => draw());
    const card = lessonCard(node, {
      ask,
      place,
      guesses,
      getClass: () => group.state(data.class),
      onVisible: mark,
    });
    const list = data.page === LEARN
      ? lessonList(node, { ask, place, guesses, titles: () => data.titles, openLesson: card.openLesson })
      : null;
    draw = () => {
      if (currentPlace().page !== data.page) return; // this page is being left
      if (data.class && !group.state(data.class)) return; // until there are news of the class
      problem.textContent = "";
      for (const part of [card, list]) {
        part?.draw().catch((error) => {
          problem.textContent = error.message;
        });
      }
    };
    ends = [onPlace(draw), group.close];
    if (data.page === LEARN) ends.push(onOpenPlace(openHere));
  }

  // Open another place of this page; the clinic is another page in all but its address.
  function openHere({ page, params }) {
    if (page !== LEARN || !params || params.clinic) return false;
    const query = new URLSearchParams(params).toString();
    history.pushState(null, "", location.pathname + (query ? `?${query}` : ""));
    draw();
    root.getRootNode().host?.closest("[data-testid=stMain]")?.scrollTo(0, 0);
    return true;
  }

  return {
    // `page`: the path of the page; `titles`: of all pages, by path; `class`: code and teacher of the visitor's class, or
    // null.
    show(shown) {
      data = shown;
      setPages(Object.keys(data.titles));
      if (!ends.length) start();
      draw();
    },
    close() {
      for (const end of ends) end();
      ends = [];
    },
  };
}

// `ask` that asks for the course and the models only once.
/** @param {Engine["ask"]} ask @returns {Engine["ask"]} */
function withMemory(ask) {
  const answers = new Map();
  return (kind, request) => {
    if (kind !== "lessons" && kind !== "models") return ask(kind, request);
    if (!answers.has(kind)) answers.set(kind, ask(kind, request));
    return answers.get(kind);
  };
}
