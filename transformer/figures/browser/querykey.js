// How one weight comes about, number by number (eq. 1): a query, a key, their score, the softmax over
// all keys, and the values that are weighed with it. Everything is computed here from the vectors of
// the trace, and held against what the model computed.

const STRONGEST = 5; // values that get a strip of their own
const SHARP = 1e-3; // a difference that float32 and the packing cannot explain

const fixed = (x) => x.toFixed(4).replace("-", "−");
const plainToken = (text) => text.replace(/^▁(?=.)/, "");

function softmaxOf(scores, count) {
  const made = new Float64Array(scores.length); // the masked rest stays 0: exp(−∞)
  const most = Math.max(...scores.subarray(0, count));
  let sum = 0;
  for (let j = 0; j < count; j++) sum += made[j] = Math.exp(scores[j] - most);
  return made.map((x) => x / sum);
}

const mostOf = (lines) => lines.reduce((most, line) => line.reduce((a, x) => Math.max(a, Math.abs(x)), most), 0) || 1;
const greatestGap = (a, b) => a.reduce((gap, x, i) => Math.max(gap, Math.abs(x - b[i])), 0);

// The whole calculation for the query and the key that the state names; null while it is not here.
function workingOf(side, state) {
  const { kind, layer, head } = state;
  const [vectors, weights] = [side.vectors(kind, layer, head), side.weights(kind, layer, head)];
  if (!vectors || !weights) return null;
  const [count, d] = [vectors.scores.shape[1], vectors.query.shape[1]];
  const row = within(state.row, vectors.scores.shape[0]);
  const vector = (part, i) => part.values.subarray(i * d, (i + 1) * d);
  const seen = kind === "decoder" ? row + 1 : count;
  const scores = vectors.scores.values.subarray(row * count, (row + 1) * count);
  const shares = softmaxOf(scores, seen);
  const ranked = [...shares.keys()].slice(0, seen).sort((a, b) => shares[b] - shares[a]);
  const column = state.column < 0 ? ranked[0] : within(state.column, count);
  const [q, k] = [vector(vectors.query, row), vector(vectors.key, column)];
  const product = side.score === "additive" ? q.map((x, i) => Math.tanh(x + k[i])) : Float64Array.from(q, (x, i) => x * k[i]);
  const dot = product.reduce((sum, x) => sum + x, 0);
  const told = [...new Set([...ranked.slice(0, STRONGEST), ...(column < seen ? [column] : [])])];
  const weighed = (j) => Float64Array.from(vector(vectors.value, j), (x) => x * shares[j]);
  const sumOf = (keys) => keys.map(weighed).reduce((sum, line) => sum.map((x, i) => x + line[i]), new Float64Array(d));
  const others = ranked.filter((j) => !told.includes(j));
  return {
    kind, d, row, column, count, seen, scores, shares, q, k, product, dot, told, others,
    score: side.score === "scaled_dot" ? dot / Math.sqrt(d) : dot,
    value: (j) => vector(vectors.value, j),
    parts: told.map(weighed),
    rest: sumOf(others),
    output: sumOf(ranked),
    traced: { weights: weights.values.subarray(row * count, (row + 1) * count), top: weights.top, output: vector(vectors.heads, row) },
    labels: side.labels(kind),
  };
}

