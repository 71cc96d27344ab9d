// Beside the first picture: what happens at a step, in a sentence, what nearly stood there, and the
// buttons by which it plays.

import { el } from "./base.js";
import { leastSure, percent, saidOf, spoken } from "./glance-steps.js";

// `take(rival)` puts a rival in its word's place, `undo()` takes that back; `toggle()` plays or pauses,
// `go(step)` goes to a step.
export function makeSaid({ take, undo, toggle, go }) {
  const step = el("span", { class: "hu-label" });
  const says = el("p", { class: "hu-glance-says" });
  const close = el("div", { class: "hu-glance-close" });
  const button = (label, act) => {
    const one = el("button", { type: "button", class: "hu-button", "aria-label": label });
    one.addEventListener("click", act);
    return one;
  };
  const play = button("Play", toggle);
  play.classList.add("hu-glance-play");
  let at = 0;
  const back = button("One step back", () => go(at - 1));
  const on = button("One step on", () => go(at + 1));
  [back.textContent, on.textContent] = ["‹", "›"];
  const controls = el("div", { class: "hu-glance-controls" }, play, back, on, step);
  const told = el("div", { class: "hu-glance-told", role: "status" }, says, close);
  const node = el("div", { class: "hu-glance-panel" }, controls, told);
  let shown = "";

  function draw(data, now, playing, quiet) {
    at = now;
    const count = data.written.length;
    const whole = now >= count;
    const action = playing ? "Pause" : whole ? "Play again" : "Play";
    play.textContent = `${playing ? "❚❚" : whole ? "↻" : "▶"} ${action}`;
    play.setAttribute("aria-label", action);
    [back.disabled, on.disabled] = [now <= 0, whole];
    step.textContent = whole ? `${count} ${count === 1 ? "word" : "words"}` : `word ${now + 1} of ${count}`;
    told.setAttribute("aria-live", playing ? "off" : "polite");
    const one = whole || quiet ? leastSure(data.written, data.taken) : now;
    const asked = JSON.stringify([data.number, data.known, now, whole, quiet]);
    if (asked === shown) return; // what is pressed must not be made anew under the finger
    shown = asked;
    says.replaceChildren(...(whole || quiet ? overall(data, one) : written(data, saidOf(data, now))));
    close.replaceChildren(...rivals(data, one, whole || quiet));
    if (data.taken >= 0) close.append(undone(data));
  }

  function written(data, parts) {
    return parts.map((part) => {
      if (typeof part === "string") return part;
      return "word" in part ? el("strong", {}, el("bdi", {}, spoken(data.written[part.word].text))) : el("em", {}, el("bdi", {}, spoken(data.source[part.read])));
    });
  }

  function overall(data, one) {
    if (!data.written.length) return ["It has nothing to say to that."];
    const hint = "Point at a word to see where it comes from; press it to see how it was chosen.";
    if (one < 0) return [hint];
    const { text, p } = data.written[one];
    return [hint, " It was least sure of ", el("strong", {}, el("bdi", {}, spoken(text))), ` (${percent(p)}).`];
  }

  function rivals(data, one, whole) {
    if (one < 0 || !data.known) return [];
    const found = data.written[one].rivals;
    if (!found.length) return [el("span", { class: "hu-label" }, "Nothing else came close.")];
    return [
      el("span", { class: "hu-label" }, whole ? "Put another there, and it goes on from it:" : "Close behind, yours to take:"),
      ...found.map((rival) => {
        const share = el("span", { class: "hu-glance-share" });
        share.style.width = `${Math.max(100 * rival.p, 2)}%`;
        const chip = el("button", { type: "button", class: "hu-glance-rival", "aria-label": `Write ${spoken(rival.text)} instead, ${percent(rival.p)}` },
          el("bdi", {}, spoken(rival.text)), el("span", { class: "hu-label" }, percent(rival.p)), share);
        chip.addEventListener("click", () => take(rival));
        return chip;
      }),
    ];
  }

  function undone(data) {
    const button = el("button", { type: "button", class: "hu-button" }, "Its own words again");
    button.addEventListener("click", undo);
    return el("p", { class: "hu-glance-undo" }, "You put ", el("strong", {}, el("bdi", {}, spoken(data.written[data.taken]?.text || "a word"))), " there; all after it is its own. ", button);
  }

  return { node, draw };
}
