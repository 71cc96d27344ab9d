// One corner of a weight matrix under Adam: the matrices of its last update, and that update written out for
// one entry. `.show(data)` takes the data of figures/moments.py.

import { ARROWS, colours, el, clampIndex } from "./base.js";
import { makeBar } from "./legend.js";
import { numberParts, numberText } from "./numbers.js";

// Formulas in MathML, with readable numbers.
const MATHML = "http://www.w3.org/1998/Math/MathML";

function ml(tag, ...children) {
  const node = document.createElementNS(MATHML, tag);
  node.append(...children);
  return node;
}

const mi = (text) => ml("mi", text);
const mo = (text) => ml("mo", text);
const mn = (text) => ml("mn", text);
const row = (...parts) => ml("mrow", ...parts);
const sub = (base, index) => ml("msub", base, index);
const over = (above, below) => ml("mfrac", above, below);
const root = (inner) => ml("msqrt", inner);
const hat = (base) => ml("mover", base, mo("^"));
const before = () => row(mi("t"), mo("−"), mn("1")); // the index t − 1
const bracketed = (inner) => row(mo("("), inner, mo(")"));

// The number in a formula; negative numbers after an operator get brackets.
function numeral(value, { digits = 4, after = false } = {}) {
  const { sign, text, power } = numberParts(value, digits);
  const parts = [...(sign ? [mo(sign)] : []), value === null ? ml("mtext", text) : mn(text)];
  if (power !== null) {
    const tens = power.startsWith("−") ? row(mo("−"), mn(power.slice(1))) : mn(power);
    parts.push(mo("×"), ml("msup", mn("10"), tens));
  }
  return after && sign ? bracketed(row(...parts)) : row(...parts);
}

// A line of a formula: its left side, then each of the others after an equals sign, where a narrow screen
// breaks the line.
function equation(...sides) {
  const parts = sides.map((side, i) => ml("math", ...(i ? [mo("="), side] : [side])));
  for (const part of parts) part.setAttribute("displaystyle", "true");
  return el("div", { class: "hu-equation" }, ...parts);
}

const theta = () => mi("θ");
const withT = (base) => sub(base, mi("t"));
/** @param {Matrix} m */
const stepFormula = (m, v, epsilon, alpha) => row(alpha, mo("·"), over(m, row(root(v), mo("+"), epsilon)));

// Name, symbol, description, and whether values are signed.
/** @type {[string, () => Element, string, boolean][]} */
const MATRICES = [
  ["before", () => sub(theta(), before()), "the weights before", true],
  ["gradient", () => withT(mi("g")), "the gradient, clipped", true],
  ["m", () => withT(mi("m")), "mean of the gradients", true],
  ["v", () => withT(mi("v")), "mean of their squares", false],
  ["m_hat", () => withT(hat(mi("m"))), "corrected for its bias towards 0", true],
  ["v_hat", () => withT(hat(mi("v"))), "corrected for its bias towards 0", false],
  ["step", () => stepFormula(withT(hat(mi("m"))), withT(hat(mi("v"))), mi("ε"), mi("α")), "the step taken", true],
  ["value", () => withT(theta()), "the weights after", true],
];
const EDGE = 16; // canvas pixels per cell

export function momentsView(container) {
  let data = null;
  let entry = null; // { row, column }
  let shown = "";
  const heading = el("h3", { class: "hu-title" });
  const grid = el("div", { class: "hu-matrices", tabindex: "0", role: "application", "aria-label": "Matrices of Adam's update. Use the arrow keys to select an entry." });
  const panels = MATRICES.map(([name, symbol, words, signed]) => {
    const canvas = el("canvas", { class: "hu-matrix", "data-matrix": name, "aria-hidden": "true" });
    const bar = makeBar();
    const math = ml("math", symbol());
    const node = el("figure", { class: "hu-panel" }, el("figcaption", {}, math, " ", el("span", {}, words)), canvas, bar.node);
    canvas.addEventListener("pointerdown", (event) => choose(under(canvas, event)));
    canvas.addEventListener("pointermove", (event) => {
      const { row: r, column: c } = under(canvas, event);
      canvas.title = `row ${r}, column ${c}: ${numberText(data.matrices[name][r][c])}`;
    });
    grid.append(node);
    return { name, signed, canvas, bar };
  });
  const lines = el("div", { class: "hu-update", role: "status" });
  const note = el("p", { class: "hu-note" });
  const empty = el("p", { class: "hu-empty", role: "status" }, "No update yet: it appears after the first training step.");
  const body = el("div", {}, heading, grid, lines, note);
  const frame = el("div", { class: "hu hu-explorer hu-moments" }, empty, body);
  container.append(frame);

  const under = (canvas, event) => {
    const box = canvas.getBoundingClientRect();
    const [rows, columns] = sizeOfMatrix(data);
    return {
      row: clampIndex(Math.floor(((event.clientY - box.top) / box.height) * rows), rows),
      column: clampIndex(Math.floor(((event.clientX - box.left) / box.width) * columns), columns),
    };
  };

  function show(given) {
    data = given;
    redraw();
  }

  function choose(next) {
    entry = next;
    redraw();
  }

  function redraw() {
    if (!data || !frame.isConnected) return; // colours can only be read on the page
    [empty.hidden, body.hidden] = [Boolean(data.name), !data.name];
    if (!data.name) return;
    const theme = colours(frame);
    const [rows, columns] = sizeOfMatrix(data);
    if (!entry) entry = greatestStep(data);
    entry = { row: clampIndex(entry.row, rows), column: clampIndex(entry.column, columns) };
    const now = JSON.stringify([data, entry, theme.key]);
    if (now === shown) return; // unchanged data are not announced again
    shown = now;
    heading.textContent = `${data.name}, at step ${data.t}`;
    for (const panel of panels) drawMatrix(panel, data.matrices[panel.name], entry, theme);
    lines.replaceChildren(...writtenOut(data, entry));
    const fullShape = data.shape.join(" × ");
    note.textContent = `The first ${rows} rows and ${columns} columns of ${fullShape}. g is the gradient as Adam saw it, after clipping; α is the learning rate of this step. ε is added outside the root, as in algorithm 1 of Kingma and Ba (2015) and in PyTorch; some texts add it inside.`;
  }

  grid.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS) || !data?.name) return;
    const [right, down] = ARROWS[event.key];
    const [rows, columns] = sizeOfMatrix(data);
    event.preventDefault();
    choose({ row: clampIndex(entry.row + down, rows), column: clampIndex(entry.column + right, columns) });
  });
  const resized = new ResizeObserver(redraw); // colours of a theme that has changed
  resized.observe(frame);

  return { show, close: () => resized.disconnect() };
}

