// Normalisation as the SentencePiece model prescribes it: its own table of replacements ("ﬁ" to "fi", a
// full-width letter to a plain one), then single spaces, written "▁", one of them before the text.
//
// The table is a double-array trie over UTF-8 bytes (Aoe 1989, as darts-clone lays it out) and the
// replacements, each ended by a zero byte. At every position the longest matching entry is
// replaced.

const SPACE = "▁";
// Characters that have no glyph, as in transformer/text/visible.py.
const IGNORABLE =
  /[\0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const JOINERS = /(^|[\0-\u058f])[\u200c\u200d]+/g;

/** @param {string} text */
export const withoutInvisible = (text) => text.replace(IGNORABLE, "").replace(JOINERS, "$1");

export class Normalizer {
  /** @param {Uint8Array} charsmap of the model's normalizer_spec @param {{ dummyPrefix: boolean, singleSpaces: boolean }} options */
  constructor(charsmap, options) {
    this.options = options;
    const size = charsmap.length ? new DataView(charsmap.buffer, charsmap.byteOffset).getUint32(0, true) : 0;
    this.trie = new Uint32Array(charsmap.slice(4, 4 + size).buffer);
    this.replacements = charsmap.subarray(4 + size);
  }

  /** @param {string} text */
  normalize(text) {
    const bytes = new TextEncoder().encode(withoutInvisible(text));
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const { dummyPrefix, singleSpaces } = this.options;
    let normalized = "";
    let afterSpace = singleSpaces;
    for (let offset = 0; offset < bytes.length;) {
      const { length, replacement } = this.longestEntry(bytes, offset);
      const isAscii = replacement.length === 1 && replacement[0] < 128; // the common case
      let part = isAscii ? String.fromCharCode(replacement[0]) : decoder.decode(replacement);
      offset += length;
      if (afterSpace && singleSpaces) part = part.replace(/^ +/, "");
      if (part) afterSpace = singleSpaces && part.endsWith(" ");
      normalized += part;
    }
    normalized = ((dummyPrefix && normalized ? " " : "") + normalized).replaceAll(" ", SPACE);
    return singleSpaces ? normalized.replace(/▁+$/, "") : normalized;
  }

  // The longest entry of the table at this position of the text; otherwise the character itself.
  /** @param {Uint8Array} bytes @param {number} start */
  longestEntry(bytes, start) {
    const first = bytes[start];
    let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    let replacement = bytes.subarray(start, start + length);
    const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let node = this.trie.length ? offset(this.trie[0]) : -1;
    for (let i = start; node >= 0 && i < bytes.length; i++) {
      node ^= bytes[i];
      const unit = this.trie[node];
      if ((unit & 0x800000ff) !== bytes[i]) break; // the label: no edge for this byte
      node ^= offset(unit);
      if ((unit >>> 8) & 1) { // an entry ends here; its value is where the replacement begins
        const from = this.trie[node] & 0x7fffffff;
        [length, replacement] = [i + 1 - start, this.replacements.subarray(from, this.replacements.indexOf(0, from))];
      }
    }
    return { length, replacement };
  }
}
