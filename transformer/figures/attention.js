// All heads of one kind as small pictures, the chosen one large. Whoever shows the view calls
// `attentionView(root, report)` once and `.show(bytes)` for every new view; `report({layer, head})`
// is called when the user has chosen another head.

const REPORT_AFTER = 150; // ms of quiet, so that a held arrow key reports once
const THUMB = 96; // pixels a side of a small picture, at most

function attentionView(root, report) {
  let view = null;
  let shownColours = "";
  let chosen = { layer: 0, head: 0 };
  let cell = null; // pointed at, { row, column }
  let place = null;
  let look = null;
  let buttons = [];
  let reporting = 0;

  const grid = el("div", { class: "hu-grid", role: "radiogroup" });
  const mosaic = el("section", { class: "hu-mosaic" }, grid);
  const title = el("h3", { class: "hu-title" });
  const code = el("code", { class: "hu-code" });
  const canvas = el("canvas", {
    class: "hu-canvas",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "heat map",
  });
  const tip = el("div", { class: "hu-tip", role: "status", hidden: "" });
  const scale = el("canvas", { class: "hu-scale", width: 256, height: 1, "aria-hidden": "true" });
  const ticks = el("div", { class: "hu-ticks", "aria-hidden": "true" });
  for (const weight of [0, 0.01, 0.1, 0.25, 0.5, 1]) {
    ticks.append(el("span", { style: `left: ${100 * Math.sqrt(weight)}%` }, String(weight)));
  }
  const legend = el(
    "figcaption",
    { class: "hu-legend" },
    el("div", { class: "hu-bar" }, scale, ticks),
    el("span", {}, "attention weight; the colour follows its square root, so that small weights show"),
  );
  const head = el(
    "figure",
    { class: "hu-head" },
    el("header", {}, title, code),
    el("div", { class: "hu-stage" }, canvas, tip),
    legend,
  );
  const frame = el("div", { class: "hu" }, el("div", { class: "hu-split" }, mosaic, head));
  root.append(frame);

  function show(bytes) {
    const next = unpack(bytes);
    const changed = !view || next.id !== view.id;
    const visited = next.start && (!view || !view.start || next.start.visit !== view.start.visit);
    if (changed || visited) {
      if (next.start) chosen = { layer: next.start.layer, head: next.start.head };
      chosen.layer = Math.min(chosen.layer, next.layers - 1);
      chosen.head = Math.min(chosen.head, next.heads - 1);
    }
    view = next;
    if (changed) {
      cell = null;
      frame.classList.toggle("hu-alone", next.layers * next.heads === 1);
      buildGrid();
    }
    paint(changed);
  }

  // Everything, if the view or the theme's colours are others than before; else the choice alone.
  function paint(changed) {
    look = colours(frame);
    if (changed || look.key !== shownColours) {
      shownColours = look.key;
      paintThumbs();
      scale.getContext("2d").putImageData(
        new ImageData(new Uint8ClampedArray(look.ramp.buffer.slice(0)), 256, 1), 0, 0,
      );
    }
    paintChoice();
  }

  function buildGrid() {
    grid.replaceChildren(el("span", { class: "hu-corner" }, "layer"));
    grid.setAttribute("aria-label", `${view.title}: choose a layer and a head`);
    grid.style.setProperty("--hu-heads", view.heads);
    grid.style.setProperty("--hu-shape", Math.min(Math.max(view.nColumns / view.nRows, 0.8), 1.5));
    buttons = [];
    for (let h = 0; h < view.heads; h++) grid.append(el("span", { class: "hu-column" }, h ? String(h) : "head 0"));
    for (let layer = 0; layer < view.layers; layer++) {
      grid.append(el("span", { class: "hu-row" }, String(layer)));
      for (let h = 0; h < view.heads; h++) {
        const button = el("button", {
          type: "button",
          role: "radio",
          class: "hu-thumb",
          "aria-label": `layer ${layer}, head ${h}`,
          title: `layer ${layer}, head ${h}`,
        }, el("canvas", { "aria-hidden": "true" }));
        button.addEventListener("click", () => choose(layer, h));
        buttons[layer * view.heads + h] = button;
        grid.append(button);
      }
    }
  }

  function paintThumbs() {
    if (frame.classList.contains("hu-alone")) return;
    buttons.forEach((button, i) => {
      const levels = view.levelsOf(Math.floor(i / view.heads), i % view.heads);
      const image = picture(view, levels, look.ramp, THUMB);
      const small = button.firstChild;
      [small.width, small.height] = [image.width, image.height];
      small.getContext("2d").putImageData(image, 0, 0);
    });
  }

  function paintChoice() {
    buttons.forEach((button, i) => {
      const on = i === chosen.layer * view.heads + chosen.head;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1; // Tab enters the group at the chosen one; arrows go on
    });
    const { layer, head: h } = chosen;
    title.textContent = `Layer ${layer}, head ${h}`;
    code.textContent = view.kind ? `trace.weights("${view.kind}", layer=${layer})[${h}]` : "";
    canvas.setAttribute(
      "aria-label",
      `${view.title}, layer ${layer}, head ${h}: ${view.nRows} rows, ${view.nColumns} columns. ` +
        "Arrow keys read the weights.",
    );
    paintHead();
  }

  function paintHead() {
    if (!view || !canvas.clientWidth) return;
    place = layout(view, canvas.clientWidth, canvas.getContext("2d"), look.font);
    drawHead(canvas, view, place, look, view.levelsOf(chosen.layer, chosen.head), cell);
    paintTip();
  }

  function paintTip() {
    tip.hidden = !cell;
    if (!cell) return;
    const { row, column } = cell;
    const [read, , written] = rowParts(view, row);
    const level = view.levelsOf(chosen.layer, chosen.head)[row * view.nColumns + column];
    const masked = view.masked(row, column);
    tip.replaceChildren(
      el("strong", {}, masked ? "masked" : showWeight(level, view.top)),
      el("span", {}, tokenText(read), ...(written ? [" → ", tokenText(written)] : [])),
      el("span", {}, masked ? "may not see the future: " : "attends to ", tokenText(view.labels.columns[column])),
    );
    const [x, y] = [place.left + (column + 0.5) * place.cell, place.top + row * place.cell];
    const beside = Math.min(Math.max(x - tip.offsetWidth / 2, 0), canvas.clientWidth - tip.offsetWidth);
    const above = y - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(beside, 0)}px`;
    tip.style.top = `${above >= 0 ? above : y + place.cell + 8}px`;
  }

  function choose(layer, h, focus = false) {
    chosen = { layer, head: h };
    paintChoice();
    if (focus) buttons[layer * view.heads + h].focus();
    clearTimeout(reporting);
    reporting = setTimeout(() => report({ ...chosen }), REPORT_AFTER);
  }

  // Steps of the arrow keys as [right, down].
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const within = (value, count) => Math.min(Math.max(value, 0), count - 1);

  grid.addEventListener("keydown", (event) => {
    const ends = { Home: 0, End: view.heads - 1 };
    if (event.key in ends) choose(chosen.layer, ends[event.key], true);
    else if (event.key in ARROWS) {
      const [right, down] = ARROWS[event.key];
      choose(within(chosen.layer + down, view.layers), within(chosen.head + right, view.heads), true);
    } else return;
    event.preventDefault();
  });

  function point(next) {
    if (next?.row === cell?.row && next?.column === cell?.column) return;
    cell = next;
    paintHead();
  }

  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") point(null);
    else if (event.key in ARROWS) {
      const [right, down] = ARROWS[event.key];
      point(cell
        ? { row: within(cell.row + down, view.nRows), column: within(cell.column + right, view.nColumns) }
        : { row: 0, column: 0 });
    } else return;
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => point(cellAt(view, place, event.offsetX, event.offsetY)));
  canvas.addEventListener("pointerdown", (event) => point(cellAt(view, place, event.offsetX, event.offsetY)));
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(null));
  canvas.addEventListener("blur", () => point(null));

  const resized = new ResizeObserver(paintHead);
  resized.observe(canvas);
  return {
    show,
    close: () => {
      resized.disconnect();
      clearTimeout(reporting);
    },
  };
}
