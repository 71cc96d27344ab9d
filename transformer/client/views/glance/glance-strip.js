// All cross-attention heads as small pictures next to the bands. Pointing at a head shows its bands; a click switches the
// head, or the whole layer at the left, off or on again. `point(head)` is called with { layer, head } or null,
// `toggle(off)` with the heads that are off, as in the address.

import { argmax, button, colours, el, indices, listenForPointing, moveInGrid } from "../../common/base.js";
import { withoutPunctuation } from "./glance-playback.js";
import { headOfCode, readOff, writeOff } from "../../common/head-codes.js";
import { displayNumber, headName, layerName, shortName } from "../../common/naming.js";
import { percentText, wholePercent } from "../../common/numbers.js";
import { paintThumb } from "../../common/thumbnail.js";

const NAMES_OF_KINDS = { encoder: "encoder ", decoder: "decoder ", cross: "" };
const MAX_NAMES = 4; // maximum number of heads that are listed by name

// The data with the words' weights of another head.
/** @param {any} data @param {Head | null} position */
export function withHead(data, position) {
  if (!position || !data.head_weights?.length) return data;
  const { layer, head } = position;
  const columns = data.source.length + 1; // the last one is the end of the sentence
  const start = (layer * data.n_heads + head) * data.words.length * columns;
  return {
    ...data,
    layer,
    head,
    isPointed: true,
    words: data.words.map((word, i) => {
      const row = data.head_weights.slice(start + i * columns, start + (i + 1) * columns);
      return { ...word, weights: row.slice(0, -1), end_weight: row[columns - 1] };
    }),
  };
}

export function makeStrip({ point, toggle }) {
  const title = el("h2", { class: "hu-strip-title" });
  const grid = el("div", { class: "hu-strip-heads", role: "group" });
  const effect = el("p", { class: "hu-strip-effect", role: "status" });
  const allOn = button("All heads on", () => {
    headsOff = new Set();
    rows[0]?.[1].focus();
    report();
  });
  const node = el("section", { class: "hu-strip" }, title, grid, effect, allOn);
  let [data, builtKey, paintedKey] = [null, "", ""];
  let headsOff = new Set();
  let rows = []; // for each layer its button, then those of its heads

  function draw(newData) {
    data = newData;
    title.hidden = grid.hidden = !data.head_weights?.length; // too many words
    node.hidden = grid.hidden && !data.off;
    headsOff = readOff(data.off, data);
    const count = data.n_layers * data.n_heads;
    title.textContent = count === 1 ? "1 cross-attention head" : `${count} cross-attention heads`;
    const shape = `${data.n_layers} ${data.n_heads}`;
    if (builtKey !== shape) build();
    builtKey = shape;
    if (!grid.hidden) paint();
    drawSwitches();
  }

  function build() {
    grid.style.setProperty("--hu-heads", data.n_heads);
    grid.setAttribute(
      "aria-label",
      "Cross-attention heads, a row for each layer. Use the arrow keys to move; Enter switches off or on.",
    );
    rows = indices(data.n_layers).map((layer) => [
      layerButton(layer),
      ...indices(data.n_heads).map((head) => headButton({ layer, head })),
    ]);
    for (const node of rows.flat()) node.tabIndex = node === rows[0][1] ? 0 : -1;
    grid.replaceChildren(...rows.flat());
    paintedKey = "";
  }

  function layerButton(layer) {
    const switchLayer = () => switchHeads(indices(data.n_heads).map((head) => `c${layer}.${head}`));
    return button(displayNumber(layer), switchLayer, { role: "switch", class: "hu-strip-layer" });
  }

  function headButton(position) {
    const switchHead = () => switchHeads([`c${position.layer}.${position.head}`]);
    const picture = el("canvas", { "aria-hidden": "true" });
    const node = button(picture, switchHead, { role: "switch", class: "hu-strip-head" });
    listenForPointing(node, (isOn) => point(isOn ? position : null));
    return node;
  }

  function paint() {
    const theme = colours(node);
    const key = JSON.stringify([data.head_weights, theme.key]);
    if (key === paintedKey) return;
    paintedKey = key;
    const [height, width] = [data.words.length, data.source.length + 1];
    const size = height * width;
    rows.forEach(([, ...buttons], layer) =>
      buttons.forEach(({ firstChild }, head) => {
        const start = (layer * data.n_heads + head) * size;
        const weights = data.head_weights.slice(start, start + size);
        const values = Uint8Array.from(weights, (weight) => Math.round(255 * Math.sqrt(weight)));
        if (size) paintThumb(firstChild, { values, height, width }, false, theme.ramp);
      })
    );
  }

  // `isPending`: the translation without these heads has been requested.
  function drawSwitches(isPending = false) {
    rows.forEach(([layerSwitch, ...buttons], layer) => {
      buttons.forEach((node, head) => {
        describe(node, headName({ layer, head }), !headsOff.has(`c${layer}.${head}`));
        node.classList.toggle("hu-drawn", layer === data.layer && head === data.head);
      });
      describe(layerSwitch, layerName(layer), buttons.some((_, head) => !headsOff.has(`c${layer}.${head}`)));
    });
    allOn.hidden = !headsOff.size;
    effect.replaceChildren(...effectNodes(isPending ? { ...data, original_words: [] } : data, headsOff));
  }

  function describe(node, name, isOn) {
    node.setAttribute("aria-checked", String(isOn));
    node.setAttribute("aria-label", name);
    node.title = isOn ? `Switch ${name} off` : `Switch ${name} on`;
  }

  function switchHeads(codes) {
    const isOff = codes.every((code) => headsOff.has(code));
    for (const code of codes) isOff ? headsOff.delete(code) : headsOff.add(code);
    report();
  }

  function report() {
    drawSwitches(true);
    toggle(writeOff(headsOff, data));
  }

  grid.addEventListener("keydown", (event) => moveInGrid(event, rows));
  return { node, draw };
}

