// The page "Bug clinic" of the static site.

import { openClinic } from "./view.js";

openClinic(document.getElementById("hu-clinic"), {
  workerUrl: new URL("../../training/worker.js", import.meta.url),
  isFile: true,
});
