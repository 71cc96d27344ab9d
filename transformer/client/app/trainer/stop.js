// The one stop of a run: a head has found the rule of its task, and the page asks whether to switch it off.

import { button, el } from "../../common/base.js";
import { codeOfHead } from "../../common/head-codes.js";
import { headName } from "../../common/naming.js";
import { wholePercent } from "../../common/numbers.js";
import { fill } from "../../common/sentences.js";
import { FOUND } from "../../training/settings.js";
import { firstFollower } from "./captions.js";

const FOUND_TEXT =
  "Step {step}: cross-attention {head} puts {share} of its weight on the right source tokens (mean of {count} held-out examples; no head had {threshold} before). Switch it off?";

/** @param {(code: string) => void} switchOff @param {() => void} goOn */
export function makeStop(switchOff, goOn) {
  let code = "";
  const node = el(
    "div",
    { class: "hu-line hu-trainer-stop", hidden: "" },
    button("Switch it off", () => switchOff(code), { class: "hu-button hu-primary" }),
    button("Go on", goOn),
  );

  // What is asked about the first run while it stands where it has stopped: the head and the sentence; else null.
  /** @param {any} runs of makeRuns */
  function draw({ paused, visible }) {
    const [run] = visible;
    const isStopped = paused && visible.length === 1 && run.foundAt >= 0 && run.foundAt === run.at;
    const found = isStopped ? firstFollower(run.evaluations, run.started.settings.off) : null;
    const wasHidden = node.hidden;
    node.hidden = !found;
    if (!found) return null;
    const head = { kind: /** @type {Kind} */ ("cross"), layer: found.layer, head: found.head };
    code = codeOfHead(head);
    const isTyping = document.activeElement?.tagName === "INPUT";
    if (wasHidden && !isTyping) requestAnimationFrame(() => node.scrollIntoView({ block: "nearest" }));
    const { linkCount } = run.evaluations.find(({ step }) => step === found.step);
    const values = { step: found.step, head: headName(found), share: wholePercent(found.share), count: linkCount };
    return { head, text: fill(FOUND_TEXT, { ...values, threshold: wholePercent(FOUND) }) };
  }
  return { node, draw };
}
