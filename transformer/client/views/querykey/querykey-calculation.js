// The numbers of the Query–key view: one weight computed from the vectors of the trace, and the text of each
// step.

import { argmax, clampIndex } from "../../common/base.js";
import { hasExactNames, tokenName } from "../../common/naming.js";
import { fixed, showWeight } from "../../common/numbers.js";

const MAX_VALUE_STRIPS = 5; // values drawn as a strip of their own; the others are summed
const CLEAR_SHARE = 0.7; // of a key that wins against others: the example that the view opens with is near it
const MAX_ROUNDING_GAP = 1e-3; // a larger difference is not explained by float32 and packing

export const plainToken = (text) => tokenName(text).replace(/^▁(?=.)/, "");

export function softmaxOf(scores, count) {
  const exponentials = new Float64Array(scores.length); // masked keys keep 0: exp(−∞)
  const maxScore = Math.max(...scores.subarray(0, count));
  let sum = 0;
  for (let j = 0; j < count; j++) sum += exponentials[j] = Math.exp(scores[j] - maxScore);
  return exponentials.map((x) => x / sum);
}

export const maxAbsOf = (lines) =>
  lines.reduce((max, line) => line.reduce((a, x) => Math.max(a, Math.abs(x)), max), 0) || 1;
const maxGap = (a, b) => a.reduce((gap, x, i) => Math.max(gap, Math.abs(x - b[i])), 0);

// The calculation for the query and key of the state; null while data are missing. `visibleCount` is the number of keys
// that are not masked, `listed` the keys whose weighted values are drawn one by one, `others` the remaining keys,
// `traced` the model's own result.
/** @param {Side} side @param {State} state */
export function calculationOf(side, state) {
  const { kind, layer, head } = state;
  const [vectors, weights] = [side.vectors(kind, layer, head), side.weights(kind, layer, head)];
  if (!vectors || !weights) return null;
  const [count, d] = [vectors.scores.shape[1], vectors.query.shape[1]];
  const labels = side.labels(kind);
  const row = state.row < 0 ? openingRow(vectors.scores, kind, labels) : clampIndex(state.row, vectors.scores.shape[0]);
  const vector = (part, i) => part.values.subarray(i * d, (i + 1) * d);
  const visibleCount = kind === "decoder" ? row + 1 : count;
  const scores = vectors.scores.values.subarray(row * count, (row + 1) * count);
  const shares = softmaxOf(scores, visibleCount);
  const ranked = [...shares.keys()].slice(0, visibleCount).sort((a, b) => shares[b] - shares[a]);
  const column = state.column < 0 ? ranked[0] : clampIndex(state.column, count);
  const [q, k] = [vector(vectors.query, row), vector(vectors.key, column)];
  const product = side.score === "additive"
    ? q.map((x, i) => Math.tanh(x + k[i]))
    : Float64Array.from(q, (x, i) => x * k[i]);
  const dot = product.reduce((sum, x) => sum + x, 0);
  const listed = [...new Set([...ranked.slice(0, MAX_VALUE_STRIPS), ...(column < visibleCount ? [column] : [])])];
  const weightedValue = (j) => Float64Array.from(vector(vectors.value, j), (x) => x * shares[j]);
  const sumOf = (keys) =>
    keys.map(weightedValue).reduce((sum, line) => sum.map((x, i) => x + line[i]), new Float64Array(d));
  const others = ranked.filter((j) => !listed.includes(j));
  return {
    kind,
    d,
    row,
    column,
    count,
    visibleCount,
    scores,
    shares,
    q,
    k,
    product,
    dot,
    listed,
    others,
    score: side.score === "scaled_dot" ? dot / Math.sqrt(d) : dot,
    value: (j) => vector(vectors.value, j),
    parts: listed.map(weightedValue),
    othersSum: sumOf(others),
    output: sumOf(ranked),
    traced: {
      weights: weights.values.subarray(row * count, (row + 1) * count),
      top: weights.top,
      output: vector(vectors.heads, row),
    },
    labels,
  };
}

// The query that the view opens with: a word of which one key, another word, gets clearly the most weight and not all.
function openingRow({ shape, values }, kind, { rows: queries, columns: keys }) {
  const [rows, count] = shape;
  const dullness = Array.from({ length: rows }, (_, row) => {
    const shares = softmaxOf(values.subarray(row * count, (row + 1) * count), kind === "decoder" ? row + 1 : count);
    const top = argmax(shares);
    const isSpecial = queries.special[row] || keys.special[top];
    const isItself = kind !== "cross" && top === row;
    return Math.abs(shares[top] - CLEAR_SHARE) + Number(isSpecial || isItself);
  });
  return dullness.indexOf(Math.min(...dullness));
}

