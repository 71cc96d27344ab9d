// One head on a canvas: queries down, keys across. `layout` says where everything is, `drawHead`
// draws it, `cellAt` finds the cell under a point; all three in CSS pixels.

const LABEL_SIZE = 13;
const SMALL_LABEL_SIZE = 11;
const LARGEST_CELL = 60;
const HIGHEST = 620; // a short sentence with a long translation still fits a screen
const FROM = "attends from ↓";
const TO = "attends to →";

function rowParts(view, row) {
  const read = view.labels.rows[row];
  return view.labels.writes ? [read, " → ", view.labels.writes[row]] : [read];
}

function layout(view, width, pen, font) {
  pen.font = `${LABEL_SIZE}px ${font}`;
  const widest = (texts) => Math.max(...texts.map((text) => tokenWidth(pen, text)));
  const rows = view.labels.rows.map((_, row) =>
    rowParts(view, row).reduce((sum, part) => sum + tokenWidth(pen, part), 0));
  const least = pen.measureText(FROM).width + 12;
  const left = Math.ceil(Math.max(Math.min(Math.max(...rows) + 12, width * 0.36, 220), least));
  const label = Math.min(widest(view.labels.columns), 110);
  // Slanted labels lean over the last column; leave room for them on the right.
  const lean = Math.ceil(label * 0.7);
  const free = (cell) => (label <= cell - 8 ? 4 : cell >= 16 ? lean : 6);
  const most = Math.min(LARGEST_CELL, Math.max(HIGHEST / view.nRows, 26));
  let cell = Math.min((width - left - 6) / view.nColumns, most);
  if (cell * view.nColumns + left + free(cell) > width) cell = (width - left - free(cell)) / view.nColumns;
  cell = Math.max(cell, 0.5);
  if (cell >= 8) cell = Math.floor(cell);
  const slant = label <= cell - 8 ? 0 : cell >= 16 ? Math.PI / 4 : Math.PI / 2;
  const top = 22 + Math.ceil(slant === 0 ? 20 : label * Math.sin(slant) + 14);
  return {
    left,
    top,
    cell,
    slant,
    limit: label,
    every: Math.ceil(13 / cell), // label every so many tokens
    size: cell < 16 ? SMALL_LABEL_SIZE : LABEL_SIZE,
    width: left + cell * view.nColumns,
    height: top + cell * view.nRows + 2,
  };
}

function cellAt(view, place, x, y) {
  const column = Math.floor((x - place.left) / place.cell);
  const row = Math.floor((y - place.top) / place.cell);
  const inside = column >= 0 && row >= 0 && column < view.nColumns && row < view.nRows;
  return inside ? { row, column } : null;
}

function drawHead(canvas, view, place, look, levels, cell) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, Math.ceil(place.height)];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  drawCells(pen, view, place, look, levels);
  drawLabels(pen, view, place, look, cell);
  if (cell) {
    const [x, y] = [place.left + cell.column * place.cell, place.top + cell.row * place.cell];
    const side = Math.max(place.cell, 3);
    pen.lineWidth = 2;
    pen.strokeStyle = look.text;
    pen.strokeRect(x - 0.5, y - 0.5, side, side);
  }
}

function drawCells(pen, view, place, look, levels) {
  const gap = place.cell >= 12 ? 1 : 0;
  if (view.causal) drawMask(pen, view, place, look);
  if (!gap) {
    const small = document.createElement("canvas");
    [small.width, small.height] = [view.nColumns, view.nRows];
    small.getContext("2d").putImageData(picture(view, levels, look.ramp, Infinity), 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, place.left, place.top, place.cell * view.nColumns, place.cell * view.nRows);
    return;
  }
  const shift = view.top > 255 ? 8 : 0;
  for (let row = 0; row < view.nRows; row++) {
    for (let column = 0; column < view.nColumns; column++) {
      if (view.masked(row, column)) continue;
      pen.fillStyle = look.css(levels[row * view.nColumns + column] >> shift);
      const [x, y] = [place.left + column * place.cell, place.top + row * place.cell];
      pen.fillRect(x, y, place.cell - gap, place.cell - gap);
    }
  }
}

