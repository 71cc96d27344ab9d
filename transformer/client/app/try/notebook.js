// The page Try in a notebook, as the front-end module of an anywidget (transformer/api/notebook.py): its model is in the
// kernel, and its address is the widget's trait `address`.

import { makeNotebookEngine } from "../../engine/notebook.js";
import { openTry } from "./try.js";

/** @param {Record<string, Tab>} tabs the explorer's views */
export function tryWidget(tabs) {
  /** @param {{ model: any, el: HTMLElement }} widget */
  function render({ model, el: container }) {
    let engine = /** @type {ReturnType<typeof makeNotebookEngine> | null} */ (null);
    const opening = openTry(container, {
      tabs,
      makeEngine: (onLoading) => engine = makeNotebookEngine(model, onLoading),
      isFile: true,
      address: traitAddress(model),
    });
    container.firstElementChild.classList.add("hu-widget");
    container.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed here are no commands of JupyterLab
    return () => {
      engine.close();
      opening.then((page) => page.close());
    };
  }
  return { render };
}

/** @returns {import("../../common/address.js").Address} */
function traitAddress(model) {
  const params = () => new URLSearchParams(model.get("address"));
  let written = String(params()); // to tell Python's changes from the page's own, which the model reports too
  return {
    params,
    write(next) {
      written = String(next);
      model.set("address", Object.fromEntries(next));
      model.save_changes();
    },
    onChange(changed) {
      const listener = () => {
        if (String(params()) === written) return;
        written = String(params());
        changed();
      };
      model.on("change:address", listener);
      return () => model.off("change:address", listener);
    },
  };
}
