// Aligns two token lists: equal tokens are paired in order, null where one has no partner. It pairs as many
// tokens as possible (a longest common subsequence: Wagner and Fischer 1974, section 5,
// https://doi.org/10.1145/321796.321811) and prefers adjacent pairs.

/** @typedef {[number | null, number | null]} TokenPair */

/** @param {string[]} first @param {string[]} second @returns {TokenPair[]} */
export function alignTokens(first, second) {
  /** @type {TokenPair[]} */
  const pairs = [];
  let [i, j] = [0, 0];
  for (const [endI, endJ] of [...matchedTokens(first, second), [first.length, second.length]]) {
    for (; i < endI; i++) pairs.push([i, null]);
    for (; j < endJ; j++) pairs.push([null, j]);
    pairs.push([endI, endJ]);
    [i, j] = [endI + 1, endJ + 1];
  }
  return pairs.slice(0, -1);
}

function matchedTokens(first, second) {
  const [n, m] = [first.length, second.length];
  const pairScore = Math.min(n, m) + 1; // more than all bonuses of 1 for adjacent pairs together
  const scoreTable = (value) => Array.from({ length: n + 1 }, () => Array(m + 1).fill(value));
  // Scores of the best alignment from (i, j) to the end: any, and those that pair i with j (-1 if they differ).
  const [bestScores, pairedScores] = [scoreTable(0), scoreTable(-1)];
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      bestScores[i][j] = Math.max(bestScores[i + 1][j], bestScores[i][j + 1]);
      if (first[i] !== second[j]) continue;
      pairedScores[i][j] = pairScore + Math.max(bestScores[i + 1][j + 1], pairedScores[i + 1][j + 1] + 1);
      bestScores[i][j] = Math.max(bestScores[i][j], pairedScores[i][j]);
    }
  }
  const matched = [];
  for (let [i, j] = [0, 0]; i < n && j < m;) {
    const [a, b] = matched[matched.length - 1] ?? [-2, -2];
    const adjacentBonus = Number(a === i - 1 && b === j - 1);
    if (pairedScores[i][j] >= 0 && pairedScores[i][j] + adjacentBonus >= bestScores[i][j]) matched.push([i++, j++]);
    else if (bestScores[i + 1][j] === bestScores[i][j]) i++;
    else j++;
  }
  return matched;
}
