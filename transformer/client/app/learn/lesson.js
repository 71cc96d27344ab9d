// Lessons in the app, mounted by Streamlit on every page. Nothing here causes a rerun.

import { el } from "../../common/base.js";
import { splitAddress } from "../../common/address.js";
import { currentPlace, onOpenPlace, onPlace, setPages } from "../../common/open.js";
import { withOwnModel } from "../../engine/own-engine.js";
import { makeServerEngine } from "../../engine/server.js";
import { listenToClass } from "./class-answers.js";
import { LEARN } from "./lesson-places.js";
import { openLessons } from "./lessons.js";

const SHOWN = "lesson"; // data attribute of the element around the view: "card", "list" or "sheet", for the page's style

export function lessonView(root) {
  const node = el("div", { class: "hu hu-lessons-view" });
  root.append(node);
  /** @type {any} */
  let data = null;
  let draw = () => {};
  let ends = [];

  function mark(hasCard) {
    const { host } = root.getRootNode();
    if (!host) return;
    if (data.page === LEARN) host.dataset[SHOWN] = currentPlace().params.sheet ? "sheet" : "list";
    else if (hasCard) host.dataset[SHOWN] = "card";
    else delete host.dataset[SHOWN];
  }

  function start() {
    const { base } = splitAddress(location.href, Object.keys(data.titles));
    const { ask } = withOwnModel(makeServerEngine(base, (loading) => lessons.say(loading.problem ?? "")));
    const group = listenToClass(() => draw());
    const lessons = openLessons(node, {
      page: data.page,
      ask,
      place: () => ({ ...currentPlace(), page: data.page }),
      titles: () => data.titles,
      getClass: () => group.state(data.class),
      onVisible: mark,
    });
    draw = () => {
      if (currentPlace().page !== data.page) return; // this page is being left
      if (data.class && !group.state(data.class)) return; // until there are news of the class
      lessons.draw();
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
