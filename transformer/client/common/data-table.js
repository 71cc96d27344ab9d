// The view as a table of numbers below it, for screen readers and to read exact values.

import { el, tokenText } from "./base.js";
import { NUMBER_PATTERN } from "./csv.js";
import { hasExactNames, tokenName } from "./naming.js";

const MAX_TABLE_ROWS = 2000;
const MAX_TABLE_CELLS = 20000; // more cells take the browser seconds to lay out
const TABLE_DELAY_MS = 120; // ms without a change until the table is updated

// The table is created when opened, and updated while open.
export function makeDataTable(currentView) {
  const container = el("div", {
    class: "hu-data-table-scroll",
    tabindex: "0",
    role: "region",
    "aria-label": "As a table",
  });
  const node = el("details", { class: "hu-data-table" }, el("summary", {}, "As a table"), container);
  let shownKey = null;
  let updateTimer = 0;

  function fill() {
    const table = node.open ? currentView().table?.() : null;
    const tableKey = table && JSON.stringify(table);
    if (tableKey === shownKey) return;
    shownKey = tableKey;
    container.replaceChildren(...(table ? tableNodes(table) : []));
  }
  node.addEventListener("toggle", fill);

  function draw() {
    node.hidden = !currentView().table;
    clearTimeout(updateTimer);
    if (node.open) updateTimer = setTimeout(fill, TABLE_DELAY_MS);
  }

  return { node, draw, close: () => clearTimeout(updateTimer) };
}

function tableNodes({ caption, columns, rows }) {
  const count = Math.min(rows.length, MAX_TABLE_ROWS, Math.max(1, Math.floor(MAX_TABLE_CELLS / columns.length)));
  const cell = (value) => (typeof value === "string" ? tokenText(value) : String(value ?? ""));
  const table = el(
    "table",
    {},
    el("caption", { translate: "no" }, caption),
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, cell(name))))),
    el(
      "tbody",
      {},
      ...rows.slice(0, count).map(([first, ...others]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, cell(first)),
          ...others.map((value) => el("td", { class: NUMBER_PATTERN.test(value) ? "hu-figure" : null }, cell(value))),
        )
      ),
    ),
  );
  const omittedRows = rows.length - count;
  const omittedNote = omittedRows &&
    el("p", { class: "hu-note" }, `${omittedRows} more rows are in the exported table (CSV).`);
  return omittedRows ? [table, omittedNote] : [table];
}

// A matrix as on screen: a row per query, a column per key. With exact names, the numbers before tokens are
// their positions, as in `trace.weights(…)`.
/** @param {Matrix} m @param {string} caption */
export function matrixTable(m, caption) {
  if (!m) return null;
  const digits = m.top > 255 ? 4 : 2; // digits that packing preserves
  const entryName = (entry) => (hasExactNames() ? `${entry.members[0]} ${entry.text}` : tokenName(entry.text));
  const writes = m.rows.some((row) => row.written !== null);
  return {
    caption: `${caption}: attention of each row's token to each column's`,
    columns: ["attends from", ...(writes ? ["writes"] : []), ...m.columns.map(entryName)],
    rows: m.rows.map((row, r) => [
      entryName(row),
      ...(writes ? [row.written] : []),
      ...m.columns.map((_, c) => (m.masked(r, c) ? "masked" : m.values[r * m.nColumns + c].toFixed(digits))),
    ]),
  };
}