function queryKeyView(ctx) {
  let w = null;
  let dimension = -1; // under the pointer, in all strips at once
  // What a file holds is known before any of it is unpacked.
  const held = [...ctx.store.later.keys()].map((name) => name.match(/^0\.query\.(\w+)\.(\d+)\./)).filter(Boolean);

  const strips = makeStrips(ctx, () => pairLines(w, ctx.side), point);
  const values = makeStrips(ctx, () => valueLines(w), point);
  const bars = makeKeyBars(ctx, () => w, (column) => ctx.set({ row: w.row, column }));
  const queries = makeTokenList("Query: who asks", (row) => ctx.set({ row, column: -1 }));
  const keys = makeTokenList("Key: who is asked", (column) => ctx.set({ row: w.row, column }));
  const steps = el("ol", { class: "hu-work" });
  const body = el("div", {},
    el("p", { class: "hu-paper" }, "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V is eq. (1) of the paper, section 3.2.1. Here it is worked out for one query and one key, with the numbers of this head. Read Q as “what I am looking for”, K as “what I have”, V as “what I say if chosen”."),
    el("div", { class: "hu-pair" }, queries.node, keys.node), steps);
  const empty = el("div", { class: "hu-empty", role: "status", hidden: "" });
  const node = el("div", { class: "hu-querykey" }, empty, body);
  const places = [null, null, strips.node, null, bars.node, values.node];
  const parts = places.map((place) => {
    const one = { title: el("h4", {}), text: el("p", {}), check: el("p", { class: "hu-check" }) };
    steps.append(el("li", {}, one.title, one.text, place, one.check));
    return one;
  });

  function draw() {
    w = workingOf(ctx.side, ctx.state);
    [empty.hidden, body.hidden] = [Boolean(w), !w];
    if (!w) return empty.replaceChildren(...absence(ctx, held));
    if (dimension >= w.d) dimension = -1;
    const { rows, columns, writes } = w.labels;
    queries.draw(`${ctx.side.id} ${w.kind}`, rows.tokens, w.row, () => false, writes?.tokens);
    keys.draw(`${ctx.side.id} ${w.kind}`, columns.tokens, w.column, (j) => j >= w.seen);
    workSteps(w, ctx.side, ctx.state).forEach(({ title, text, check }, i) => {
      parts[i].title.replaceChildren(...title.map((part) => (part.token === undefined ? part : tokenText(part.token))));
      parts[i].text.textContent = text;
      parts[i].check.replaceChildren(...(check ? [el("b", {}, check.same ? "✓ " : "≠ "), check.text] : []));
      parts[i].check.classList.toggle("hu-differs", Boolean(check && !check.same));
    });
    drawPlots();
  }

  function drawPlots() {
    const [query, key] = [w.labels.rows.tokens[w.row], w.labels.columns.tokens[w.column]];
    strips.draw(dimension, `Query of ${query}, key of ${key} and what they make, ${w.d} numbers each. Shift and arrow keys read them.`);
    bars.draw(`Scores and weights of ${w.count} keys; ${key} has weight ${fixed(w.shares[w.column])}.`);
    values.draw(dimension, `The weighed values of the strongest keys and their sum, ${w.d} numbers each.`);
  }

  function point(next) {
    if (next === dimension) return;
    dimension = next;
    drawPlots();
  }

  node.addEventListener("keydown", (event) => {
    if (!w || !(event.key in ARROWS)) return;
    const [right, down] = ARROWS[event.key];
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey && right) {
      point(within(dimension + right, w.d));
      strips.tell(2);
    } else {
      const held = node.getRootNode().activeElement;
      const row = within(w.row + down, w.labels.rows.tokens.length);
      ctx.set({ row, column: within(w.column + right, w.count) });
      if (queries.node.contains(held)) queries.focus();
      if (keys.node.contains(held)) keys.focus();
    }
  });

  return {
    node,
    draw,
    options: [],
    keys: [["↑ and ↓", "another query"], ["← and →", "another key"], ["Shift ← and →", "read the strips, number by number"]],
    title: () => `Layer ${ctx.state.layer}, head ${ctx.state.head}`,
    code: () => `trace["${SITE_NAMES[ctx.state.kind].replace("{}", ctx.state.layer)}hook_query"][${ctx.state.head}]`,
    figure: () => w && workFigure(ctx, w, [null, null, strips, null, bars, values]),
    table: () => w && workTable(w, ctx),
  };
}

const SITE_NAMES = {
  encoder: "encoder.layers.{}.self_attn.",
  decoder: "decoder.layers.{}.self_attn.",
  cross: "decoder.layers.{}.cross_attn.",
};

