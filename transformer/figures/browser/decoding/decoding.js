// The Decoding view: the translation token by token, with the decoder's input, its candidates and its
// attention. A token can be forced; both translations are then shown side by side.

import { clampIndex, el, setIfChanged, tokenText } from "../common/base.js";
import { candidatesOf, makeStepPanel, rowsOf, stepBlocks, stepHead } from "./decoding-step.js";
import { makeTree } from "./decoding-tree.js";
import { hasExactNames, headName, tokenName, TOKENS_NOTE } from "../common/naming.js";
import { KINDS } from "../common/options.js";
import { plainToken } from "../querykey/querykey-calculation.js";

const STEP_MS = 1000; // ms per step while playing

// "2:1234" as { step, id }; null if nothing is forced.
/** @param {State} state */
export function parseForced(state) {
  const [step, id] = state.force.split(":").map(Number);
  return state.force ? { step, id } : null;
}

// The second translation, if it has the forced token.
/** @param {Context} ctx */
const alteredOf = (ctx) => (ctx.state.force && ctx.secondKind !== "other" && ctx.sides[1]) || null;

/** @param {Context} ctx @returns {View} */
function decodingView(ctx) {
  let playTimer = 0;
  const force = ctx.canForce ? (step, id) => ctx.set({ force: `${step}:${id}`, step }) : null;
  const player = makePlayer((step) => {
    stop();
    goToStep(step);
  }, () => (playTimer ? stop() : play()));
  const outputs = [
    makeOutputRow((step) => {
      stop();
      goToStep(step);
    }),
    makeOutputRow((step) => {
      stop();
      goToStep(step);
    }),
  ];
  const undoButton = el("button", { type: "button", class: "hu-button" }, "Back to the original");
  const forcedNote = el("p", { class: "hu-forced", role: "status", hidden: "" });
  const forcedLine = el("div", { class: "hu-forcedline" }, forcedNote, undoButton);
  const panels = [makeStepPanel(ctx, force), makeStepPanel(ctx, null)];
  const stepPanels = el("div", { class: "hu-both" }, ...panels.map(({ node }) => node));
  const tree = makeTree(ctx);
  const playerSection = el(
    "section",
    {
      class: "hu-player",
      tabindex: "0",
      "aria-label": "The translation, step by step. Use the arrow keys to step, Space to play.",
    },
    player.node,
    forcedLine,
    ...outputs.map((row) => row.node),
  );
  const sections = [playerSection, stepPanels, tree.node];
  const empty = el(
    "p",
    { class: "hu-empty" },
    "This trace contains only attention weights, so its decoding steps are unknown.",
  );
  const node = el("div", { class: "hu-decoding" }, ...sections);
  undoButton.addEventListener("click", () => {
    ctx.set({ force: "" });
    playerSection.focus();
  });

  const stepCount = () => Math.max(ctx.side.steps.length, alteredOf(ctx)?.steps.length || 0);
  const currentStep = () => clampIndex(ctx.state.step, stepCount());
  const goToStep = (step) => ctx.set({ step: clampIndex(step, stepCount()) });

  function play() {
    if (currentStep() === stepCount() - 1) goToStep(0);
    playTimer = setInterval(() => {
      // Stop when the view has been removed from the page.
      if (!node.isConnected || currentStep() === stepCount() - 1) return stop();
      goToStep(currentStep() + 1);
      if (currentStep() === stepCount() - 1) stop();
    }, STEP_MS);
    draw();
  }
  function stop() {
    clearInterval(playTimer);
    playTimer = 0;
    if (node.isConnected) player.draw(currentStep(), stepCount(), false);
  }

  function draw() {
    const { side } = ctx;
    if (!stepCount()) return node.replaceChildren(empty);
    if (empty.isConnected) node.replaceChildren(...sections);
    const [step, forced, altered] = [currentStep(), parseForced(ctx.state), alteredOf(ctx)];
    player.draw(step, stepCount(), Boolean(playTimer));
    forcedLine.hidden = !forced || !(altered || ctx.canForce);
    forcedNote.hidden = forcedLine.hidden;
    if (!forcedLine.hidden) {
      forcedNote.textContent = altered
        ? `In step ${
          forced.step + 1
        } you forced another token, and the model continued from it. Tokens that only one translation has are marked.`
        : ctx.secondKind === "refused"
        ? "This token cannot be forced; the message above the tabs says why."
        : "Translating again with the token you chose …";
    }
    const differing = altered ? differingPositions(ctx.pairs, side, altered) : [new Set(), new Set()];
    outputs[0].draw(side, altered ? "Original" : "", step, differing[0], -1);
    outputs[1].node.hidden = panels[1].node.hidden = !altered;
    stepPanels.classList.toggle("hu-two", Boolean(altered));
    panels[0].draw(side, step, altered ? "Original" : "", false);
    if (altered) {
      outputs[1].draw(altered, "Altered", step, differing[1], forced.step);
      panels[1].draw(altered, step, "Altered", step === forced.step);
    }
    tree.draw();
  }

  node.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const to = { ArrowLeft: currentStep() - 1, ArrowRight: currentStep() + 1, Home: 0, End: stepCount() - 1 }[key];
    // Sliders handle their own keys, and Space presses a button.
    const handledByElement = target.matches("input") ? key !== " " : key === " " && target.matches("button");
    if (handledByElement || (to === undefined && key !== " ")) return;
    event.preventDefault();
    event.stopPropagation();
    if (key === " ") return playTimer ? stop() : play();
    stop();
    goToStep(to);
  });

  return {
    node,
    draw,
    options: [],
    // For another kind, select its clearest head, not the head with the same number.
    stateForKind: (kind) => ({ kind, ...stepHead(ctx, kind) }),
    keys: [
      ["← and →", "previous step, next step; Home and End: first and last step"],
      ["Space", "play or pause"],
      ["in the tree", "← parent, → best child, ↑ and ↓ others of the same step"],
    ],
    title: () => {
      const { predicted, steps } = ctx.side;
      const step = currentStep();
      if (!stepCount()) return "Step by step";
      const writes = step < steps.length ? `: “${plainToken(predicted.names[step])}”` : "";
      return `Step ${step + 1} of ${stepCount()}${writes}`;
    },
    note: () =>
      `For ${
        KINDS[ctx.state.kind].toLowerCase()
      }, the rows below show the selected head; for the other kinds, the head with the clearest pattern.${
        hasExactNames() ? "" : ` ${TOKENS_NOTE}`
      }`,
    code: () => `trace.translation.steps[${currentStep()}]`,
    figure: () => stepCount() && decodingFigure(ctx, currentStep(), tree),
    table: () => stepCount() && decodingTable(ctx, currentStep()),
    close: stop,
  };
}

