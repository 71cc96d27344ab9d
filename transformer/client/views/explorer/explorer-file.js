// The explorer as an HTML file.

import { explorerView } from "./explorer.js";
import { bytesIn } from "../../common/file.js";
import { arrayOf } from "../../trace/packing.js";

export async function openExplorer(views) {
  const view = explorerView(document.body, () => {}, views);
  document.querySelector(".hu").classList.add("hu-file");
  // The layers follow this script in the file and may not be parsed yet.
  const documentParsed = new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  const scriptOf = (name) => document.querySelector(`script[data-part="${name}"]`);
  view.show(await bytesIn(document.getElementById("hu-first")), (store, header) => {
    for (const meta of header.later) {
      store.laterParts.set(meta.name, async () => {
        if (!scriptOf(meta.name)) await documentParsed;
        return arrayOf(meta, await bytesIn(scriptOf(meta.name)));
      });
    }
  });
}