// Why nothing is to be seen, and the way to where something is.
function absence(ctx, held) {
  const here = held.some(([, kind, layer]) => kind === ctx.state.kind && Number(layer) === ctx.state.layer);
  if (ctx.live || here) return ["The vectors of this head are on their way …"];
  if (!held.length) return ["The vectors of the heads are not in this file: they are many numbers. The app shows those of every head."];
  const [, kind, layer] = held[0];
  const go = el("button", { type: "button", class: "hu-button" }, `Show layer ${layer}, ${KINDS[kind]}`);
  go.addEventListener("click", () => ctx.set({ kind, layer: Number(layer) }));
  return [el("p", {}, `Queries, keys and values are many numbers: this file holds those of layer ${layer}, ${KINDS[kind]} only.`), go];
}

// The six steps: a title of strings and tokens, a sentence, and what the trace says of it.
function workSteps(w, side, state) {
  const [query, key] = [{ token: w.labels.rows.tokens[w.row] }, { token: w.labels.columns.tokens[w.column] }];
  const [traced, share] = [w.scores[w.column], w.shares[w.column]];
  const masked = w.column >= w.seen;
  const compare = (what, here, there) => ({ text: `${what} computed here ${fixed(here)}, in the trace ${fixed(there)}`, same: Math.abs(here - there) < SHARP * Math.max(1, Math.abs(there)) });
  const gap = greatestGap(w.shares, w.traced.weights);
  const apart = greatestGap(w.output, w.traced.output);
  const words = state.units === "words" ? " There is one for each piece, so pieces are shown here, not whole words." : "";
  return [
    { title: ["The query of “", query, "”: what it is looking for"], text: `This head makes d_k = ${w.d} numbers of the piece with its matrix W^Q: q. They are drawn in step 3, blue above zero, orange below.${words}` },
    { title: ["The key of “", key, "”: what it has"], text: `With another matrix, W^K, it makes as many numbers of every piece that can be looked at: k.` },
    ...comparing(w, side, traced, compare),
    {
      title: masked ? ["Mask: −∞, and so a weight of 0"] : ["Softmax over all keys: a weight of ", fixed(share)],
      text: (w.kind === "decoder"
        ? `A piece may not see those after it, which are not written yet: ${w.count - w.seen ? `${w.count - w.seen} keys get the score −∞ (hatched).` : "none here, since this is the last."} `
        : "No key is masked here: all of the source may be seen. ") + "Then e to the power of each score, divided by their sum, so that the weights of the row sum to 1.",
      check: { text: `softmax computed here ${fixed(share)}, in the trace ${showWeight(w.traced.weights[w.column], w.traced.top)}; greatest difference in the row ${gap.toExponential(0)}`, same: gap < Math.max(SHARP, 2 / w.traced.top) },
    },
    {
      title: ["The values, weighed and added: what “", query, "” gets"],
      text: `Every key has a value, v: what it says if chosen. Each is multiplied by its weight α: a row here is α·v of one key. Their sum is what leaves the head.`,
      check: { text: `Σ α·v computed here and in the trace: greatest difference ${apart.toExponential(0)}`, same: apart < SHARP * mostOf([w.traced.output]) + SHARP },
    },
  ];
}

// Steps 3 and 4 differ with the model's score function.
function comparing(w, side, traced, compare) {
  if (side.score === "additive") {
    return [
      { title: ["Add them, and tanh of each number"], text: "This model compares by an additive score, vᵀ·tanh(W q + U k) (Bahdanau et al. 2015): no product. W and U are the projections W^Q and W^K, so tanh(q + k) is what is drawn here." },
      { title: ["The score, from the trace: ", fixed(traced)], text: "A vector v, learned for each head, weighs these numbers and adds them up. It is a parameter of the model and not in the trace; no division by √d_k belongs to this score." },
    ];
  }
  const multiply = { title: ["Multiply number by number, and add up: q·k = ", fixed(w.dot)], text: "Where both are large with the same sign the product is large: they fit. Opposite signs count against it." };
  if (side.score === "dot") {
    return [multiply, { title: ["The score is q·k itself"], text: "This model was trained without the division by √d_k, so there is nothing to divide.", check: compare("q·k", w.dot, traced) }];
  }
  const root = Math.sqrt(w.d);
  return [multiply, {
    title: [`Divide by √d_k = √${w.d} = ${fixed(root)}: the score is `, fixed(w.score)],
    text: "The more numbers are added, the larger sums get, and softmax would give nearly everything to one key; the division keeps it moderate.",
    check: compare("q·k/√d_k", w.score, traced),
  }];
}

