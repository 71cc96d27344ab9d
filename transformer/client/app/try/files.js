// Files that the engine can make of a sentence.

import { button, download, el } from "../../common/base.js";
import { exportName } from "../../common/naming.js";

const FILE_LABELS = { html: "Export as web page (.html)", npz: "Export all tensors (.npz)" };
const FILE_HELP = {
  html: "One file with all heads that opens without this app and without a network.",
  npz: "For Python: open it with Trace.load_npz(file), or with NumPy alone.",
};

// Buttons that save them. `requestFields()` are those of the request, `startOf()` the state of the view.
export function makeFiles(context, requestFields, startOf) {
  const problem = el("p", { class: "hu-live-problem", role: "alert" });
  const buttons = (context.site.files ?? []).map((format) => {
    const save = async () => {
      saver.disabled = true;
      problem.textContent = "";
      try {
        const start = startOf();
        const bytes = await context.ask("file", { ...requestFields(), start, format });
        if (bytes) download(bytes, `${exportName("attention", context.model, context.text)}.${format}`);
      } catch (error) {
        problem.textContent = error.message;
      }
      saver.disabled = false;
    };
    const saver = /** @type {HTMLButtonElement} */ (button(FILE_LABELS[format], save, { title: FILE_HELP[format] }));
    return saver;
  });
  return el("div", {}, el("div", { class: "hu-line" }, ...buttons), problem);
}