function makePlayer(go, toggle) {
  let shownStep = 0;
  let total = 0;
  const makeButton = (text, label, onClick) => {
    const button = el("button", { type: "button", class: "hu-button", "aria-label": label, title: label }, text);
    button.addEventListener("click", onClick);
    return button;
  };
  const first = makeButton("|◀\ufe0e", "first step", () => go(0));
  const before = makeButton("◀\ufe0e", "previous step", () => go(shownStep - 1));
  const play = makeButton("", "", toggle);
  const after = makeButton("▶\ufe0e", "next step", () => go(shownStep + 1));
  const last = makeButton("▶\ufe0e|", "last step", () => go(total - 1));
  const slider = el("input", { type: "range", min: 1, "aria-label": "step" });
  const stepCounter = el("span", { class: "hu-place" });
  slider.addEventListener("input", () => go(Number(slider.value) - 1));
  const node = el("div", { class: "hu-transport" }, first, before, play, after, last, slider, stepCounter);
  play.classList.add("hu-play");

  function draw(step, count, playing) {
    [shownStep, total] = [step, count];
    play.textContent = playing ? "Pause" : "Play";
    play.setAttribute("aria-label", playing ? "pause" : "play");
    play.title = playing ? "pause" : "play, a step a second";
    // Not disabled, as a disabled button loses the focus.
    for (const button of [first, before]) button.setAttribute("aria-disabled", String(step === 0));
    for (const button of [after, last]) button.setAttribute("aria-disabled", String(step === count - 1));
    slider.max = count;
    slider.value = step + 1;
    slider.setAttribute("aria-valuetext", `step ${step + 1} of ${count}`);
    stepCounter.textContent = `${step + 1} / ${count}`;
  }

  return { node, draw };
}

