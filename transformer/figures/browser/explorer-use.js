// The explorer on its page of the app, and as an HTML file.

import { writeAddress } from "./address.js";
import { explorerView } from "./explorer.js";
import { bytesIn } from "./file.js";
import { LED_EVENT, mounted } from "./mount.js";
import { arrayOf } from "./store.js";

export function mountExplorer(views) {
  // The size is the visitor's own setting and not part of links.
  return mounted((container, _report, setState) => {
    const view = explorerView(container, (state, { size: _, ...linked }) => {
      writeAddress(state, linked);
      setState(state);
    }, views, true);
    const led = (event) => {
      view.turnTo(event.detail);
      event.preventDefault(); // handled here
    };
    const show = (bytes) => (document.addEventListener(LED_EVENT, led), view.show(bytes));
    return { show, close: () => (document.removeEventListener(LED_EVENT, led), view.close()) };
  });
}

export async function openExplorer(views) {
  const view = explorerView(document.body, () => {}, views);
  document.querySelector(".hu").classList.add("hu-file");
  // The layers follow this script in the file and may not be parsed yet.
  const read = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  const block = (name) => document.querySelector(`script[data-part="${name}"]`);
  view.show(await bytesIn(document.getElementById("hu-first")), (store, header) => {
    for (const meta of header.later) {
      store.later.set(meta.name, async () => {
        if (!block(meta.name)) await read;
        return arrayOf(meta, await bytesIn(block(meta.name)));
      });
    }
  });
}
