// What the views share. Text from outside reaches the page through textContent alone.

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null)); // strings become text nodes
  return node;
}

// A piece as people read it: the "▁" that begins a word is drawn faintly. Isolated with <bdi>, so
// that right-to-left text does not turn the sentence around it.
function tokenText(text) {
  const node = el("bdi", { class: "hu-token" });
  if (text.length > 1 && text.startsWith("▁")) {
    node.append(el("span", { class: "hu-word" }, "▁"), text.slice(1));
  } else {
    node.append(text);
  }
  if (/^<\/?[a-z]+>$/.test(text)) node.classList.add("hu-special");
  return node;
}

// The inverse of figures/packing.py.
function unpack(bytes) {
  const start = 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const body = bytes.slice(start); // a copy begins at 0, as wider integers ask
  const levels = header.top > 255 ? new Uint16Array(body.buffer) : body;
  const [layers, heads, rows, columns] = header.shape;
  const size = rows * columns;
  return {
    ...header,
    layers,
    heads,
    nRows: rows,
    nColumns: columns,
    labels: { rows: header.rows, columns: header.columns, writes: header.writes },
    levelsOf: (layer, head) => levels.subarray((layer * heads + head) * size).subarray(0, size),
    masked: (row, column) => header.causal && column > row,
  };
}

// A weight with the digits that its packing kept.
function showWeight(level, top) {
  const weight = (level / top) ** 2;
  if (top > 255) return weight > 0 && weight < 0.00005 ? "< 0.0001" : weight.toFixed(4);
  return weight > 0 && weight < 0.005 ? "< 0.01" : `≈ ${weight.toFixed(2)}`;
}

// Colours of the moment, from the theme: `ramp` has 256 of them as the four bytes of a pixel.
function colours(node) {
  const style = getComputedStyle(node);
  const get = (name) => style.getPropertyValue(name).trim();
  const pen = document.createElement("canvas").getContext("2d");
  const stops = get("--hu-ramp").split(",").map((colour) => {
    pen.fillStyle = colour.trim(); // reads back as #rrggbb, whatever way it was written
    return [1, 3, 5].map((i) => parseInt(pen.fillStyle.slice(i, i + 2), 16));
  });
  const ramp = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    for (let c = 0; c < 3; c++) {
      const [a, b] = [stops[below][c], stops[below + 1][c]];
      ramp[4 * i + c] = a + (b - a) * (place - below);
    }
    ramp[4 * i + 3] = 255;
  }
  return {
    ramp: new Uint32Array(ramp.buffer),
    css: (i) => `rgb(${ramp[4 * i]} ${ramp[4 * i + 1]} ${ramp[4 * i + 2]})`,
    text: get("--hu-text"),
    muted: get("--hu-muted"),
    faint: get("--hu-faint"),
    line: get("--hu-line"),
    accent: get("--hu-accent"),
    font: style.fontFamily,
    key: get("--hu-ramp") + get("--hu-text"),
  };
}

// Levels as a picture of at most `limit` pixels a side; of cells that share a pixel the greatest
// is shown, so that a lone strong weight is never lost. Masked cells stay transparent.
function picture(view, levels, ramp, limit) {
  const width = Math.min(view.nColumns, limit);
  const height = Math.min(view.nRows, limit);
  const shift = view.top > 255 ? 8 : 0;
  const greatest = new Int16Array(width * height).fill(-1);
  for (let row = 0; row < view.nRows; row++) {
    const line = Math.floor((row * height) / view.nRows) * width;
    const end = view.causal ? Math.min(row + 1, view.nColumns) : view.nColumns;
    for (let column = 0; column < end; column++) {
      const pixel = line + (width === view.nColumns ? column : Math.floor((column * width) / view.nColumns));
      const level = levels[row * view.nColumns + column] >> shift;
      if (level > greatest[pixel]) greatest[pixel] = level;
    }
  }
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) if (greatest[i] >= 0) pixels[i] = ramp[greatest[i]];
  return image;
}
