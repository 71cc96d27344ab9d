// One corner of a weight matrix under Adam: the matrices of its last update, and that update written out for
// one entry. `.show(data)` takes the data of figures/moments.py.

import { ARROWS, clampIndex, colours, el, listenForResize, rampLevel, signedLevel } from "../../common/base.js";
import { makeBar } from "../../common/legend.js";
import { numberParts, numberText } from "../../common/numbers.js";

// Elements of MathML formulas.
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
const fraction = (above, below) => ml("mfrac", above, below);
const root = (inner) => ml("msqrt", inner);
const hat = (base) => ml("mover", base, mo("^"));
const previousIndex = () => row(mi("t"), mo("−"), mn("1")); // the index t − 1
const bracketed = (inner) => row(mo("("), inner, mo(")"));

// The number in a formula; negative numbers after an operator get brackets.
function numeral(value, { digits = 4, after = false } = {}) {
  const { sign, text, power } = numberParts(value, digits);
  const parts = [...(sign ? [mo(sign)] : []), value === null ? ml("mtext", text) : mn(text)];
  if (power !== null) {
    const exponent = power.startsWith("−") ? row(mo("−"), mn(power.slice(1))) : mn(power);
    parts.push(mo("×"), ml("msup", mn("10"), exponent));
  }
  return after && sign ? bracketed(row(...parts)) : row(...parts);
}

// An equation of several sides, each after an equals sign, before which a narrow screen may break the line. A side may
// be a list of terms, between which it may break too.
function equation(...sides) {
  const parts = sides.flatMap((side, i) =>
    [side].flat().map((term, k) => ml("math", ...(i && !k ? [mo("="), term] : [term])))
  );
  for (const part of parts) part.setAttribute("displaystyle", "true");
  return el("div", { class: "hu-equation" }, ...parts);
}

const theta = () => mi("θ");
const withT = (base) => sub(base, mi("t"));
/** @param {Matrix} m */
const stepFormula = (m, v, epsilon, alpha) => row(alpha, mo("·"), fraction(m, row(root(v), mo("+"), epsilon)));

// Name, symbol, description, and whether values are signed.
/** @type {[string, () => Element, string, boolean][]} */
const MATRICES = [
  ["before", () => sub(theta(), previousIndex()), "the weights before", true],
  ["gradient", () => withT(mi("g")), "the gradient, clipped", true],
  ["m", () => withT(mi("m")), "mean of the gradients", true],
  ["v", () => withT(mi("v")), "mean of their squares", false],
  ["m_hat", () => withT(hat(mi("m"))), "corrected for its bias towards 0", true],
  ["v_hat", () => withT(hat(mi("v"))), "corrected for its bias towards 0", false],
  ["step", () => stepFormula(withT(hat(mi("m"))), withT(hat(mi("v"))), mi("ε"), mi("α")), "the step taken", true],
  ["value", () => withT(theta()), "the weights after", true],
];
const CELL_PIXELS = 16; // canvas pixels per cell

export function momentsView(container) {
  let data = null;
  let entry = null; // { row, column }
  let drawnKey = "";
  const heading = el("h3", { class: "hu-title" });
  const grid = el("div", {
    class: "hu-matrices",
    tabindex: "0",
    role: "application",
    "aria-label": "Matrices of Adam's update. Use the arrow keys to select an entry.",
  });
  const panels = MATRICES.map(([name, symbol, description, signed]) => {
    const canvas = el("canvas", { class: "hu-matrix", "data-matrix": name, "aria-hidden": "true" });
    const bar = makeBar();
    const math = ml("math", symbol());
    const node = el(
      "figure",
      { class: "hu-panel" },
      el("figcaption", {}, math, " ", el("span", {}, description)),
      canvas,
      bar.node,
    );
    canvas.addEventListener("pointerdown", (event) => select(entryUnderPointer(canvas, event)));
    canvas.addEventListener("pointermove", (event) => {
      const { row: r, column: c } = entryUnderPointer(canvas, event);
      canvas.title = `row ${r}, column ${c}: ${numberText(data.matrices[name][r][c])}`;
    });
    grid.append(node);
    return { name, signed, canvas, bar };
  });
  const lines = el("div", { class: "hu-update", role: "status" });
  const note = el("p", { class: "hu-note" });
  const empty = el(
    "p",
    { class: "hu-empty", role: "status" },
    "No update yet: it appears after the first training step.",
  );
  const body = el("div", {}, heading, grid, lines, note);
  const frame = el("div", { class: "hu hu-explorer hu-moments" }, empty, body);
  container.append(frame);

  const entryUnderPointer = (canvas, event) => {
    const box = canvas.getBoundingClientRect();
    const [rows, columns] = sizeOfMatrix(data);
    return {
      row: clampIndex(Math.floor(((event.clientY - box.top) / box.height) * rows), rows),
      column: clampIndex(Math.floor(((event.clientX - box.left) / box.width) * columns), columns),
    };
  };

  function show(newData) {
    data = newData;
    redraw();
  }

  function select(next) {
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
    const newKey = JSON.stringify([data, entry, theme.key]);
    if (newKey === drawnKey) return; // unchanged data are not announced again
    drawnKey = newKey;
    heading.textContent = `${data.name}, at step ${data.t.toLocaleString("en")}`;
    for (const panel of panels) drawMatrix(panel, data.matrices[panel.name], entry, theme);
    lines.replaceChildren(...updateEquations(data, entry));
    const fullShape = data.shape.join(" × ");
    note.textContent =
      `The first ${rows} rows and ${columns} columns of ${fullShape}. g is the gradient as Adam saw it, after clipping; α is the learning rate of this step. ε is added outside the root, as in algorithm 1 of Kingma and Ba (2015) and in PyTorch; some texts add it inside.`;
  }

  grid.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS) || !data?.name) return;
    const [right, down] = ARROWS[event.key];
    const [rows, columns] = sizeOfMatrix(data);
    event.preventDefault();
    select({ row: clampIndex(entry.row + down, rows), column: clampIndex(entry.column + right, columns) });
  });
  return { show, close: listenForResize(frame, redraw) };
}

