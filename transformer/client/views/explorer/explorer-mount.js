// The explorer on its page of the app, and as an HTML file.

import { writeAddress } from "../../common/address.js";
import { explorerView } from "./explorer.js";
import { bytesIn } from "../../common/file.js";
import { streamlitComponent, TEACHER_VIEW_EVENT } from "../../common/mount.js";
import { arrayOf } from "../../trace/packing.js";

export function mountExplorer(views) {
  // The size is the visitor's own setting and not part of links.
  return streamlitComponent((container, _report, setState) => {
    const view = explorerView(
      container,
      (state, { size: _, ...linkedDefaults }) => {
        writeAddress(state, linkedDefaults);
        setState(state);
      },
      views,
      true,
    );
    const onTeacherView = (event) => {
      view.applyParams(event.detail);
      event.preventDefault(); // handled here
    };
    const show = (bytes) => (document.addEventListener(TEACHER_VIEW_EVENT, onTeacherView), view.show(bytes));
    return { show, close: () => (document.removeEventListener(TEACHER_VIEW_EVENT, onTeacherView), view.close()) };
  });
}

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
