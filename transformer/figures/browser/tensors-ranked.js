// The labels of the chosen row as bars, greatest first: what the model would say at this position.

import { el, tokenText } from "./base.js";
import { cellNumber } from "./numbers.js";

export function makeRanked(choose) {
  const title = el("p", { class: "hu-note" });
  const list = el("div", { class: "hu-ranked", role: "group" });
  const node = el("div", { class: "hu-ranked-place", hidden: "" }, title, list);

  function draw(header, values, cell) {
    const columns = header.columns_count;
    node.hidden = !header.cells || columns < 2 || !cell?.here;
    if (node.hidden) return;
    const row = cell?.row ?? 0;
    const own = values.subarray(row * columns, (row + 1) * columns);
    // Logits have no zero that means anything: their bars begin at the least of those shown.
    const shares = header.kind === "share" || header.kind === "positive";
    const [low, high] = [shares ? 0 : Math.min(...own), Math.max(...own)];
    title.replaceChildren(`Position ${row}, after `, tokenText(header.rows[row]), shares ? "" : ". Bars begin at the least of these.");
    list.replaceChildren(...Array.from(own, (value, column) => {
      const wide = (100 * (value - low)) / (high - low || 1);
      const chosen = cell?.here && cell.column === column;
      const button = el("button", { type: "button", class: "hu-ranked-row", "aria-pressed": String(Boolean(chosen)) },
        el("span", { class: "hu-ranked-name" }, tokenText(header.cells[row][column])),
        el("span", { class: "hu-ranked-bar" }, el("span", { style: `width: ${Math.max(wide, 0.5)}%` })),
        el("span", { class: "hu-ranked-value" }, header.kind === "share" ? percent(value) : cellNumber(value, high)));
      button.addEventListener("click", () => choose(row, column));
      return button;
    }));
  }
  return { node, draw };
}

const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);