const sizeOfMatrix = ({ matrices: { value } }) => [value.length, value[0].length];

// The entry with the greatest step.
function greatestStep({ matrices: { step } }) {
  let best = { row: 0, column: 0, size: -1 };
  step.forEach((values, r) => values.forEach((value, c) => {
    if (Math.abs(value) > best.size) best = { row: r, column: c, size: Math.abs(value) };
  }));
  return { row: best.row, column: best.column };
}

/** @param {any} given @param {any} values @param {any} entry @param {Theme} theme */
function drawMatrix({ signed, canvas, bar }, values, entry, theme) {
  const numbers = values.flat().filter((value) => value !== null);
  const maxAbs = Math.max(...numbers.map(Math.abs), 0);
  const share = (value) => (maxAbs ? value / maxAbs : 0);
  const [ramp, css] = signed ? [theme.diverging, theme.divergingCss] : [theme.ramp, theme.css];
  [canvas.width, canvas.height] = [values[0].length * EDGE, values.length * EDGE];
  canvas.style.aspectRatio = `${values[0].length} / ${values.length}`;
  const pen = canvas.getContext("2d");
  values.forEach((line, r) => line.forEach((value, c) => {
    if (value === null) return; // NaN and infinity stay empty
    pen.fillStyle = css(Math.round(255 * (signed ? (share(value) + 1) / 2 : share(value))));
    pen.fillRect(c * EDGE, r * EDGE, EDGE, EDGE);
  }));
  for (const [ink, wide] of [[theme.ground, 7], [theme.text, 3]]) {
    pen.strokeStyle = ink;
    pen.lineWidth = wide;
    pen.strokeRect(entry.column * EDGE + 1.5, entry.row * EDGE + 1.5, EDGE - 3, EDGE - 3);
  }
  const end = numberText(maxAbs, 2);
  bar.draw(ramp, signed ? [[0, maxAbs ? `−${end}` : ""], [0.5, "0"], [1, end]] : [[0, "0"], [1, end]]);
}

// The update of one entry, in symbols and numbers.
function writtenOut({ matrices, t, learning_rate: alpha, beta1, beta2, epsilon }, { row: r, column: c }) {
  const of = Object.fromEntries(Object.entries(matrices).map(([name, rows]) => [name, rows[r][c]]));
  const [m, v, g] = ["m", "v", "g"].map((letter) => () => withT(mi(letter)));
  const [mHat, vHat] = [() => withT(hat(mi("m"))), () => withT(hat(mi("v")))];
  const beta = (index) => sub(mi("β"), mn(index));
  // The previous moment, computed from the current one; before the first step it was 0.
  const was = (now, decay, news) => (t === 1 ? 0 : now === null || news === null ? null : (now - (1 - decay) * news) / decay);
  const square = of.gradient === null ? null : of.gradient ** 2;
  const moving = (letter, index, decay, now, news, squared) => equation(
    withT(mi(letter)),
    row(beta(index), mo("·"), sub(mi(letter), before()), mo("+"), bracketed(row(mn("1"), mo("−"), beta(index))), mo("·"), squared ? ml("msubsup", mi("g"), mi("t"), mn("2")) : g()),
    row(mn(String(decay)), mo("·"), numeral(was(now, decay, news), { after: true }), mo("+"), mn(String(round(1 - decay))), mo("·"), numeral(news, { after: true })),
    numeral(now),
  );
  const corrected = (left, top, index, decay, now, then) => equation(
    left,
    over(top, row(mn("1"), mo("−"), ml("msubsup", mi("β"), mn(index), mi("t")))),
    over(numeral(now), row(mn("1"), mo("−"), ml("msup", mn(String(decay)), mn(String(t))))),
    numeral(then),
  );
  return [
    el("h4", {}, `Row ${r}, column ${c}, written out`),
    moving("m", "1", beta1, of.m, of.gradient, false),
    moving("v", "2", beta2, of.v, square, true),
    corrected(mHat(), m(), "1", beta1, of.m, of.m_hat),
    corrected(vHat(), v(), "2", beta2, of.v, of.v_hat),
    equation(
      withT(theta()),
      row(sub(theta(), before()), mo("−"), stepFormula(mHat(), vHat(), mi("ε"), mi("α"))),
      row(numeral(of.before, { digits: 7 }), mo("−"), stepFormula(numeral(of.m_hat), numeral(of.v_hat), numeral(epsilon), numeral(alpha))),
      row(numeral(of.before, { digits: 7 }), mo("−"), numeral(of.step, { after: true })),
      numeral(of.value, { digits: 7 }),
    ),
  ];
}

const round = (value) => Math.round(value * 1e9) / 1e9;
