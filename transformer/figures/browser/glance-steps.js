// What the first picture shows of a translation, step by step, without a browser: which words are new,
// how fast they come, how wide the bands between them are, and what is said of a step.

export const LEAST_BAND = 0.04; // a weight from which on a band is drawn

const PLAY = [5200, 420, 1150]; // ms: a whole translation, the shortest and the longest step of it
const HURRY = [1500, 90, 420]; // the same while somebody types

// The first word in which a translation differs from the one before, by the words' texts.
export function firstNew(before, after) {
  let same = 0;
  while (same < Math.min(before.length, after.length) && before[same] === after[same]) same++;
  return same;
}

// How long a step stays, in ms, of so many.
export function paceOf(count, hurry) {
  const [whole, least, most] = hurry ? HURRY : PLAY;
  return Math.min(Math.max(whole / Math.max(count, 1), least), most);
}

// The places of the greatest weights, greatest first.
export const strongest = (looks) => looks.map((_, i) => i).sort((a, b) => looks[b] - looks[a] || a - b);

// A band for each weight that is to be seen, { read, word, weight, above, below }: from the word read to
// the word written, with the place of its middle among the bands at either word, in units of weight
// from the middle of all of them. So they stand side by side and never on one another.
export function bandsOf(written, least = LEAST_BAND) {
  const bands = written.flatMap(({ looks }, word) => (
    looks.map((weight, read) => ({ read, word, weight, above: 0, below: 0 })).filter(({ weight }) => weight >= least)
  ));
  const spread = (group, end) => {
    let at = -group.reduce((sum, { weight }) => sum + weight, 0) / 2;
    for (const band of group) {
      band[end] = at + band.weight / 2;
      at += band.weight;
    }
  };
  const groups = (by) => [...new Set(bands.map((band) => band[by]))].map((which) => bands.filter((band) => band[by] === which));
  for (const group of groups("word")) spread(group.sort((a, b) => a.read - b.read), "below");
  for (const group of groups("read")) spread(group.sort((a, b) => a.word - b.word), "above");
  return bands;
}

// Whole per cents, and never 100 % or 0 % of what is not quite that.
export function percent(p) {
  if (p < 0.01) return "< 1 %";
  if (p >= 0.995 && p < 1) return "> 99 %";
  return `${Math.round(100 * p)} %`;
}

// A word within a sentence: without the signs that end it, unless it is made of signs.
export const spoken = (text) => text.replace(/(?<=[^\p{P}])\p{P}+$/u, "");

// What is said of a step: texts, and words as { read } or { word } by their places.
export function saidOf(data, step) {
  const { p, looks, rest } = data.written[step];
  return ["It writes ", { word: step }, ` (${percent(p)}): `, ...lookedAt(looks, rest), "."];
}

function lookedAt(looks, rest) {
  const [first, second] = strongest(looks);
  const top = looks[first] ?? 0;
  if (rest >= top) return ["it looked mostly at the end of the sentence"];
  if (top >= 0.6 || second === undefined) return ["it looked most at ", { read: first }];
  if (looks[second] >= 0.6 * top) return ["it looked at ", { read: Math.min(first, second) }, " and at ", { read: Math.max(first, second) }];
  return ["it looked around, most at ", { read: first }];
}

// The word that it was least sure of, of those with rivals that are its own; -1 if none is.
export function leastSure(written, taken = -1) {
  let found = -1;
  written.forEach((one, i) => {
    if (i !== taken && one.rivals.length && (found < 0 || one.p < written[found].p)) found = i;
  });
  return found;
}
