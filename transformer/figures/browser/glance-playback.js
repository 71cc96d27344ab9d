// The animation of the first page: its timing, the bands, the sentence about each step, the alternatives and
// the playback buttons.

import { el } from "./base.js";

// What the percentages of words mean; shown where words are compared.
export const PERCENTAGES_NOTE = "Each percentage is the probability of one token: the first in which a word differs from the chosen one.";

export const MIN_BAND_WEIGHT = 0.04; // smallest weight with a band

const PLAY_DURATIONS = [5200, 420, 1150]; // ms: the whole translation, minimum and maximum per step
const TYPING_DURATIONS = [1500, 90, 420]; // the same while the user is typing

// The first word that differs from the previous translation.
export function firstNew(before, after) {
  let same = 0;
  while (same < Math.min(before.length, after.length) && before[same] === after[same]) same++;
  return same;
}

// Duration of a step in ms, given the number of steps.
export function paceOf(count, hurry) {
  const [totalMs, minMs, maxMs] = hurry ? TYPING_DURATIONS : PLAY_DURATIONS;
  return Math.min(Math.max(totalMs / Math.max(count, 1), minMs), maxMs);
}

// Indices of the greatest weights, greatest first.
export const strongest = (looks) => looks.map((_, i) => i).sort((a, b) => looks[b] - looks[a] || a - b);

// A band for each visible weight, { read, word, weight, above, below }: from a source word to a written word,
// with the offset of its middle at either word, in units of weight. The offsets keep bands from overlapping.
export function bandsOf(written, minWeight = MIN_BAND_WEIGHT) {
  const bands = written.flatMap(({ looks }, word) => (
    looks.map((weight, read) => ({ read, word, weight, above: 0, below: 0 })).filter(({ weight }) => weight >= minWeight)
  ));
  const spread = (group, end) => {
    let at = -group.reduce((sum, { weight }) => sum + weight, 0) / 2;
    for (const band of group) {
      band[end] = at + band.weight / 2;
      at += band.weight;
    }
  };
  const groups = (by) => [...new Set(bands.map((band) => band[by]))].map((which) => bands.filter((band) => band[by] === which));
  for (const group of groups("word")) spread(group.sort((a, b) => a.read - b.read), "below");
  for (const group of groups("read")) spread(group.sort((a, b) => a.word - b.word), "above");
  return bands;
}

// Whole percent, but 100 % or 0 % only if exact.
export function wholePercent(p) {
  if (p < 0.01) return "< 1 %";
  if (p >= 0.995 && p < 1) return "> 99 %";
  return `${Math.round(100 * p)} %`;
}

// A word without its final punctuation, unless it consists of punctuation.
export const inSentence = (text) => text.replace(/(?<=[^\p{P}])\p{P}+$/u, "");

// Below this weight a head is called unsure: no word gets more than all others together.
export const UNSURE_BELOW = 0.5;

// Number of words about which the head is unsure.
export const unsureWords = (written) => written.filter(({ looks, rest }) => Math.max(rest, ...looks) < UNSURE_BELOW).length;

// The sentence about a step: texts, and words as { read } or { word } with their indices.
export function stepSentence(data, step) {
  const { p, looks, rest } = data.written[step];
  const when = data.to === "input" ? "just after, this head " : "this head ";
  return ["It writes ", { word: step }, ` (${wholePercent(p)}); ${when}`, ...attendedWords(looks, rest), "."];
}

function attendedWords(looks, rest) {
  const [first, second] = strongest(looks);
  const top = looks[first] ?? 0;
  if (rest >= top) return [`looks mostly at the end of the sentence (${wholePercent(rest)})`];
  if (top >= 0.6 || second === undefined) return ["looks at ", { read: first }, ` (${wholePercent(top)})`];
  if (looks[second] >= 0.6 * top && top + looks[second] >= 0.6) {
    return ["looks at ", { read: Math.min(first, second) }, " and at ", { read: Math.max(first, second) }];
  }
  return ["is unsure: it looks at many words, most at ", { read: first }, ` (${wholePercent(top)})`];
}

// The model's own word with the lowest probability among those with alternatives; -1 if there is none.
export function leastConfident(written, taken = -1) {
  let index = -1;
  written.forEach((one, i) => {
    if (i !== taken && one.rivals.length && (index < 0 || one.p < written[index].p)) index = i;
  });
  return index;
}

