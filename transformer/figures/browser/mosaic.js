// Heads as small pictures in rows of layers, one of them chosen: a group of radio buttons that the
// arrow keys walk through. `choose(layer, head)` is called when the user has chosen another.

function makeMosaic(choose) {
  const grid = el("div", { class: "hu-grid", role: "radiogroup" });
  let buttons = [];
  let shown = "";
  let side = null;
  let kind = "";
  let chosen = { layer: 0, head: 0 };

  // `caption(layer, head)` is read beside the name; `tint(layer, head)` is a CSS colour for a frame.
  function draw(newSide, newKind, now, look, { label = "", caption = () => "" } = {}) {
    [side, kind, chosen] = [newSide, newKind, now];
    const key = `${side.id} ${side.number} ${kind}`;
    if (shown.split("|")[0] !== key) build(label);
    if (shown !== `${key}|${look.key}`) paint(look);
    shown = `${key}|${look.key}`;
    buttons.forEach((button, i) => {
      const [layer, head] = [Math.floor(i / side.n_heads), i % side.n_heads];
      const on = layer === chosen.layer && head === chosen.head;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1; // Tab enters the group at the chosen one; arrows go on
      button.title = `layer ${layer}, head ${head}${caption(layer, head)}`;
    });
  }

  function build(label) {
    const { rows, columns } = side.labels(kind);
    const shape = columns.tokens.length / rows.tokens.length;
    grid.replaceChildren(el("span", { class: "hu-corner" }, "layer"));
    grid.setAttribute("aria-label", `${label}: choose a layer and a head`);
    grid.style.setProperty("--hu-heads", side.n_heads);
    grid.style.setProperty("--hu-shape", Math.min(Math.max(shape, 0.8), 1.5));
    buttons = [];
    for (let h = 0; h < side.n_heads; h++) {
      grid.append(el("span", { class: "hu-column" }, h ? String(h) : "head 0"));
    }
    for (let layer = 0; layer < side.n_layers; layer++) {
      grid.append(el("span", { class: "hu-row" }, String(layer)));
      for (let head = 0; head < side.n_heads; head++) {
        const button = el("button", {
          type: "button", role: "radio", class: "hu-thumb", "aria-label": `layer ${layer}, head ${head}`,
        }, el("canvas", { "aria-hidden": "true" }));
        button.addEventListener("click", () => choose(layer, head));
        buttons.push(button);
        grid.append(button);
      }
    }
  }

  function paint(look) {
    buttons.forEach((button, i) => {
      const thumb = side.thumb(kind, Math.floor(i / side.n_heads), i % side.n_heads);
      paintThumb(button.firstChild, thumb, kind === "decoder", look.ramp);
    });
  }

  grid.addEventListener("keydown", (event) => {
    const ends = { Home: 0, End: side.n_heads - 1 };
    let { layer, head } = chosen;
    if (event.key in ends) head = ends[event.key];
    else if (event.key in ARROWS) {
      layer = within(layer + ARROWS[event.key][1], side.n_layers);
      head = within(head + ARROWS[event.key][0], side.n_heads);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    choose(layer, head);
    buttons[layer * side.n_heads + head].focus();
  });

  return { node: grid, draw };
}

// A small picture on its canvas. Masked cells stay transparent.
function paintThumb(canvas, thumb, causal, ramp) {
  const { values, height, width } = thumb;
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let row = 0; row < height; row++) {
    const end = causal ? Math.min(Math.floor(((row + 1) * width - 1) / height) + 1, width) : width;
    for (let column = 0; column < end; column++) {
      pixels[row * width + column] = ramp[values[row * width + column]];
    }
  }
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d").putImageData(image, 0, 0);
}