// The future is hatched: not a weight of zero, but nothing to be seen.
function drawMask(pen, view, place, look) {
  pen.save();
  pen.beginPath();
  for (let row = 0; row < view.nRows - 1; row++) {
    const from = place.left + (row + 1) * place.cell;
    const to = place.left + view.nColumns * place.cell;
    pen.rect(from, place.top + row * place.cell, Math.max(to - from, 0), place.cell);
  }
  pen.clip();
  pen.strokeStyle = look.line;
  pen.lineWidth = 1;
  pen.beginPath();
  const [wide, high] = [place.cell * view.nColumns, place.cell * view.nRows];
  for (let d = -high; d < wide; d += 7) {
    pen.moveTo(place.left + d, place.top + high);
    pen.lineTo(place.left + d + high, place.top);
  }
  pen.stroke();
  pen.restore();
}

function drawLabels(pen, view, place, look, cell) {
  const font = (bold) => `${bold ? "600 " : ""}${place.size}px ${look.font}`;
  pen.textBaseline = "middle";
  for (let row = 0; row < view.nRows; row++) {
    const chosen = cell && cell.row === row;
    if (row % place.every && !chosen) continue;
    pen.font = font(chosen);
    const y = place.top + (row + 0.5) * place.cell;
    drawRowLabel(pen, rowParts(view, row), place.left - 8, y, place.left - 12, look, chosen);
  }
  for (let column = 0; column < view.nColumns; column++) {
    const chosen = cell && cell.column === column;
    if (column % place.every && !chosen) continue;
    pen.font = font(chosen);
    pen.save();
    pen.translate(place.left + (column + 0.5) * place.cell, place.top - 6);
    const text = shorten(pen, view.labels.columns[column], place.limit + 4);
    if (place.slant) pen.rotate(-place.slant);
    else pen.translate(-tokenWidth(pen, text) / 2, -6);
    drawToken(pen, text, 0, look, chosen);
    pen.restore();
  }
  pen.font = `${SMALL_LABEL_SIZE}px ${look.font}`;
  pen.fillStyle = look.muted;
  pen.textAlign = "left";
  pen.fillText(TO, place.left, 8);
  pen.textAlign = "right";
  pen.fillText(FROM, place.left - 8, place.top - 8);
  pen.textAlign = "left";
}

// Right-aligned at x, in at most `limit` pixels: "read → written", what was read drawn lighter.
function drawRowLabel(pen, parts, x, y, limit, look, chosen) {
  const whole = parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  if (whole > limit && parts.length > 1) {
    const arrow = tokenWidth(pen, parts[1]);
    const written = shorten(pen, parts[2], (limit - arrow) * 0.6);
    parts = [shorten(pen, parts[0], limit - arrow - tokenWidth(pen, written)), parts[1], written];
  } else if (whole > limit) {
    parts = [shorten(pen, parts[0], limit)];
  }
  let at = x - parts.reduce((sum, part) => sum + tokenWidth(pen, part), 0);
  pen.save();
  pen.translate(0, y);
  parts.forEach((part, i) => {
    drawToken(pen, part, at, look, chosen, i < parts.length - 1);
    at += tokenWidth(pen, part);
  });
  pen.restore();
}

// The "▁" that begins a word is a full letter wide in most fonts; a short stroke says it as well.
const STROKE = 5;
const beginsWord = (text) => text.length > 1 && text.startsWith("▁");

function tokenWidth(pen, text) {
  return beginsWord(text) ? STROKE + 1 + pen.measureText(text.slice(1)).width : pen.measureText(text).width;
}

function drawToken(pen, text, x, look, chosen, light = false) {
  if (beginsWord(text)) {
    pen.fillStyle = look.faint;
    pen.fillRect(x, 5, STROKE - 1, 1.5);
    [text, x] = [text.slice(1), x + STROKE + 1];
  }
  pen.fillStyle = light && !chosen ? look.muted : look.text;
  pen.fillText(text, x, 0);
}

function shorten(pen, text, limit) {
  if (tokenWidth(pen, text) <= limit) return text;
  // Whole characters as people count them: never half of a pair, never an accent alone.
  const letters = Array.from(new Intl.Segmenter().segment(text), (part) => part.segment);
  while (letters.length > 1 && tokenWidth(pen, letters.join("") + "…") > limit) letters.pop();
  return letters.join("") + "…";
}