// The six steps: a title of strings and tokens, a sentence, and a comparison with the trace.
/** @param {Side} side */
export function calculationSteps(w, side) {
  const [query, key] = [[w.labels.rows, w.row], [w.labels.columns, w.column]].map(([labels, i]) => ({
    token: labels.names[i],
    lang: labels.lang,
  }));
  const [traced, share] = [w.scores[w.column], w.shares[w.column]];
  const masked = w.column >= w.visibleCount;
  const checkOf = (formula, computed, traceValue) => ({
    text: `${formula} computed here ${fixed(computed)}, in the trace ${fixed(traceValue)}`,
    matches: Math.abs(computed - traceValue) < MAX_ROUNDING_GAP * Math.max(1, Math.abs(traceValue)),
  });
  const gap = maxGap(w.shares, w.traced.weights);
  const outputGap = maxGap(w.output, w.traced.output);
  const words = hasExactNames()
    ? ""
    : " There is one for each token, so tokens are shown here, not whole words; “…” marks a token that continues a word.";
  return [
    {
      title: ["The query of “", query, "”"],
      text:
        `This head multiplies the token's vector by its matrix W^Q and gets d_k = ${w.d} numbers: q. They are drawn in step 3, blue above zero, orange below.${words}`,
    },
    {
      title: ["The key of “", key, "”"],
      text: `With another matrix, W^K, it computes as many numbers for every token that may be attended to: k.`,
    },
    ...scoreSteps(w, side, traced, checkOf),
    {
      title: masked ? ["Mask: −∞, so the weight is 0"] : ["Softmax over all keys: a weight of ", fixed(share)],
      text:
        (w.kind === "decoder"
          ? `A token cannot attend to later tokens, which are not written yet: ${
            w.count - w.visibleCount
              ? `${w.count - w.visibleCount} keys get the score −∞ (hatched).`
              : "none here, since this is the last."
          } `
          : "No key is masked here: the whole source is visible. ") +
        "Then the exponential of each score is divided by their sum, so that the weights of the row sum to 1.",
      check: {
        text: `softmax computed here ${fixed(share)}, in the trace ${
          showWeight(w.traced.weights[w.column], w.traced.top)
        }`,
        matches: gap < Math.max(MAX_ROUNDING_GAP, 2 / w.traced.top),
      },
    },
    {
      title: ["The weighted sum of the values: the output for “", query, "”"],
      text:
        `Every key has a value, v: what it passes on if attended to. Each is multiplied by its weight α: a row here is α·v of one key. Their sum is the output of the head.`,
      check: {
        text: "Σ α·v computed here, compared with the output in the trace",
        matches: outputGap < MAX_ROUNDING_GAP * maxAbsOf([w.traced.output]) + MAX_ROUNDING_GAP,
      },
    },
  ];
}

// Steps 3 and 4 depend on the model's score function.
/** @param {Side} side */
function scoreSteps(w, side, traced, checkOf) {
  if (side.score === "additive") {
    return [
      {
        title: ["Add q and k, then apply tanh"],
        text:
          "This model uses an additive score, vᵀ·tanh(W q + U k) (Bahdanau et al. 2015), instead of a product. W and U are the projections W^Q and W^K, so the strip shows tanh(q + k).",
      },
      {
        title: ["The score, from the trace: ", fixed(traced)],
        text:
          "A learned vector v multiplies these numbers, and the products are summed. v is a parameter of the head and not in the trace; this score is not divided by √d_k.",
      },
    ];
  }
  const multiply = {
    title: ["Dot product: q·k = ", fixed(w.dot)],
    text: "The product is large where both numbers are large and have the same sign; opposite signs lower the score.",
  };
  if (side.score === "dot") {
    return [multiply, {
      title: ["The score is q·k itself"],
      text: "This model was trained without the division by √d_k, so there is nothing to divide.",
      check: checkOf("q·k", w.dot, traced),
    }];
  }
  const root = Math.sqrt(w.d);
  return [multiply, {
    title: [`Divide by √d_k = √${w.d} = ${fixed(root)}: the score is `, fixed(w.score)],
    text:
      "The more numbers are added, the larger the sums, and softmax would give nearly all weight to one key. The division prevents that.",
    check: checkOf("q·k/√d_k", w.score, traced),
  }];
}
