// All cross-attention heads as small pictures next to the bands. Pointing at a head shows its bands; a click switches the
// head, or the whole layer at the left, off or on again. `point(head)` is called with { layer, head } or null,
// `toggle(off)` with the heads that are off, as in the address.

import { argmax, button, el, wordsNode } from "../../common/base.js";
import { withoutPunctuation } from "./glance-playback.js";
import { headOfCode, readOff, writeOff } from "../../common/head-codes.js";
import { shortName } from "../../common/naming.js";
import { twoPercents } from "../../common/numbers.js";
import { byPointer } from "../../common/pointing.js";
import { paintThumb } from "../../common/thumbnail.js";
import { headGrid } from "../grids/all-heads.js";

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
  const effect = el("p", { class: "hu-strip-effect", role: "status" });
  const allOn = button("All heads on", () => {
    grid.node.querySelector("[tabindex='0']")?.focus();
    report(new Set());
  });
  const node = el("section", { class: "hu-strip" }, title);
  const grid = headGrid(node, {
    role: "switch",
    edges: "layers",
    help: "Use the arrow keys to move; Enter switches off or on",
    title: (name, isOff) => isOff ? `Switch ${name} on` : `Switch ${name} off`,
    onPoint: point,
    onOff: report,
  });
  node.append(effect, allOn);
  let data = null;

  function draw(newData) {
    data = newData;
    const hasHeads = Boolean(data.head_weights?.length); // not for too many words
    title.hidden = grid.node.hidden = !hasHeads;
    node.hidden = !hasHeads && !data.off;
    const count = data.n_layers * data.n_heads;
    title.textContent = count === 1 ? "1 cross-attention head" : `${count} cross-attention heads`;
    if (hasHeads) grid.show(stripGrid(data));
    drawSwitches(readOff(data.off, data));
    const code = data.why >= 0 ? data.deciding?.head?.code : "";
    for (const head of grid.node.querySelectorAll("[data-head]")) {
      head.classList.toggle("hu-decides", head.dataset.head === code);
    }
  }

  // `isPending`: the translation without these heads has been requested.
  function drawSwitches(headsOff, isPending = false) {
    grid.setOff(headsOff);
    allOn.hidden = !headsOff.size;
    effect.replaceChildren(...effectNodes(isPending ? { ...data, original_words: [] } : data, headsOff));
  }

  function report(headsOff) {
    drawSwitches(headsOff, true);
    toggle(writeOff(headsOff, data));
  }

  return { node, draw };
}

// What the grid shows: a row of a picture for each translated word, a column for each word of the sentence and its end.
/** @returns {import("../grids/all-heads.js").GridData} */
function stripGrid({ n_layers, n_heads, layer, head, words, source, head_weights: weights }) {
  const [height, width] = [words.length, source.length + 1];
  const size = height * width;
  const paint = (canvas, place, theme) => {
    const start = (place.layer * n_heads + place.head) * size;
    const values = Uint8Array.from(weights.slice(start, start + size), (weight) => Math.round(255 * Math.sqrt(weight)));
    if (size) paintThumb(canvas, { values, height, width }, false, theme.ramp);
  };
  return {
    kinds: ["cross"],
    depth: () => n_layers,
    n_heads,
    paint,
    pictures: JSON.stringify(weights),
    shape: () => 1.35,
    selected: { kind: "cross", layer, head },
  };
}

// What the heads that are off did to the translation, or what to do when all are on. `original_words` are the
// words of the translation with all heads.
/** @returns {(string | Node)[]} */
function effectNodes({ original_words: originalWords, words, languages: [, lang] }, headsOff) {
  if (!headsOff.size) {
    return [
      "Each small picture is a head: a row for each translated word, darker where it attends more. ",
      byPointer(
        "Point at one to see its bands; click it, or a layer's number, to switch it off.",
        "Tap one, or a layer's number, to switch it off.",
      ),
    ];
  }
  const shownNames = headNamesOf(headsOff);
  if (!originalWords?.length) return [`Without ${shownNames}: …`];
  const change = changeOf(originalWords, words);
  if (!change.isSame) {
    return [
      `Without ${shownNames} the translation is now `,
      quoted(words, lang),
      ". With all heads it is ",
      quoted(originalWords, lang),
      ".",
    ];
  }
  const percents = twoPercents(change.before, change.after);
  if (!percents) return [`Without ${shownNames} the translation is the same, with the same probabilities.`];
  return [
    `Without ${shownNames} the translation is the same. What changed most is the probability of `,
    el("strong", {}, wordsNode(withoutPunctuation(change.text), lang)),
    `: ${percents[0]} with all heads, ${percents[1]} now.`,
  ];
}

const quoted = (words, lang) => el("q", {}, wordsNode(words.map(({ text }) => text).join(" "), lang));

function headNamesOf(headsOff) {
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
