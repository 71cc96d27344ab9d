// The progress bar while a model is loading, with a line about progress or errors.

import { el } from "./base.js";

const megabytes = (count) => (count / 1e6).toFixed(1);

export function makeLoading() {
  const bar = el("progress", { class: "hu-live-bar", max: "1", value: "0", "aria-label": "Loading the model" });
  const status = el("p", { class: "hu-live-status", role: "status" });
  const node = el("div", { class: "hu-live-loading" }, bar, status);

  /** @param {import("./live-client.js").Loading} loading */
  function show({ loaded, bytes, ready, stored }) {
    bar.hidden = Boolean(ready);
    bar.value = loaded / bytes;
    status.textContent = !ready
      ? `Loading the model: ${megabytes(loaded)} of ${megabytes(bytes)} MB. It is stored in this browser.`
      : stored
      ? ""
      : "The model is loaded, but this browser cannot store it; your next visit downloads it again.";
    status.classList.remove("hu-live-problem");
  }

  /** @param {Error} error */
  function problem(error) {
    bar.hidden = true;
    status.textContent = error.message;
    status.classList.add("hu-live-problem");
  }

  return { node, bar, show, problem };
}
