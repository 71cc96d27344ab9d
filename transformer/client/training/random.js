// Random numbers from a seed, the same on every machine: mulberry32, whose state is one 32-bit integer.

export class Random {
  /** @param {number} seed */
  constructor(seed) {
    this.state = seed | 0;
  }

  // From 0 to 1, without 1.
  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  // A whole number from 0 to `count` − 1.
  /** @param {number} count */
  below(count) {
    return Math.floor(this.next() * count);
  }

  // In place (Fisher and Yates 1938).
  /** @template T @param {T[]} list */
  shuffle(list) {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
}
