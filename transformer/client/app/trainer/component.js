// "Train in this tab" in the app: the same page as a Streamlit component. The app keeps the run's link in its address.

import { streamlitComponent } from "../../common/mount.js";
import { openTrainer } from "./view.js";

const CHUNK = 32_768; // bytes that are made characters at once
const REPORT_AFTER_MS = 400; // a report reruns the app's page, so that quick changes are reported once
const sheets = ["../../common/base.css", "../../views/grids/all-heads.css", "./trainer.css"].map((path) =>
  fetch(new URL(path, import.meta.url))
);

export const STYLE = (await Promise.all(sheets.map(async (sheet) => (await sheet).text()))).join("\n");

function trainerView(root, report) {
  let [trainer, timer, shown] = [null, 0, ""];

  function reportLater(link) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      shown = link;
      report({ link });
    }, REPORT_AFTER_MS);
  }

  return {
    show({ link, seed }) {
      if (trainer && link !== shown) trainer.open(link);
      shown = link;
      trainer ??= openTrainer(root, {
        link,
        seed,
        onRuns: (runs) => report({ runs }),
        onOpen: ({ model, settings, title, points, losses, outputs, film: { weights, ...film } }) =>
          report({
            model: base64Of(model.safetensors),
            settings,
            title,
            points,
            losses,
            outputs,
            film: { ...film, weights: base64Of(new Uint8Array(weights.buffer)) },
          }),
        workerUrl: new URL("../../training/worker.js", import.meta.url),
        onLink: (changed) => {
          if (changed !== shown) reportLater(changed);
        },
        address: (changed) => {
          const url = new URL(location.href);
          url.searchParams.set("here", changed);
          return url.href;
        },
      });
    },
    close() {
      clearTimeout(timer);
      trainer?.close();
    },
  };
}

/** @param {Uint8Array} bytes */
function base64Of(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += CHUNK) text += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  return btoa(text);
}

export default streamlitComponent(trainerView);
