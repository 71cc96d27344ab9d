// The teacher's plan in the line of a class: all stations with their minutes, what to do at this one, and for the teacher
// the clock and the way to the next.

import { button, el } from "../../common/base.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";

const STATION = "Station {number} of {count}: {title}";
const MINUTES = "{minutes} min";
const CLOCK = "{elapsed} of {minutes}:00 · lesson {all} of {total} min";

/**
 * A station with the place to open, which only the teacher gets, if it has one. `elapsed`: seconds at this station and in
 * all, when the news came.
 * @typedef {{ title: string, minutes: number, page?: string, params?: Record<string, string> }} PlanStation
 * @typedef {{ title: string, stations: PlanStation[], station: number, text: string, elapsed?: [number, number] }} PlanNews
 */

/** @param {(station: number) => void} send tells the class to which station the teacher goes */
export function planLine(send) {
  const clock = el("span", { role: "timer" });
  const node = el("div", { class: "hu-class-plan", hidden: "" });
  let plan = /** @type {PlanNews | null} */ (null);
  let [receivedAt, drawnKey] = [0, ""];
  const timer = setInterval(tick, 1000);

  function tick() {
    if (!plan?.elapsed || plan.station < 0) return;
    const since = (performance.now() - receivedAt) / 1000;
    const [here, all] = plan.elapsed.map((seconds) => Math.floor(seconds + since));
    clock.textContent = clockText(plan, here, all);
    clock.classList.toggle("hu-late", here > 60 * plan.stations[plan.station].minutes);
  }

  /** @param {number} number */
  function open(number) {
    const { page, params } = plan.stations[number];
    send(number);
    if (page !== undefined) openPlace(page, params ?? {});
  }

  /** @param {PlanNews | null} shown @param {number} at when the news came, as performance.now() */
  function show(shown, at) {
    [plan, receivedAt] = [shown, at];
    const key = JSON.stringify(plan && { ...plan, elapsed: Boolean(plan.elapsed) });
    node.hidden = !plan;
    if (key !== drawnKey) node.replaceChildren(...(plan ? planNodes(plan, clock, open) : []));
    drawnKey = key;
    tick();
  }
  return { node, show, close: () => clearInterval(timer) };
}

/** @param {PlanNews} plan @param {Node} clock @param {(number: number) => void} open */
function planNodes({ title, stations, station, text, elapsed }, clock, open) {
  const here = stations[station];
  const named = here && fill(STATION, { number: station + 1, count: stations.length, title: here.title });
  const next = stations[station + 1];
  const label = here ? "Next: {title} →" : "Begin: {title} →";
  return [
    el(
      "details",
      {},
      el("summary", {}, here ? named : title, ...(here ? [" · ", elapsed ? clock : minutesOf(here)] : [])),
      el(
        "ol",
        {},
        ...stations.map((each, number) => stationNode(each, number === station, elapsed && (() => open(number)))),
      ),
    ),
    ...(elapsed && next
      ? [
        button(fill(label, { title: next.title }), () => open(station + 1), {
          class: "hu-button hu-primary hu-class-next",
        }),
      ]
      : []),
    ...(text ? [el("p", {}, text)] : []),
  ];
}

/** @param {PlanStation} station @param {boolean} isHere @param {(() => void) | undefined} open of the teacher */
const stationNode = (station, isHere, open) =>
  el(
    "li",
    { "aria-current": isHere ? "step" : null },
    open ? button(station.title, open, { class: null }) : station.title,
    ` · ${minutesOf(station)}`,
  );

/** @param {PlanStation} station */
const minutesOf = ({ minutes }) => fill(MINUTES, { minutes });

// The clock after these seconds at the station and in all.
/** @param {PlanNews} plan @param {number} here @param {number} all */
export function clockText({ stations, station }, here, all) {
  const elapsed = `${Math.floor(here / 60)}:${String(here % 60).padStart(2, "0")}`;
  const total = stations.reduce((sum, { minutes }) => sum + minutes, 0);
  return fill(CLOCK, { elapsed, minutes: stations[station].minutes, all: Math.floor(all / 60), total });
}
