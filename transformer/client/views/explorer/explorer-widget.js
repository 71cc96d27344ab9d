// The explorer in a notebook, as the front-end module of an anywidget. Python receives the reader's selection
// and can set it.

import { explorerView } from "./explorer.js";

const TRAITS = ["view", "kind", "layer", "head", "pin"]; // traits of figures/widget.py with the same names in the state

/** @param {DataView} data */
const payload = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** @param {Record<string, Tab>} views */
export function explorerWidget(views, makeView = explorerView) {
  /** @param {{ model: any, el: HTMLElement }} widget */
  function render({ model, el: container }) {
    /** @type {any} */
    let knownState = null; // the state that Python knows
    let reporting = false; // the model also notifies about traits that are set here
    const report = (state) => {
      knownState = state;
      reporting = true;
      for (const name of TRAITS) model.set(name, state[name]);
      reporting = false;
      model.save_changes();
    };
    const view = makeView(container, report, views);
    container.querySelector(".hu").classList.add("hu-file", "hu-widget"); // its own colours, light or dark
    const show = () => {
      view.show(payload(model.get("_data")));
      knownState ||= { ...view.ctx.state };
    };
    const applyTraits = () => {
      if (reporting) return;
      const traits = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
      if (TRAITS.some((name) => traits[name] !== knownState[name])) {
        knownState = { ...view.ctx.state, ...traits };
        view.applyState(knownState);
      }
    };
    show();
    applyTraits(); // a second display starts with the current state
    model.on("change:_data", show);
    for (const name of TRAITS) model.on(`change:${name}`, applyTraits);
    return () => {
      model.off("change:_data", show);
      for (const name of TRAITS) model.off(`change:${name}`, applyTraits);
      view.close();
    };
  }
  return { render };
}