const sizeOfMatrix = ({ matrices: { value } }) => [value.length, value[0].length];

// The entry with the greatest step.
function greatestStep({ matrices: { step } }) {
  let best = { row: 0, column: 0, size: -1 };
  step.forEach((values, r) =>
    values.forEach((value, c) => {
      if (Math.abs(value) > best.size) best = { row: r, column: c, size: Math.abs(value) };
    })
  );
  return { row: best.row, column: best.column };
}

/** @param {any} panel @param {any} values @param {any} entry @param {Theme} theme */
function drawMatrix({ signed, canvas, bar }, values, entry, theme) {
  const numbers = values.flat().filter((value) => value !== null);
  const maxAbs = Math.max(...numbers.map(Math.abs), 0);
  const share = (value) => (maxAbs ? value / maxAbs : 0);
  const [ramp, css] = signed ? [theme.diverging, theme.divergingCss] : [theme.ramp, theme.css];
  [canvas.width, canvas.height] = [values[0].length * CELL_PIXELS, values.length * CELL_PIXELS];
  canvas.style.aspectRatio = `${values[0].length} / ${values.length}`;
  const pen = canvas.getContext("2d");
  values.forEach((line, r) =>
    line.forEach((value, c) => {
      if (value === null) return; // NaN and infinity stay empty
      pen.fillStyle = css(signed ? signedLevel(share(value)) : rampLevel(share(value)));
      pen.fillRect(c * CELL_PIXELS, r * CELL_PIXELS, CELL_PIXELS, CELL_PIXELS);
    })
  );
  for (const [colour, lineWidth] of [[theme.background, 7], [theme.text, 3]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = lineWidth;
    pen.strokeRect(entry.column * CELL_PIXELS + 1.5, entry.row * CELL_PIXELS + 1.5, CELL_PIXELS - 3, CELL_PIXELS - 3);
  }
  const end = numberText(maxAbs, 2);
  bar.draw(ramp, signed ? [[0, maxAbs ? `−${end}` : ""], [0.5, "0"], [1, end]] : [[0, "0"], [1, end]]);
}

// The update of one entry, in symbols and numbers.
function updateEquations({ matrices, t, learning_rate: alpha, beta1, beta2, epsilon }, { row: r, column: c }) {
  const entryValues = Object.fromEntries(Object.entries(matrices).map(([name, rows]) => [name, rows[r][c]]));
  const [m, v, g] = ["m", "v", "g"].map((letter) => () => withT(mi(letter)));
  const [mHat, vHat] = [() => withT(hat(mi("m"))), () => withT(hat(mi("v")))];
  const beta = (index) => sub(mi("β"), mn(index));
  // The previous moment, computed from the current one; before the first step it was 0.
  const previousMoment = (moment, decay, newValue) => {
    if (t === 1) return 0;
    return moment === null || newValue === null ? null : (moment - (1 - decay) * newValue) / decay;
  };
  const square = entryValues.gradient === null ? null : entryValues.gradient ** 2;
  const momentEquation = (letter, index, decay, moment, newValue, squared) =>
    equation(
      withT(mi(letter)),
      row(
        beta(index),
        mo("·"),
        sub(mi(letter), previousIndex()),
        mo("+"),
        bracketed(row(mn("1"), mo("−"), beta(index))),
        mo("·"),
        squared ? ml("msubsup", mi("g"), mi("t"), mn("2")) : g(),
      ),
      row(
        mn(String(decay)),
        mo("·"),
        numeral(previousMoment(moment, decay, newValue), { after: true }),
        mo("+"),
        mn(String(round(1 - decay))),
        mo("·"),
        numeral(newValue, { after: true }),
      ),
      numeral(moment),
    );
  const correctionEquation = (left, top, index, decay, moment, result) =>
    equation(
      left,
      fraction(top, row(mn("1"), mo("−"), ml("msubsup", mi("β"), mn(index), mi("t")))),
      fraction(numeral(moment), row(mn("1"), mo("−"), ml("msup", mn(String(decay)), mn(String(t))))),
      numeral(result),
    );
  return [
    el("h4", {}, `Row ${r}, column ${c}, written out`),
    momentEquation("m", "1", beta1, entryValues.m, entryValues.gradient, false),
    momentEquation("v", "2", beta2, entryValues.v, square, true),
    correctionEquation(mHat(), m(), "1", beta1, entryValues.m, entryValues.m_hat),
    correctionEquation(vHat(), v(), "2", beta2, entryValues.v, entryValues.v_hat),
    equation(
      withT(theta()),
      row(sub(theta(), previousIndex()), mo("−"), stepFormula(mHat(), vHat(), mi("ε"), mi("α"))),
      [
        numeral(entryValues.before, { digits: 7 }),
        row(
          mo("−"),
          stepFormula(numeral(entryValues.m_hat), numeral(entryValues.v_hat), numeral(epsilon), numeral(alpha)),
        ),
      ],
      row(numeral(entryValues.before, { digits: 7 }), mo("−"), numeral(entryValues.step, { after: true })),
      numeral(entryValues.value, { digits: 7 }),
    ),
  ];
}

const round = (value) => Math.round(value * 1e9) / 1e9;
