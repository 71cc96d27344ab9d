// The first page: a text field, and below it the translation word by word, with bands from the source words
// with attention. `.show(data)` takes what `unpackGlance` makes of an answer; `report({
// text, number, prefix, off, with_alternatives })` requests another translation, `report({ open_head: [layer, head] })`
// opens that head in the explorer, `report({ depth })` another depth of the page, `report({ why })` asks which head decides
// about a word, -1 for none.

import { browserAddress, writeState } from "../../common/address.js";
import { button, el, listenForResize } from "../../common/base.js";
import { makeField } from "./glance-field.js";
import { makeLeast } from "./glance-least.js";
import { firstDifference, makePlayback, stepDuration, unsureWords } from "./glance-playback.js";
import { makeGlanceStage } from "./glance-stage.js";
import { makeStrip, withHead } from "./glance-strip.js";
import { headName, setExactNames } from "../../common/naming.js";
import { wholePercent } from "../../common/numbers.js";
import { unpack } from "../../trace/packing.js";
import { glanceData, translatedWords } from "../../trace/glance-data.js";
import { unpackTrace } from "../../trace/packed-trace.js";

const ALTERNATIVES_DELAY_MS = 350; // ms until the alternatives of a new translation are requested
const FIRST_WORD_MS = 30; // ms until the first word after typing: one frame, from which its band grows
const DIM_DELAY_MS = 500; // ms without an answer until the old translation is dimmed

// The header of these bytes, and what is drawn of their trace.
/** @param {Uint8Array} bytes @param {any} [more] fields that the header lacks */
export function unpackGlance(bytes, more = {}) {
  const { header, parts } = unpack(bytes);
  const data = { ...header, ...more };
  if (!data.trace) return data;
  const trace = unpackTrace(data.trace, (name) => parts.get(name));
  const { alternatives, aligner, has_strip: hasStrip } = data;
  return {
    ...data,
    ...glanceData(trace, { alternatives, forcedPieces: data.prefix.length, aligner, hasStrip }),
    original_words: data.original ? translatedWords(unpackTrace(data.original, null)) : [],
  };
}

