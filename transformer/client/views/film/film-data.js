// The film's frames, tokens and roles; unpacks what figures/film.py packs. Its sentences are called probes; `probe` is
// the index of one.

import { clampIndex, el } from "../../common/base.js";
import { axisLabels, hasExactNames, withNames } from "../../common/naming.js";
import { labelsOf } from "../../trace/words.js";

export const stepName = (step) => step.toLocaleString("en");
export const inPercent = (share) => `${Math.floor(100 * share + 1e-3)}%`; // rounded down, with a tolerance for float32

// The last frame up to `step`; -1 is the newest.
export function frameOf(steps, step) {
  if (step < 0) return steps.length - 1;
  let index = 0;
  while (index + 1 < steps.length && steps[index + 1] <= step) index++;
  return index;
}

export function makeFilm(header, parts) {
  const { steps, rule, ended } = header;
  const probes = header.probes.map((sentence) => ({
    ...sentence,
    src: labelsOf(sentence.src),
    tgt: labelsOf(sentence.tgt),
    predicted: labelsOf(sentence.predicted),
  }));
  const probeIndices = probes.flatMap(({ kinds }, index) => (kinds.length ? [index] : []));
  const shape = (probe, kind) => parts.get(`${probe}.${kind}`).shape;
  const lengthOf = (index) => probes[index].src.tokens.length + probes[index].tgt.tokens.length;
  const longestSentence = probeIndices.reduce(
    (best, index) => (lengthOf(index) > lengthOf(best) ? index : best),
    probeIndices[0],
  );
  const cachedChanges = new Map(); // by sentence and kind

  // Resolve a state to an existing sentence, kind and head.
  function resolveState(state) {
    const probe = probeIndices.includes(state.probe) ? state.probe : longestSentence;
    const { kinds, clearest, opening } = probes[probe];
    const kind = [state.kind, opening, kinds[kinds.length - 1]].find((name) => kinds.includes(name));
    const [, layers, heads] = shape(probe, kind);
    const chosen = state.layer >= 0 && state.head >= 0;
    const [layer, head] = chosen ? [state.layer, state.head] : clearest[kind];
    return { ...state, probe, kind, layer: clampIndex(layer, layers), head: clampIndex(head, heads) };
  }

  // The layer to draw above the others: that of the clearest head, once the run has ended.
  const topLayer = ({ probe, kind }) => (ended ? probes[probe].clearest[kind][0] : 0);

  // One frame of one sentence, as a `Side` of the explorer.
  function side(probe, frame) {
    const sentence = probes[probe];
    const [src, tgt, predicted] = [sentence.src, sentence.tgt, sentence.predicted].map(withNames);
    const n_heads = shape(probe, sentence.kinds[0])[2];
    const depths = Object.fromEntries(sentence.kinds.map((kind) => [kind, shape(probe, kind)[1]]));
    const cells = (kind, layer, head) => {
      const [, layers, heads, rows, columns] = shape(probe, kind);
      const start = ((frame * layers + layer) * heads + head) * rows * columns;
      const { values, top } = parts.get(`${probe}.${kind}`);
      return { values: values.subarray(start, start + rows * columns), height: rows, width: columns, top };
    };
    return {
      ...sentence,
      id: `film ${probe} ${Object.values(depths)} ${n_heads} ${sentence.src.tokens.join(" ")} ${hasExactNames()}`,
      number: probe,
      depths,
      n_heads,
      source: `Step ${stepName(steps[frame])}: ${plain(sentence.src)}`,
      text: plain(sentence.predicted),
      labels: (kind) => axisLabels({ src, tgt, predicted }, kind),
      thumb: cells,
      weights: (kind, layer, head) => {
        const { values, top } = cells(kind, layer, head);
        return { values: Float32Array.from(values, (q) => (q / top) ** 2), top };
      },
    };
  }

  // { group, short, text, share } of a head at a frame.
  function role({ probe, kind }, frame, layer, head) {
    const [, layers, heads] = shape(probe, kind);
    const index = (frame * layers + layer) * heads + head;
    const code = parts.get(`role.${probe}.${kind}`).values[index];
    return { ...header.roles[code], code, share: parts.get(`share.${probe}.${kind}`).values[index] };
  }

  // Role changes between frames: { frame, step, layer, head, before, after }.
  function changes({ probe, kind }) {
    const key = `${probe} ${kind}`;
    if (cachedChanges.has(key)) return cachedChanges.get(key);
    const [, layers, heads] = shape(probe, kind);
    const roleChanges = [];
    for (let frame = 1; frame < steps.length; frame++) {
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) {
          const [before, after] = [frame - 1, frame].map((frameIndex) =>
            role({ probe, kind }, frameIndex, layer, head)
          );
          if (before.code !== after.code) roleChanges.push({ frame, step: steps[frame], layer, head, before, after });
        }
      }
    }
    cachedChanges.set(key, roleChanges);
    return roleChanges;
  }

  // The caption of a frame.
  const caption = ({ probe, kind }, frame) => probes[probe].captions[kind][frame];
  const plain = (tokens) =>
    tokens.word_labels.filter((_, word) => !tokens.special[tokens.words.indexOf(word)]).join(" ");
  const translationText = (index) => `${plain(probes[index].src)} → ${plain(probes[index].predicted)}`;

  return {
    steps,
    notes: header.notes,
    probeIndices,
    rule,
    resolveState,
    topLayer,
    side,
    role,
    changes,
    translationText,
    caption,
  };
}

// Why a head has its role, with its share.
export function reasonOf(role, rule) {
  const [rows, sink] = [inPercent(rule.positional), inPercent(rule.sink)];
  const share = inPercent(role.share);
  return {
    aligned: `${share} of its weight is on the tokens that the task aligns with each output token; the rule asks for ${
      inPercent(rule.aligned)
    }.`,
    positional: `${share} of the rows have their greatest weight there; the rule asks for ${rows} (Voita et al. 2019).`,
    backwards:
      `${share} of the rows have their greatest weight at one offset from the end; the rule asks for ${rows} (Voita et al. 2019).`,
    sink: `${share} of its weight is there, over all rows; the rule asks for ${sink} (Clark et al. 2019).`,
    none:
      `Fewer than ${rows} of the rows have their greatest weight at one offset, and less than ${sink} of the weight is on the first or last token.`,
  }[role.group];
}

const ROLE_COLOURS = { aligned: 1, positional: 0, backwards: 2, sink: 4 };
/** @param {{ group: string }} role @param {Theme} theme */
export const roleColour = ({ group }, theme) => group === "none" ? theme.line : theme.series[ROLE_COLOURS[group]];

// A short label below a thumbnail, in the role's colour.
/** @param {Theme} theme */
export function shortRole(role, theme) {
  const node = el("span", { class: "hu-role", "data-group": role.group }, role.short);
  if (role.group !== "none") node.style.borderColor = roleColour(role, theme);
  return node;
}
