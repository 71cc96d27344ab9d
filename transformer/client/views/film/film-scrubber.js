// The film's controls: play, a slider over the steps, a strip with the selected head's role at each step, and
// the list of changes.

import { button, clampIndex, el } from "../../common/base.js";
import { inPercent, reasonOf, roleColour, stepName } from "./film-data.js";
import { headName, sentenceCase } from "../../common/naming.js";

const FRAME_TICKS = 6; // maximum number of labelled steps
const MAX_LISTED_CHANGES = 200;

// `go(frame)` is called when the user moves the slider, `toggle()` to play or stop.
export function makeScrubber({ go, toggle }) {
  const play = button("Play", toggle, { class: "hu-button hu-play" });
  const step = el("strong", { class: "hu-step" });
  const note = el("span", { class: "hu-step-note" });
  const goToLatest = () => {
    go(count - 1);
    range.focus({ preventScroll: true });
  };
  const latestButton = button("Latest", goToLatest, { class: "hu-button hu-newest" });
  const strip = el("div", { class: "hu-strip" });
  const range = el("input", { type: "range", min: 0, step: 1, "aria-label": "Step of training" });
  const ticks = el("div", { class: "hu-frames", "aria-hidden": "true" });
  const track = el("div", { class: "hu-track-place" }, strip, range, ticks);
  const node = el(
    "section",
    { class: "hu-scrub", "aria-label": "Steps of training" },
    el("div", { class: "hu-scrub-line" }, play, step, note, latestButton),
    track,
  );
  let [count, currentFrame, drawnKey, tickedSteps] = [0, 0, "", ""];

  range.addEventListener("input", () => go(Number(range.value)));
  node.addEventListener("keydown", (event) => {
    if (event.target === range) return; // it handles its own keys
    const to = { ArrowLeft: currentFrame - 1, ArrowRight: currentFrame + 1, Home: 0, End: count - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(clampIndex(to, count));
  });
  strip.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-frame]");
    const box = strip.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    go(mark ? Number(mark.dataset.frame) : clampIndex(Math.round(share * (count - 1)), count));
  });

  function draw(film, frame, state, theme, playing) {
    [count, currentFrame] = [film.steps.length, frame];
    play.textContent = playing ? "Pause" : "Play";
    play.disabled = count < 2;
    step.textContent = `Step ${stepName(film.steps[frame])}`;
    note.textContent = [`picture ${frame + 1} of ${count}`, film.notes[frame]].filter(Boolean).join(" · ");
    latestButton.hidden = frame === count - 1 || playing;
    [range.max, range.value, range.disabled] = [count - 1, frame, count < 2];
    range.setAttribute("aria-valuetext", `step ${film.steps[frame]}`);
    const steps = film.steps.join();
    if (steps !== tickedSteps) ticks.replaceChildren(...ticksOf(film.steps));
    const roles = film.steps.map((_, i) => film.role(state, i, state.layer, state.head));
    const key = [steps, roles.map((role) => role.text), theme.key, state.probe, state.kind, state.layer, state.head]
      .join();
    if (key !== drawnKey) strip.replaceChildren(...roleBars(film, roles, theme), ...changeMarks(film, state, roles));
    [drawnKey, tickedSteps] = [key, steps];
  }

  return { node, draw };
}

// Positions on the slider in percent: of a frame, and halfway between a frame and the previous one.
const framePercent = (frame, count) => (count > 1 ? (100 * frame) / (count - 1) : 50);
const barEdgePercent = (frame, count) => Math.min(Math.max(framePercent(frame - 0.5, count), 0), 100);

// A bar for every run of frames in which the head has the same role.
/** @param {Theme} theme */
function roleBars(film, roles, theme) {
  const count = roles.length;
  const starts = roles.flatMap((role, i) => (i && roles[i - 1].code === role.code ? [] : [i]));
  return starts.map((from, i) => {
    const to = i + 1 < starts.length ? starts[i + 1] : count;
    const clearestRole = roles.slice(from, to).reduce((a, b) => (b.share > a.share ? b : a));
    const bar = el("span", {
      class: "hu-stretch",
      "data-group": roles[from].group,
      title: `${roles[from].text}, steps ${stepName(film.steps[from])} to ${stepName(film.steps[to - 1])}. ${
        reasonOf(clearestRole, film.rule)
      }`,
    });
    const [left, right] = count > 1 ? [barEdgePercent(from, count), barEdgePercent(to, count)] : [0, 100];
    bar.style.left = `${left}%`;
    bar.style.width = `${right - left}%`;
    bar.style.background = roleColour(roles[from], theme);
    return bar;
  });
}