// The strips of the pair: query, key, and what they make. Both share a scale, the product has its own.
function pairLines(w, side) {
  const [query, key] = [w.labels.rows.tokens[w.row], w.labels.columns.tokens[w.column]];
  const most = mostOf([w.q, w.k]);
  const made = side.score === "additive" ? "tanh(q + k)" : "q × k";
  return [
    { parts: ["q", " · ", query], name: `q of ${plainToken(query)}`, values: w.q, most },
    { parts: ["k", " · ", key], name: `k of ${plainToken(key)}`, values: w.k, most },
    { parts: [made], name: made, values: w.product, most: mostOf([w.product]), strong: true },
  ];
}

// The values of the strongest keys, weighed; the others together; their sum.
function valueLines(w) {
  const most = mostOf([...w.parts, w.rest, w.output]);
  const lines = w.told.map((j, i) => {
    const token = w.labels.columns.tokens[j];
    return { parts: [w.shares[j].toFixed(2), " · ", token], name: `${fixed(w.shares[j])} · v of ${plainToken(token)}`, values: w.parts[i], most };
  });
  if (w.others.length) {
    const share = w.others.reduce((sum, j) => sum + w.shares[j], 0).toFixed(2);
    lines.push({ parts: [`${share} · ${w.others.length} others`], name: `the ${w.others.length} other keys together`, values: w.rest, most });
  }
  return [...lines, { parts: ["sum"], name: "Σ α·v", values: w.output, most, strong: true }];
}

// All steps below each other, as a picture to take away.
function workFigure(ctx, w, stages) {
  const steps = workSteps(w, ctx.side, ctx.state);
  const pictures = stages.map((stage) => stage?.figure());
  const width = pictures[2].width;
  let height = 0;
  const starts = pictures.map((picture, i) => {
    const start = height;
    height += 30 + (picture ? picture.height + 6 : 0) + (steps[i].check ? 22 : 0);
    return start;
  });
  const { text, muted, font } = ctx.look;
  const paint = (pen) => pictures.forEach((picture, i) => {
    pen.save();
    pen.translate(0, starts[i]);
    pen.textBaseline = "middle";
    pen.font = `600 14px ${font}`;
    pen.fillStyle = text;
    pen.fillText(shorten(pen, `${i + 1}. ${steps[i].title.map((part) => part.token ?? part).join("")}`, width), 0, 16);
    pen.translate(0, 30);
    if (picture) {
      pen.save();
      picture.paint(pen);
      pen.restore();
      pen.translate(0, picture.height + 6);
    }
    if (steps[i].check) {
      pen.font = `12px ${font}`;
      pen.fillStyle = muted;
      pen.fillText(shorten(pen, steps[i].check.text, width), 0, 8);
    }
    pen.restore();
  });
  return { title: ctx.title(), width, height, paint };
}

// First a row for each dimension, then one for each key.
function workTable(w, ctx) {
  const { rows, columns } = w.labels;
  const made = ctx.side.score === "additive" ? "tanh(q + k)" : "q × k";
  const pair = `“${rows.tokens[w.row]}” asks “${columns.tokens[w.column]}”`;
  return {
    caption: `Layer ${ctx.state.layer}, head ${ctx.state.head}, ${KINDS[w.kind]}: ${pair}`,
    columns: ["dimension", "q", "k", made, "v", "Σ α·v", "key", "score", "weight here", "weight in the trace"],
    rows: [
      ...Array.from(w.q, (x, i) => [i, x, w.k[i], w.product[i], w.value(w.column)[i], w.output[i], "", "", "", ""]),
      ...columns.tokens.map((token, j) =>
        ["", "", "", "", "", "", token, j < w.seen ? w.scores[j] : "−∞", w.shares[j], w.traced.weights[j]]),
    ],
  };
}

VIEWS["query-key"] = { label: "Query–key", make: queryKeyView, mosaic: true };
