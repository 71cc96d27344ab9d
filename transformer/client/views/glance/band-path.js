// The path of a band between two words. Where a sentence wraps, the path crosses the other lines through the gaps
// between their words.

/** @typedef {{ x: number, top: number, bottom: number, width: number }} Box the outline of a word; x is its horizontal middle */
/** @typedef {{ top: number, bottom: number, words: Box[] }} Line */

const SAME_LINE = 4; // maximum vertical distance in px between words of one line
const LINE_END_MARGIN = 6; // px of space before the first and after the last word of a line

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

// The gap of a line that is nearest to x: the middle between two words, or just outside the line.
/** @param {Line} line @param {number} x */
export function nearestGap({ words }, x) {
  const [left, right] = [(box) => box.x - box.width / 2, (box) => box.x + box.width / 2];
  const gaps = [
    left(words[0]) - LINE_END_MARGIN,
    ...words.slice(1).map((word, i) => (right(words[i]) + left(word)) / 2),
    right(words[words.length - 1]) + LINE_END_MARGIN,
  ];
  return gaps.reduce((best, gap) => (Math.abs(gap - x) < Math.abs(best - x) ? gap : best));
}

// The path in SVG syntax.
/** @param {[number, number]} start @param {[number, number]} end @param {Line[]} sourceLines @param {Line[]} targetLines */
export function bandPath([x, y], [toX, toY], sourceLines, targetLines) {
  const linesBetween = [...sourceLines, ...targetLines].filter(({ top, bottom }) => top > y && bottom < toY);
  const format = (number) => number.toFixed(1);
  let path = `M${format(x)} ${format(y)}`;
  const curve = (nextX, nextY) => {
    const middle = (y + nextY) / 2;
    path += `C${format(x)} ${format(middle)} ${format(nextX)} ${format(middle)} ${format(nextX)} ${format(nextY)}`;
    [x, y] = [nextX, nextY];
  };
  for (const [i, line] of linesBetween.entries()) {
    const gap = nearestGap(line, x + ((toX - x) * i) / linesBetween.length);
    curve(gap, line.top);
    path += `L${format(gap)} ${format(line.bottom)}`;
    y = line.bottom;
  }
  curve(toX, toY);
  return path;
}
