// The buttons for what leaves the page or comes back to it, and the checksum by which two runs can be compared.

import { button, chooseFile, el } from "../../common/base.js";

/**
 * @param {Record<string, (file?: any) => unknown>} actions what the buttons do
 * @param {(action: () => unknown) => Promise<boolean>} attempt shows an action's error; resolves to whether there was none
 */
export function makeTools({ copyLink, openModel, saveModel, openFile, saveScript }, attempt) {
  const copy = button("Copy link", async () => {
    if (!await attempt(copyLink)) return;
    copy.textContent = "Link copied";
    setTimeout(() => copy.textContent = "Copy link", 2000);
  });
  const openInViews = button("Open in every view", () => attempt(openModel));
  const save = button("Save the model", () => attempt(saveModel));
  const openSaved = button("Open a saved model", () => {
    chooseFile(".safetensors", (file) => attempt(() => openFile(file)));
  });
  const script = button("Export as a PyTorch script", () => attempt(saveScript));
  const checksum = el("p", { class: "hu-note hu-code" });

  function draw(run, { model }) {
    openInViews.hidden = save.hidden = script.hidden = model !== "transformer";
    checksum.textContent = run.checksum ? `Checksum of the weights at step ${run.at}: ${run.checksum}` : "";
  }
  return {
    nodes: [el("div", { class: "hu-line hu-trainer-tools" }, copy, openInViews, save, openSaved, script), checksum],
    draw,
  };
}
