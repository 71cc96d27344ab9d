// The explorer in a notebook, as the front-end module of an anywidget: what the reader chooses reaches
// Python, and what Python sets is drawn.

import { explorerView } from "./explorer.js";

const TRAITS = ["view", "kind", "layer", "head", "pin"]; // of figures/widget.py, by their names in the state

/** @param {DataView} data */
const payload = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** @param {Record<string, Tab>} views */
export function explorerWidget(views, makeView = explorerView) {
  /** @param {{ model: any, el: HTMLElement }} given */
  function render({ model, el: place }) {
    /** @type {any} */
    let shown = null; // the state that is drawn, as far as Python knows it
    let reporting = false; // the model tells of each trait that is set here, too
    const report = (state) => {
      shown = state;
      reporting = true;
      for (const name of TRAITS) model.set(name, state[name]);
      reporting = false;
      model.save_changes();
    };
    const view = makeView(place, report, views);
    place.querySelector(".hu").classList.add("hu-file", "hu-widget"); // colours of its own, light or dark
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
    follow(); // a second display of the widget opens where the first one is
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
