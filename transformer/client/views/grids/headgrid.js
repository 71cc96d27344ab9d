// A number for every head as a colour, in which a head can be selected. `.show(data)` takes the data of
// figures/headgrid.py; `report({ kind, layer, head })` is called when a head is selected.

import { colours, el, listenForResize, rampLevel } from "../../common/base.js";
import { codeOfHead } from "../../common/head-codes.js";
import { makeBar } from "../../common/legend.js";
import { headGrid } from "./all-heads.js";

export function headgridView(container, report) {
  let [data, selected] = [null, null];
  const pendingReports = []; // codes of reported heads that the server has not sent back yet
  const bar = makeBar();
  const legendText = el("span", {});
  const legend = el("figcaption", { class: "hu-legend" }, bar.node, legendText);
  const frame = el("div", { class: "hu hu-explorer hu-headgrid" });
  container.append(frame);
  const grid = headGrid(frame, { role: "radio", heading: "h2", help: "Choose a head", onClick: select });
  frame.append(legend);

  function show(newData) {
    data = newData;
    // Ignore the server's answer to an earlier report when the user has already selected another head.
    const echoed = data.selected ? pendingReports.indexOf(codeOfHead(data.selected)) : -1;
    if (echoed >= 0) pendingReports.splice(0, echoed + 1);
    if (!pendingReports.length) selected = data.selected;
    draw();
  }

  function draw() {
    if (!data || !frame.isConnected) return; // colours can only be read on the page
    const theme = colours(frame);
    frame.dataset.size = data.large ? "large" : "normal";
    const { kinds } = data;
    grid.show({
      kinds: /** @type {Kind[]} */ (Object.keys(kinds)),
      depth: (kind) => kinds[kind].levels.length,
      n_heads: Object.values(kinds)[0].levels[0].length,
      selected,
      theme,
      name: ({ kind, layer, head }) => kinds[kind].descriptions[layer][head],
      cell: ({ kind, layer, head }) => {
        const level = kinds[kind].levels[layer][head];
        const background = level === null ? null : theme.css(rampLevel(level));
        return { text: kinds[kind].marks[layer][head], background };
      },
    });
    bar.draw(theme.ramp, data.ticks);
    legendText.textContent = data.legend;
  }

  function select(head) {
    selected = head;
    pendingReports.push(codeOfHead(head));
    draw();
    report(head);
  }

  return { show, close: listenForResize(frame, draw) };
}