// `take(rival)` forces an alternative, `undo()` removes it; `toggle()` plays or pauses, `go(step)` shows a
// step.
export function makePlayback({ take, undo, toggle, go }) {
  const step = el("span", { class: "hu-label" });
  const sentence = el("p", { class: "hu-glance-sentence" });
  const close = el("div", { class: "hu-glance-close" });
  const button = (label, act) => {
    const one = el("button", { type: "button", class: "hu-button", "aria-label": label });
    one.addEventListener("click", act);
    return one;
  };
  const play = button("Play", toggle);
  play.classList.add("hu-glance-play");
  let at = 0;
  const back = button("Previous step", () => go(at - 1));
  const next = button("Next step", () => go(at + 1));
  [back.textContent, next.textContent] = ["‹", "›"];
  const controls = el("div", { class: "hu-glance-controls" }, play, back, next, step);
  const details = el("div", { class: "hu-glance-details", role: "status" }, sentence, close);
  const node = el("div", { class: "hu-glance-panel" }, controls, details);
  let shown = "";

  function draw(data, now, playing, quiet) {
    at = now;
    const count = data.written.length;
    const whole = now >= count;
    const action = playing ? "Pause" : whole ? "Play again" : "Play";
    play.textContent = `${playing ? "❚❚" : whole ? "↻" : "▶"} ${action}`;
    play.setAttribute("aria-label", action);
    [back.disabled, next.disabled] = [now <= 0, whole];
    step.textContent = whole ? `${count} ${count === 1 ? "word" : "words"}` : `word ${now + 1} of ${count}`;
    details.setAttribute("aria-live", playing ? "off" : "polite");
    const one = whole || quiet ? leastConfident(data.written, data.taken) : now;
    const drawingKey = JSON.stringify([data.number, data.known, now, whole, quiet]);
    if (drawingKey === shown) return; // do not replace a button that is being pressed
    shown = drawingKey;
    sentence.replaceChildren(...(whole || quiet ? overall(data, one) : written(data, stepSentence(data, now))));
    close.replaceChildren(...rivals(data, one, whole || quiet));
    if (data.taken >= 0) close.append(undone(data));
  }

  function written(data, parts) {
    return parts.map((part) => {
      if (typeof part === "string") return part;
      return "word" in part ? el("strong", {}, el("bdi", {}, inSentence(data.written[part.word].text))) : el("em", {}, el("bdi", {}, inSentence(data.source[part.read])));
    });
  }

  function overall(data, one) {
    if (!data.written.length) return ["The translation is empty."];
    const hint = "Hover over a word to see which source words it attends to; click it to see how it was chosen.";
    if (one < 0) return [hint];
    const { text, p } = data.written[one];
    return [hint, " Least confident: ", el("strong", {}, el("bdi", {}, inSentence(text))), ` (${wholePercent(p)}).`];
  }

  function rivals(data, one, whole) {
    if (one < 0 || !data.known) return [];
    const alternatives = data.written[one].rivals;
    if (!alternatives.length) return [el("span", { class: "hu-label" }, "No strong alternative.")];
    return [
      el("span", { class: "hu-label", title: PERCENTAGES_NOTE }, whole ? "Choose another word; the model continues from it:" : "Alternatives:"),
      ...alternatives.map((rival) => {
        const share = el("span", { class: "hu-glance-share" });
        share.style.width = `${Math.max(100 * rival.p, 2)}%`;
        const chip = el("button", { type: "button", class: "hu-glance-rival", "aria-label": `Write ${inSentence(rival.text)} instead, ${wholePercent(rival.p)}` },
          el("bdi", {}, inSentence(rival.text)), el("span", { class: "hu-label" }, wholePercent(rival.p)), share);
        chip.addEventListener("click", () => take(rival));
        return chip;
      }),
      el("span", { class: "hu-label hu-glance-compared" }, PERCENTAGES_NOTE),
    ];
  }

  function undone(data) {
    const button = el("button", { type: "button", class: "hu-button" }, "Back to the model's own words");
    button.addEventListener("click", undo);
    return el("p", { class: "hu-glance-undo" }, "You forced ", el("strong", {}, el("bdi", {}, inSentence(data.written[data.taken]?.text || "a word"))), "; the model chose the words after it. ", button);
  }

  return { node, draw };
}