// A marker where the selected head changes, and a small tick where another head of its kind does.
function changeMarks(film, state, roles) {
  const changes = film.changes(state);
  const isSelected = ({ layer, head }) => layer === state.layer && head === state.head;
  const others = new Map();
  for (const other of changes.filter((change) => !isSelected(change))) {
    others.set(other.frame, (others.get(other.frame) || 0) + 1);
  }
  const markerAt = (frame, attributes) =>
    el("span", { "data-frame": frame, style: `left: ${framePercent(frame, roles.length)}%`, ...attributes });
  return [
    ...[...others].map(([frame, count]) =>
      markerAt(frame, {
        class: "hu-other-change",
        title: `${count} other ${count > 1 ? "heads change" : "head changes"} at step ${stepName(film.steps[frame])}`,
      })
    ),
    ...changes.filter(isSelected).map((change) =>
      markerAt(change.frame, {
        class: "hu-mark",
        title: `${changeText(change)}. ${
          reasonOf(change.after.group === "none" ? change.before : change.after, film.rule)
        }`,
      })
    ),
  ];
}

// A few labelled steps at even distances.
function ticksOf(steps) {
  const count = Math.min(steps.length, FRAME_TICKS);
  return Array.from({ length: count }, (_, i) => {
    const frame = count > 1 ? Math.round((i * (steps.length - 1)) / (count - 1)) : 0;
    return el("span", { style: `left: ${framePercent(frame, steps.length)}%` }, stepName(steps[frame]));
  });
}

const changeText = ({ layer, head, before, after, step }) =>
  `${headName({ layer, head })}: ${before.text} → ${after.text}, at step ${stepName(step)}`;

// The selected head's current role and since when, and an expandable list for all heads. `choose({ step, layer,
// head })` is called when a change is clicked.
export function makeChanges(choose) {
  const roleText = el("p", { class: "hu-role-now", role: "status" });
  const headChangeList = el("ul", { class: "hu-changes" });
  const summary = el("summary", {});
  const list = el("ul", { class: "hu-changes" });
  const rule = el("p", { class: "hu-note" });
  const allChanges = el("details", { class: "hu-all-changes" }, summary, rule, list);
  const node = el("section", { class: "hu-changed", "aria-label": "When heads change" }, headChangeList, allChanges);
  let drawnKey = "";

  const changeItem = (change) => {
    const { frame, step, layer, head } = change;
    const attributes = { class: null, "data-frame": frame };
    return el("li", {}, button(changeText(change), () => choose({ step, layer, head }), attributes));
  };

  function draw(film, state, frame, theme, playing) {
    const role = film.role(state, frame, state.layer, state.head);
    roleText.setAttribute("aria-live", playing ? "off" : "polite");
    const swatch = el("span", { class: "hu-swatch", "aria-hidden": "true" });
    swatch.style.background = roleColour(role, theme);
    roleText.replaceChildren(
      swatch,
      el("strong", {}, `${sentenceCase(headName(state))}: ${role.text}. `),
      el("span", {}, reasonOf(role, film.rule)),
    );
    const changes = film.changes(state);
    const key = [film.steps.join(), state.probe, state.kind, state.layer, state.head, ...changes.map(changeText)]
      .join();
    if (key === drawnKey) return;
    drawnKey = key;
    const changesOfHead = changes.filter(({ layer, head }) => layer === state.layer && head === state.head);
    headChangeList.replaceChildren(...changesOfHead.slice(0, MAX_LISTED_CHANGES).map(changeItem));
    summary.textContent = `All heads: ${changes.length} ${changes.length === 1 ? "change" : "changes"}`;
    rule.textContent = `These rules look at this sentence only. A head follows the alignment if at least ${
      inPercent(film.rule.aligned)
    } of its weight is on the tokens that the task aligns with each output token. Otherwise it is positional if at least ${
      inPercent(film.rule.positional)
    } of the rows have their greatest weight at one offset (Voita et al. 2019), reads backwards if that holds counted from the end, and attends to a sink if at least ${
      inPercent(film.rule.sink)
    } of its weight is on the first or the last token (Clark et al. 2019). An offset is only tested if at least ${film.rule.rows} rows, and at least half of all rows, have a token at that distance.`;
    list.replaceChildren(...changes.slice(0, MAX_LISTED_CHANGES).map(changeItem));
  }

  return { roleText, node, draw };
}
