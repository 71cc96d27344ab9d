// The Bug clinic in the app: the same page as a Streamlit component. All that it keeps stays in this browser; a class is told
// the numbers of the solved cases.

import { streamlitComponent } from "../../common/mount.js";
import { openClinic } from "./view.js";

const grids = "../../views/grids/all-heads.css";
const sheets = ["../../common/base.css", grids, "../trainer/trainer.css", "./symptoms.css", "./clinic.css"];
const texts = sheets.map(async (path) => (await fetch(new URL(path, import.meta.url))).text());
export const STYLE = (await Promise.all(texts)).join("\n");

function clinicView(root, report) {
  let clinic = null;
  return {
    show() {
      clinic ??= openClinic(root, {
        workerUrl: new URL("../../training/worker.js", import.meta.url),
        onSolved: (solved) => report({ solved }),
      });
    },
    close() {
      clinic?.close();
    },
  };
}

export default streamlitComponent(clinicView);
