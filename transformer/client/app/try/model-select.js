// The menu of models.

import { el } from "../../common/base.js";

// A menu of the site's models by their languages.
export const modelSelect = (site) =>
  el(
    "select",
    { class: "hu-live-model", "aria-label": "Languages" },
    ...Object.entries(site.models).map(([name, { label }]) => el("option", { value: name }, label)),
  );
