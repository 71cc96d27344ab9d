// The explorer in a notebook, as the front-end module of an anywidget. Python receives the reader's selection
// and can set it.

import { explorerView } from "./explorer.js";

const TRAITS = ["view", "kind", "layer", "head", "pin"]; // traits of figures/widget.py with the same names in the state

/** @param {DataView} data */
const payload = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** @param {Record<string, Tab>} views */
export function explorerWidget(views, makeView = explorerView) {
  /** @param {{ model: any, el: HTMLElement }} given */
  function render({ model, el: container }) {
    /** @type {any} */
    let shown = null; // the state drawn, as known to Python
    let reporting = false; // the model also notifies about traits that are set here
    const report = (state) => {
      shown = state;
      reporting = true;
      for (const name of TRAITS) model.set(name, state[name]);
      reporting = false;
      model.save_changes();
    };
    const view = makeView(container, report, views);
    container.querySelector(".hu").classList.add("hu-file", "hu-widget"); // its own colours, light or dark
    const show = () => {
      view.show(payload(model.get("_data")));
      shown ||= { ...view.ctx.state };
    };
    const follow = () => {
      if (reporting) return;
      const set = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
      if (TRAITS.some((name) => set[name] !== shown[name])) {
        shown = { ...view.ctx.state, ...set };
        view.turnTo(shown);
      }
    };
    show();
    follow(); // a second display starts with the current state
    model.on("change:_data", show);
    for (const name of TRAITS) model.on(`change:${name}`, follow);
    return () => {
      model.off("change:_data", show);
      for (const name of TRAITS) model.off(`change:${name}`, follow);
      view.close();
    };
  }
  return { render };
}
