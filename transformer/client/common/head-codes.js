// The kinds of attention, and codes of heads, as in the address: "e3.2" is head 2 of encoder layer 3, "c5" is
// cross-attention layer 5.

/** @type {Record<Kind, string>} the same as in figures/state.py */
export const KINDS = { encoder: "Encoder self-attention", decoder: "Decoder self-attention", cross: "Cross-attention" };
/** @type {Record<Kind, string>} */
export const LETTERS = { encoder: "e", decoder: "d", cross: "c" };

// A code as a head; that of a complete layer has no `head`. `kind` is undefined for an unknown letter.
/** @param {string} code @returns {{ kind: Kind | undefined, layer: number, head: number | undefined }} */
export function headOfCode(code) {
  const [layer, head] = code.slice(1).split(".").map(Number);
  const kind = /** @type {Kind[]} */ (Object.keys(LETTERS)).find((name) => LETTERS[name] === code[0]);
  return { kind, layer, head };
}

// "e3.2,c5" as a set of heads, and back; a complete layer is written as "c5".
export function readOff(text, { n_layers, n_heads }) {
  const heads = new Set();
  for (const code of text.split(",").filter(Boolean)) {
    const { layer, head } = headOfCode(code);
    if (!(layer < n_layers)) continue;
    for (let h = 0; h < n_heads; h++) if (head === undefined || head === h) heads.add(`${code[0]}${layer}.${h}`);
  }
  return heads;
}

export function writeOff(headsOff, { n_layers, n_heads }) {
  const written = [];
  for (const letter of Object.values(LETTERS)) {
    for (let layer = 0; layer < n_layers; layer++) {
      const all = Array.from({ length: n_heads }, (_, head) => `${letter}${layer}.${head}`);
      const heads = all.filter((head) => headsOff.has(head));
      written.push(...(heads.length === n_heads ? [`${letter}${layer}`] : heads));
    }
  }
  return written.join(",");
}

/** @param {{ kind: Kind, layer: number, head: number }} head */
export const codeOfHead = ({ kind, layer, head }) => `${LETTERS[kind]}${layer}.${head}`;

// The codes of a head, or of all heads of a layer (`head` is null), of a column (`layer` is null) or of a kind.
/** @param {{ kind: Kind, layer: number | null, head: number | null }} place @param {number} depth @param {number} nHeads */
export function codesOf({ kind, layer, head }, depth, nHeads) {
  const all = (index, count) => index === null ? Array.from({ length: count }, (_, i) => i) : [index];
  return all(layer, depth).flatMap((l) => all(head, nHeads).map((h) => codeOfHead({ kind, layer: l, head: h })));
}

// The heads that are off after a click: all of these codes are switched off, or on if all of them are off.
/** @param {Set<string>} off @param {string[]} codes */
export function toggled(off, codes) {
  const others = [...off].filter((code) => !codes.includes(code));
  return new Set(codes.every((code) => off.has(code)) ? others : [...others, ...codes]);
}