export function glanceView(root, report, address = browserAddress) {
  let [data, step, msPerWord, isFast] = [null, 0, 400, false]; // `isFast`: shorter pauses, while the visitor types
  let [timer, alternativesTimer, dimTimer] = [0, 0, 0];
  let [number, pendingText] = [0, null]; // number of the last request, and its text until it is answered
  let pointedHead = /** @type {Head | null} */ (null); // in the strip; its bands are drawn instead of the shown head's
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const field = makeField({
    onInput: () => data && writeText(offNow()), // at once, so that a reload keeps it
    onText: () => requestTranslation(),
    onDepth: (depth) => report({ depth }),
    isIdle: () => Boolean(data?.words) && pendingText === null,
  });
  const stage = makeGlanceStage({ go: chooseStep, onHover: () => draw() });
  const least = makeLeast((word) => report({ why: word }));
  const playback = makePlayback({
    force: (alternative) =>
      requestTranslation({ prefix: [...data.ids.slice(0, alternative.step), ...alternative.ids] }),
    undo: () => requestTranslation(),
    toggle: () => (timer ? pause() : play(step >= data.words.length ? 0 : step)),
    go: chooseStep,
    switchOff: (off) => requestTranslation({ off }),
  });
  const strip = makeStrip({ point: pointAt, toggle: (off) => requestTranslation({ prefix: data.prefix, off }) });
  const legend = el("p", { class: "hu-note" });
  const body = el(
    "div",
    { class: "hu-glance-body" },
    el("div", { class: "hu-glance-picture" }, stage.node, least.node),
    el("div", { class: "hu-glance-side" }, strip.node, playback.node),
  );
  const frame = el("div", { class: "hu hu-glance" }, field.node, body, legend);
  root.append(frame);

  // Request a translation of the text in the field. The alternatives of every word are requested afterwards: they take
  // longer than the translation.
  function requestTranslation({ prefix = [], off = offNow(), withAlternatives = false } = {}) {
    clearTimeout(alternativesTimer);
    number += 1;
    pendingText = withAlternatives ? pendingText : field.area.value;
    isFast = !withAlternatives && frame.getRootNode().activeElement === field.area;
    if (!withAlternatives) {
      clearTimeout(dimTimer);
      dimTimer = setTimeout(() => frame.classList.add("hu-busy"), DIM_DELAY_MS);
      writeText(off);
    }
    data.off = off;
    report({
      text: withAlternatives ? data.text : pendingText,
      number,
      prefix,
      off,
      with_alternatives: withAlternatives,
    });
  }

  // Those of the address: another depth may have changed them since the last answer.
  const offNow = () => address.params().get("off") ?? "";

  // The address has the heads that are off, and the text of the field unless it is empty. No word of another translation
  // is explained.
  function writeText(off) {
    const text = field.area.value;
    const defaults = { model: "", text: data.default_text, off: "", why: "" };
    const written = { model: data.model, off, why: "", ...(text.trim() ? { text } : {}) };
    writeState(address, /** @type {any} */ (written), defaults);
  }

  function show(answer) {
    const fromServer = pendingText === null;
    if (answer.number < number && !fromServer) return; // an outdated answer
    number = Math.max(number, answer.number);
    if (answer.number >= number) endWaiting();
    const before = data;
    data = answer;
    setExactNames(false);
    field.draw(data, fromServer);
    frame.classList.toggle("hu-glance-wrong", Boolean(data.problem));
    body.hidden = legend.hidden = !data.words;
    if (!data.words) return pauseAnimation();
    strip.draw(data);
    frame.classList.toggle("hu-explains", data.why >= 0);
    if (!before || contentKey(before) !== contentKey(data)) startPlayback(before);
    else if (data.why !== before.why) explain();
    else draw();
    if (!data.has_alternatives && !data.problem) {
      clearTimeout(alternativesTimer);
      alternativesTimer = setTimeout(
        () => pendingText === null && requestTranslation({ prefix: data.prefix, withAlternatives: true }),
        ALTERNATIVES_DELAY_MS,
      );
    }
  }

  // The address has another text: that of the field is not what the visitor wants any more.
  function forgetTyped() {
    field.forgetTyped();
    endWaiting();
  }

  // Show the step of the word that is explained; all words again when none is.
  function explain() {
    goToStep(data.why < 0 ? data.words.length : data.why);
    if (data.why >= 0) playback.node.scrollIntoView({ block: "nearest" });
  }

  function endWaiting() {
    pendingText = null;
    clearTimeout(dimTimer);
    frame.classList.remove("hu-busy");
  }

  const contentKey = (content) =>
    JSON.stringify([
      content.source,
      content.forced_word,
      content.off,
      content.layer,
      content.head,
      (content.words || []).map(({ text, weights }) => [text, weights]),
    ]);
  const textsOf = (content) => (content && content.words ? content.words.map(({ text }) => text) : []);

  // A new translation starts at its first new word.
  function startPlayback(before) {
    pointedHead = null;
    drawLegend();
    stage.set(data);
    const texts = textsOf(data);
    if (data.why >= 0) return goToStep(data.why);
    if (reducedMotion.matches || !texts.length) return goToStep(texts.length);
    const first = firstDifference(textsOf(before), texts);
    if (first < texts.length) play(first);
    else if (before.text === data.text) goToStep(texts.length); // other weights or probabilities of the same words
    else play(0);
  }

  function drawLegend() {
    const shownData = withHead(data, pointedHead);
    const open = () => report({ open_head: [shownData.layer, shownData.head] });
    legend.replaceChildren(...legendNodes(shownData), button("Open this head →", open, { class: "hu-open-head" }));
  }

  // Draw the bands of a head in the strip; null is the head that is shown otherwise.
  function pointAt(head) {
    if (!data?.words || pointedHead === head) return;
    pointedHead = head;
    if (timer) pause();
    stage.setWeights(withHead(data, pointedHead));
    drawLegend();
    draw();
  }

  function play(from) {
    clearTimeout(timer);
    step = from;
    msPerWord = stepDuration(data.words.length, isFast);
    timer = setTimeout(next, isFast ? FIRST_WORD_MS : msPerWord);
    draw(true);
  }

  function next() {
    step += 1;
    timer = step < data.words.length ? setTimeout(next, msPerWord) : 0;
    if (!timer) isFast = false;
    draw(true);
  }

  function pauseAnimation() {
    clearTimeout(timer);
    timer = 0;
    isFast = false;
  }

  function pause() {
    pauseAnimation();
    draw();
  }

  function goToStep(to) {
    step = Math.min(Math.max(to, 0), data.words.length);
    pause();
  }

  // The visitor goes to a step, and leaves the word that is explained.
  function chooseStep(to) {
    if (data.why < 0) return goToStep(to);
    data = { ...data, why: -1 };
    report({ why: -1 });
    goToStep(to);
  }

  function draw(advanced = false) {
    if (!data?.words) return;
    frame.classList.toggle("hu-playing", Boolean(timer));
    stage.draw(step, Boolean(timer), msPerWord);
    least.draw(data, Boolean(timer));
    if (advanced || !timer) playback.draw(withHead(data, pointedHead), step, Boolean(timer), isFast);
  }

  const endResize = listenForResize(stage.node, () => {
    stage.layoutBands();
    field.fitHeight();
  });
  document.fonts.ready.then(() => stage.layoutBands());

  return {
    show,
    forgetTyped,
    close: () => {
      for (const timeout of [timer, alternativesTimer, dimTimer]) clearTimeout(timeout);
      timer = 0;
      endResize();
      field.close();
    },
  };
}

// The caption: what a band means, which head is shown and why, and whether it is unsure about this sentence.
function legendNodes(
  { n_layers: layers, n_heads: headsInLayer, layer, head, isPointed, to, aligner_agreement: alignerAgreement, words },
) {
  const sample = el("span", { class: "hu-glance-sample", "aria-hidden": "true" });
  const unsure = unsureWords(words);
  return [
    sample,
    "The wider a band, the more weight this head gives to that word. ",
    ...(isPointed ? [`This is ${headName({ layer, head })}. `] : headNote(layers * headsInLayer, alignerAgreement)),
    to === "input" ? "It attends to the source of a word just after the model has written that word. " : "",
    unsure
      ? `On this sentence it is unsure about ${unsure} of ${words.length} ${
        words.length === 1 ? "word" : "words"
      }: no source word gets half of its weight. `
      : "",
  ];
}

function headNote(heads, alignerAgreement) {
  if (heads < 2) return [];
  if (!alignerAgreement) {
    return [
      `No alignment was measured for this model. Of its ${heads} heads this one agrees most with the others on this sentence. `,
    ];
  }
  const { agreement, sentences, source } = alignerAgreement;
  const figure = el(
    "span",
    { title: `1 − AER, the alignment error rate. Links: ${source}` },
    `${wholePercent(agreement)} agreement, ${sentences} sentences`,
  );
  return [`Of ${heads} heads it agrees best with the human alignment (`, figure, "). "];
}
