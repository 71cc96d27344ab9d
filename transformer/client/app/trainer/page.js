// The page "Train" of the static site: the run is in the address.

import { keep, kept, OPENED_MODEL } from "./kept.js";
import { openTrainer } from "./view.js";

const container = document.getElementById("hu-trainer");
const linkOf = () => new URLSearchParams(location.search).get("here") ?? "";
const address = (link) => `${location.pathname}${link ? `?${new URLSearchParams({ here: link })}` : ""}`;

const opened = location.hash === "#opened" ? await kept(OPENED_MODEL) : null;

const trainer = openTrainer(container, {
  link: linkOf(),
  opened: opened?.run,
  workerUrl: new URL("../../training/worker.js", import.meta.url),
  onLink(link, isNew) {
    if (link === linkOf()) return;
    if (isNew) history.pushState(null, "", address(link));
    else history.replaceState(null, "", address(link));
  },
  // The page Try finds the model in this browser.
  async onOpen({ model, title, examples, run }) {
    const problem = await keep(OPENED_MODEL, { ...model, title, examples, run });
    if (problem) throw new Error(problem);
    location.assign("index.html?model=trained&depth=heads");
  },
  isFile: true,
  address: (link) => new URL(address(link), location.href).href,
});
addEventListener("popstate", () => trainer.open(linkOf()));