// The output as tokens: those already read, the one predicted in this step, and later ones.
function makeOutputRow(go) {
  const label = el("span", { class: "hu-label" });
  const chips = el("div", { class: "hu-written" });
  const node = el("div", { class: "hu-output" }, label, chips);
  let key = "";
  function draw(side, name, step, differing, forced) {
    if (key !== side.id) {
      key = side.id;
      chips.replaceChildren(
        el("span", { class: "hu-piece hu-begin" }, tokenText(side.tgt.tokens[0])),
        ...side.predicted.names.map((token, i) => {
          const chip = el("button", {
            type: "button",
            class: "hu-piece",
            tabindex: "-1",
            "aria-label": `${tokenName(token)}, step ${i + 1}`,
          }, tokenText(token));
          chip.addEventListener("click", () => go(i));
          return chip;
        }),
      );
    }
    label.textContent = name || "The decoder has read the filled tokens and predicts the marked one";
    [...chips.children].slice(1).forEach((chip, i) => {
      const state = i < step ? "read" : i === step ? "now" : "later";
      setIfChanged(chip, "data-state", state);
      setIfChanged(
        chip,
        "class",
        `hu-piece${differing.has(i) ? " hu-differing" : ""}${i === forced ? " hu-forced-token" : ""}`,
      );
      setIfChanged(
        chip,
        "title",
        `step ${i + 1}${i === forced ? ", the token you forced" : ""}${
          differing.has(i) ? ", in this translation only" : ""
        }`,
      );
      setIfChanged(chip, "aria-current", state === "now" ? "step" : "false");
    });
  }
  return { node, draw };
}

// For both translations, the output positions that have no partner in the other. The pairs are of decoder
// inputs, which start with <s> and lack the last token.
/** @param {Side} side */
export function differingPositions(pairs, side, altered) {
  const unpairedOf = (index) =>
    new Set(pairs.tgt_tokens.filter((pair) => pair[1 - index] === null).map((pair) => pair[index] - 1));
  const unpaired = [unpairedOf(0), unpairedOf(1)];
  const [a, b] = [side.predicted.tokens, altered.predicted.tokens];
  if (a[a.length - 1] !== b[b.length - 1]) {
    unpaired[0].add(a.length - 1);
    unpaired[1].add(b.length - 1);
  }
  return unpaired;
}

/** @param {Context} ctx @returns {[Side, string][]} */
const shownSides = (ctx) => {
  const altered = alteredOf(ctx);
  return altered ? [[ctx.side, "Original"], [altered, "Altered"]] : [[ctx.side, ""]];
};

/** @param {Context} ctx @param {number} step */
function decodingFigure(ctx, step, tree) {
  const width = 760;
  const blocks = shownSides(ctx).flatMap(([side, name]) => {
    const read = side.tgt.names.slice(0, step + 1).map(plainToken).join(" ");
    return stepBlocks(ctx, side, step, `${name ? `${name}. ` : ""}Read: ${read}`, width);
  });
  const treeFigure = tree.figure(width);
  if (treeFigure) blocks.push(treeFigure);
  const paint = (pen) => {
    pen.save();
    for (const block of blocks) {
      pen.save();
      block.paint(pen);
      pen.restore();
      pen.translate(0, block.height);
    }
    pen.restore();
  };
  return {
    title: `Step ${step + 1}, ${headName(ctx.state)} (${KINDS[ctx.state.kind]})`,
    width,
    height: blocks.reduce((sum, { height }) => sum + height, 0),
    paint,
  };
}

/** @param {Context} ctx @param {number} step */
function decodingTable(ctx, step) {
  const rows = shownSides(ctx).filter(([side]) => step < side.steps.length).flatMap(([side, name]) => [
    ...candidatesOf(side, step).map((
      { token, p, isChosen },
      i,
    ) => [name, "candidate", i + 1, token, p, isChosen ? "chosen" : ""]),
    ...rowsOf(ctx, side, step).filter(({ weights }) => weights).flatMap((
      { kind, layer, head, row, visibleKeys, tokens, weights },
    ) =>
      tokens.slice(0, visibleKeys).map((
        token,
        j,
      ) => [name, `${KINDS[kind]}, ${headName({ layer, head })}, row ${row}`, j, token, weights[j], ""])
    ),
  ]);
  const { tree } = ctx.side;
  const branches = tree
    ? tree.token.map((
      token,
      i,
    ) => [
      "",
      "tree",
      i,
      token,
      tree.probability[i],
      `depth ${tree.depth[i]}, parent ${tree.parent[i] ?? "none"}, score ${tree.score[i]}, ${tree.status[i]}`,
    ])
    : [];
  return {
    caption: `Step ${step + 1}: candidates, and the attention of one head of each kind`,
    columns: ["translation", "section", "index", "token", "probability or weight", "note"],
    rows: [...rows, ...branches],
  };
}

/** @type {Tab} */
export const decodingTab = { label: "Decoding", make: decodingView, mosaic: true };
