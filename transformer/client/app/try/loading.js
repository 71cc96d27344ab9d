// The progress bar while a model is loading, with a line about progress or errors.

import { button, el } from "../../common/base.js";

const megabytes = (count) => (count / 1e6).toFixed(1);

/** @param {() => void} retry called by the button that is shown with an error */
export function makeLoading(retry) {
  const bar = el("progress", { class: "hu-live-bar", max: "1", value: "0", "aria-label": "Loading the model" });
  const status = el("p", { class: "hu-live-status", role: "status" });
  const retryButton = button("Try again", retry, { hidden: "" });
  const node = el("div", { class: "hu-line hu-live-loading" }, bar, status, retryButton);

  /** @param {Loading} loading */
  function show({ model, loaded = 0, bytes = 1, ready = false, stored = false, problem = "" }) {
    bar.hidden = ready || Boolean(problem);
    retryButton.hidden = !problem || !model; // a problem of all models needs another page
    bar.value = loaded / bytes;
    status.textContent = problem || textOf({ loaded, bytes, ready, stored });
    status.classList.toggle("hu-live-problem", Boolean(problem));
  }

  function textOf({ loaded, bytes, ready, stored }) {
    if (!ready) {
      return `Loading the model: ${megabytes(loaded)} of ${megabytes(bytes)} MB. It is stored in this browser.`;
    }
    return stored ? "" : "The model is loaded, but this browser cannot store it; your next visit downloads it again.";
  }

  return { node, show };
}
