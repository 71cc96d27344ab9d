// Source tokens that no head can attend to, and activations patched from another sentence.

import { el } from "../../common/base.js";
import { displayNumber, layerName, pieceNames, sentenceCase } from "../../common/naming.js";
import { readPatch, readPositions, writePatch } from "../../trace/changes.js";
import { labelsOf } from "../../trace/words.js";
import { liveField } from "./sentence-field.js";

/** @typedef {import("./off.js").Changed} Changed */

const SUBLAYERS = {
  embed: "the embedding",
  self_attn_norm: "self-attention",
  cross_attn_norm: "cross-attention",
  ffn_norm: "the feed-forward network",
};
const PAIRED = "Choose equally many tokens in both sentences; they are paired in order.";
const OUTPUT_NOTE = "These are output tokens. A patch takes effect when the decoder reads them.";

export function makeSourceChanges(context, change) {
  const mask = makeTokenChoice(
    "Source tokens to which no head can attend",
    (positions) => change({ masked_tokens: positions.sort((a, b) => a - b).join(",") || null }),
  );
  const other = liveField("Another sentence", (text) => change({ other: text || null, patch: field("patch") || null }));
  const sites = el("select", {});
  const [here, there] = ["Positions in this sentence", "Positions in the other sentence"].map((label, side) =>
    makeTokenChoice(label, (positions) => setPatch(side ? { donorPositions: positions } : { positions }))
  );
  const note = el("p", { class: "hu-live-note", role: "status" });
  const maskDetails = el("details", { class: "hu-off-part" }, el("summary", {}, "Mask source tokens"), mask.node);
  const patchDetails = el(
    "details",
    { class: "hu-off-part" },
    el("summary", {}, "Patch activations from another sentence"),
    other.node,
    el("label", { class: "hu-live-field" }, el("span", { class: "hu-label" }, "Activations: output of"), sites),
    here.node,
    there.node,
    note,
  );
  const field = (name) => context.params().get(name) ?? "";
  const patchOf = () => {
    const patch = readPatch(field("patch"));
    const site = patch && [...sites.options].some(({ value }) => value === patch.site) ? patch.site : sites.value;
    return { positions: [], donorPositions: [], ...patch, site };
  };
  const setPatch = (fields) => change({ patch: writePatch({ ...patchOf(), ...fields }) });

  /** @param {Changed} changed */
  function draw(changed) {
    const { original } = changed;
    mask.draw(original.srcTokens.slice(0, -1), readPositions(field("masked_tokens")), context.modelInfo.languages[0]);
    if (field("masked_tokens")) maskDetails.open = true;
    if (field("patch")) patchDetails.open = true;
    other.set(field("other"), context.modelInfo);
    if (!sites.options.length) {
      sites.append(...siteLabels(changed.sites).map(([value, label]) => el("option", { value }, label)));
      sites.value = `encoder.layers.${Math.floor((original.depths.encoder - 1) / 2)}.ffn_norm.hook_output`;
    }
    sites.value = patchOf().site;
    drawPatch(changed);
  }

  /** @param {Changed} changed */
  function drawPatch({ original, donor }) {
    const patch = patchOf();
    const isSource = patch.site.startsWith("encoder");
    const lang = context.modelInfo.languages[isSource ? 0 : 1];
    here.draw(isSource ? original.srcTokens : original.tgtTokens, patch.positions, lang);
    there.draw(isSource ? donor.src : donor.tgt, patch.donorPositions, lang);
    const isUneven = patch.positions.length !== patch.donorPositions.length;
    note.textContent = isUneven ? PAIRED : isSource ? "" : OUTPUT_NOTE;
  }

  patchDetails.addEventListener("toggle", () => change({})); // another sentence is translated while this is open
  sites.addEventListener("change", () => setPatch({ site: sites.value, positions: [], donorPositions: [] }));
  return { nodes: [maskDetails, patchDetails], draw, hasPatch: () => patchDetails.open || field("patch") !== "" };
}

// Buttons with the tokens of a sentence, of which any can be chosen; `choose` gets the positions in the order chosen.
/** @param {string} label @param {(positions: number[]) => void} choose */
function makeTokenChoice(label, choose) {
  const list = el("div", { class: "hu-token-choice", role: "group", "aria-label": label });
  const node = el("div", {}, el("p", { class: "hu-label" }, label), list);
  let [drawn, chosen] = ["", []];

  /** @param {string[]} tokens @param {number[]} positions @param {string} lang code of the tokens' language */
  function draw(tokens, positions, lang) {
    chosen = positions.filter((position) => position < tokens.length);
    list.lang = lang;
    const names = pieceNames(labelsOf(tokens));
    if (drawn !== names.join("\n")) {
      drawn = names.join("\n");
      list.replaceChildren(...names.map((name, position) => {
        const title = `${displayNumber(position)} ${name}`;
        const item = el("button", { type: "button", class: "hu-chip", title, translate: "no" }, name);
        item.addEventListener("click", () => toggle(position));
        return item;
      }));
    }
    [...list.children].forEach((item, position) => {
      item.setAttribute("aria-pressed", String(chosen.includes(position)));
    });
  }

  function toggle(position) {
    choose(chosen.includes(position) ? chosen.filter((other) => other !== position) : [...chosen, position]);
  }
  return { node, draw };
}

// The residual stream after every sublayer, and the encoder's output, as [site, label].
/** @param {string[]} names of all sites @returns {[string, string][]} */
function siteLabels(names) {
  return names.flatMap((name) => {
    if (name === "encoder.hook_memory") return [[name, "Encoder: its output (memory)"]];
    const [stack, ...path] = name.replace(/\.hook_output$/, "").split(".");
    const sublayer = SUBLAYERS[path.at(-1)];
    if (!name.endsWith(".hook_output") || !sublayer) return [];
    const layer = path.length > 1 ? `, ${layerName(Number(path[1]))}` : "";
    return [/** @type {[string, string]} */ ([name, `${sentenceCase(stack)}${layer}: ${sublayer}`])];
  });
}