// What the heads that are off did to the translation, or what to do when all are on. `original_words` are the
// words of the translation with all heads.
/** @returns {(string | Node)[]} */
function effectNodes({ original_words: originalWords, words }, headsOff) {
  if (!headsOff.size) {
    return [
      "Each small picture is a head: a row for each translated word, darker where it attends more. Point at one to see its bands; click it, or a layer's number, to switch it off.",
    ];
  }
  const shownNames = namesOf(headsOff);
  if (!originalWords?.length) return [`Without ${shownNames}: …`];
  const change = changeOf(originalWords, words);
  if (!change.isSame) {
    return [
      `Without ${shownNames} the translation is now `,
      quoted(words),
      ". With all heads it is ",
      quoted(originalWords),
      ".",
    ];
  }
  const percents = twoPercents(change.before, change.after);
  if (!percents) return [`Without ${shownNames} the translation is the same, with the same probabilities.`];
  return [
    `Without ${shownNames} the translation is the same. What changed most is the probability of `,
    el("strong", {}, el("bdi", {}, withoutPunctuation(change.text))),
    `: ${percents[0]} with all heads, ${percents[1]} now.`,
  ];
}

// Two probabilities with as few digits as tell them apart, or null if tenths of a percent do not.
/** @param {number} before @param {number} after @returns {string[] | null} */
export function twoPercents(before, after) {
  const texts = [wholePercent, percentText].map((text) => [text(before), text(after)]);
  return texts.find(([first, second]) => first !== second) ?? null;
}

const quoted = (words) => el("q", {}, el("bdi", {}, words.map(({ text }) => text).join(" ")));

function namesOf(headsOff) {
  if (headsOff.size > MAX_NAMES) return `these ${headsOff.size} heads`;
  return [...headsOff].map((code) => {
    const { kind, layer, head } = headOfCode(code);
    return `${NAMES_OF_KINDS[kind]}${shortName({ layer, head })}`;
  }).join(", ");
}

// Whether two translations have the same words, and if so the word whose probability changed most.
/** @param {{ text: string, p: number }[]} before @param {{ text: string, p: number }[]} after */
export function changeOf(before, after) {
  const isSame = before.length === after.length && before.every(({ text }, i) => text === after[i].text);
  if (!isSame) return { isSame, text: "", before: 0, after: 0 };
  const differences = before.map(({ p }, i) => Math.abs(p - after[i].p));
  const word = argmax(differences);
  return { isSame, text: before[word].text, before: before[word].p, after: after[word].p };
}
