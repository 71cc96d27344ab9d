// The path of a band between two words. Where a sentence wraps, the path passes through gaps in the lines between and
// never behind another word.

/** @typedef {{ x: number, top: number, bottom: number, wide: number }} Box x is the middle of a word. */
/** @typedef {{ top: number, bottom: number, words: Box[] }} Line */

const SAME_LINE = 4; // maximum vertical distance in px between words of one line
const BESIDE_LINE = 6; // px of space before the first and after the last word of a line

/** @param {Box[]} boxes @returns {Line[]} */
export function textLinesOf(boxes) {
  /** @type {Line[]} */
  const lines = [];
  for (const box of [...boxes].sort((a, b) => a.top - b.top || a.x - b.x)) {
    const line = lines[lines.length - 1];
    if (line && box.top - line.top <= SAME_LINE) {
      line.words.push(box);
      line.bottom = Math.max(line.bottom, box.bottom);
    } else {
      lines.push({ top: box.top, bottom: box.bottom, words: [box] });
    }
  }
  for (const line of lines) line.words.sort((a, b) => a.x - b.x);
  return lines;
}

// The middle of the gap between words, or at a line's end, that is nearest to x.
/** @param {Line} line @param {number} x */
export function gapNear({ words }, x) {
  const [left, right] = [(one) => one.x - one.wide / 2, (one) => one.x + one.wide / 2];
  const gaps = [
    left(words[0]) - BESIDE_LINE,
    ...words.slice(1).map((word, i) => (right(words[i]) + left(word)) / 2),
    right(words[words.length - 1]) + BESIDE_LINE,
  ];
  return gaps.reduce((best, gap) => (Math.abs(gap - x) < Math.abs(best - x) ? gap : best));
}

// The path in SVG syntax. `read` and `word` are the lines of both sentences.
/** @param {[number, number]} start @param {[number, number]} end @param {Line[]} read @param {Line[]} word */
export function bandPath([x, y], [toX, toY], read, word) {
  const between = [...read, ...word].filter(({ top, bottom }) => top > y && bottom < toY);
  const n = (number) => number.toFixed(1);
  let path = `M${n(x)} ${n(y)}`;
  const curve = (nextX, nextY) => {
    const middle = (y + nextY) / 2;
    path += `C${n(x)} ${n(middle)} ${n(nextX)} ${n(middle)} ${n(nextX)} ${n(nextY)}`;
    [x, y] = [nextX, nextY];
  };
  for (const [i, line] of between.entries()) {
    const gap = gapNear(line, x + ((toX - x) * i) / between.length);
    curve(gap, line.top);
    path += `L${n(gap)} ${n(line.bottom)}`;
    y = line.bottom;
  }
  curve(toX, toY);
  return path;
}
