// The symptom of each case of the Bug clinic as a small picture: the loss of its run beside that of the correct one, and
// what the model then writes. tests/figures/scripts/clinic-cases.js compares it with the runs.

import { el, svgNode } from "../../common/base.js";

export const SYMPTOM_INPUT = "b d d f f"; // one of the examples of all cases
export const RIGHT_OUTPUT = "f f d d b";
export const MAX_LEVEL = 35; // levels are digits to base 36
export const MAX_LOSS = 5; // in nats per token, at the highest level
const [WIDTH, HEIGHT, EDGE] = [96, 54, 3];

/**
 * `loss`, `correct`: means over equal parts of the run with the mistake and without it.
 * @typedef {{ loss: string, correct: string, written: string }} Symptom
 */
/** @type {Record<string, Symptom>} by the case's id */
export const SYMPTOMS = {
  three_models: { loss: "ogedba999887776666655555", correct: "mfc976543211100000000000", written: "d f b d f" },
  perfect_loss: { loss: "qgd964321100000000000000", correct: "pgda76653211110000000000", written: "" },
  one_token_ahead: { loss: "pf7211101000000000000000", correct: "pgda76653211110000000000", written: "" },
  nothing_to_learn: {
    loss: "200000000000000000000000",
    correct: "pgda76653211110000000000",
    written: "b b b b b b b b",
  },
  one_answer: { loss: "pgeeeeeeeeeeeeeeeeeeeeee", correct: "pgda76653211110000000000", written: "e e e e" },
  right_letters: { loss: "sgdbaa988877666666655555", correct: "pgda76653211110000000000", written: "d f b f d" },
  stuck_wide_head: { loss: "ofddddcccbbaaaaa99888877", correct: "pea754321111000000000000", written: "f f b b" },
  good_only_in_training: { loss: "peb843110000000000000000", correct: "pgda76653211110000000000", written: "d b" },
  deaf_layers: { loss: "lgeeedddddddccccccccccbb", correct: "ogeca9876433211100000000", written: "d d d d d d d d" },
  thrown_out: { loss: "hfeeeedddddddccccccccccc", correct: "mfb987533211110100000000", written: "f b b b b" },
  never_settles: { loss: "qhhjkkmljkhkoprpxzunnpqp", correct: "pgfda7654321100000000000", written: "c c c c c c c c" },
  two_minds: { loss: "kdb987665443322222221111", correct: "kdb987665443322222221111", written: "f f d b" },
};

/** @param {string} id of a case */
export function symptomPicture(id) {
  const { loss, correct, written } = SYMPTOMS[id];
  const chart = svgNode(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "The loss of the run, beside that of a correct one",
      class: "hu-symptom-chart",
    },
    svgNode("path", { d: `M${EDGE} ${EDGE}V${HEIGHT - EDGE}H${WIDTH - EDGE}`, class: "hu-symptom-axes" }),
    svgNode("polyline", { points: pointsOf(correct), class: "hu-symptom-correct" }),
    svgNode("polyline", { points: pointsOf(loss), class: "hu-symptom-loss" }),
  );
  const output = el(
    "p",
    { class: "hu-symptom-output", translate: "no" },
    el("span", {}, SYMPTOM_INPUT, " → ", el("s", {}, RIGHT_OUTPUT)),
    el("b", {}, written || "nothing"),
  );
  return el("div", { class: "hu-symptom" }, chart, output);
}

/** @param {string} levels */
function pointsOf(levels) {
  const step = (WIDTH - 2 * EDGE) / (levels.length - 1);
  return [...levels].map((level, n) => {
    const share = parseInt(level, MAX_LEVEL + 1) / MAX_LEVEL;
    return `${(EDGE + n * step).toFixed(1)},${(HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE)).toFixed(1)}`;
  }).join(" ");
}
