// A run as one PyTorch file: the same kind of model, rule of the task and schedule, for a notebook or a course. It has only what the
// run uses, so that it reads like the paper, and draws its own examples.

import { readOff } from "../../common/head-codes.js";
import { substitution, TASKS } from "../../training/tasks.js";

const GENERATORS = {
  copy: `    letters = random.choices(ALPHABET[:LETTERS], k=random.randint(1, LONGEST))
    return letters, letters`,
  reverse: `    letters = random.choices(ALPHABET[:LETTERS], k=random.randint(1, LONGEST))
    return letters, letters[::-1]`,
  sort: `    letters = random.sample(ALPHABET, random.randint(1, LONGEST))
    return letters, sorted(letters)`,
  cipher: `    letters = random.choices(ALPHABET[:LETTERS], k=random.randint(1, LONGEST))
    return letters, [CIPHER[letter] for letter in letters]`,
  addition: `    lengths = random.randint(1, DIGITS), random.randint(1, DIGITS)
    a, b = (random.randrange(10 ** (n - 1) if n > 1 else 0, 10**n) for n in lengths)
    total = str(a + b)
    return list(f"{a}+{b}"), list(total[::-1] if LEAST_FIRST else total)`,
  dates:
    `    day = datetime.date.fromordinal(random.randrange(*(datetime.date(y, 1, 1).toordinal() for y in (2000, 2000 + YEARS))))
    month, number, year = day.strftime("%B").lower(), list(str(day.day)), list(str(day.year))
    styles = [number + [month] + year, [month] + number + [","] + year, [day.strftime("%A").lower(), ","] + number + [month] + year]
    return styles[random.randrange(STYLES)], list(day.isoformat())`,
  brackets: `    while True:
        source, open_kinds = [], []
        for _ in range(random.randint(1, LONGEST)):
            if open_kinds and random.random() < 0.5:
                source.append(")]}"[open_kinds.pop()])
            else:
                open_kinds.append(random.randrange(KINDS))
                source.append("([{"[open_kinds[-1]])
        if open_kinds:
            return source, [")]}"[kind] for kind in reversed(open_kinds)]`,
  induction: `    letters = random.sample(ALPHABET, random.randint(2, MAX_LETTERS))
    start = random.randrange(len(letters) - 1)
    return letters + ["|", letters[start]], letters[start + 1 :]`,
  modular: `    while True:  # 3 of 10 pairs are held out
        a, b = random.randrange(MODULUS), random.randrange(MODULUS)
        if (random.Random(a * MODULUS + b).random() < 0.3) == held_out:
            break
    return [f"n{a}", "-", f"n{b}"], [f"n{(a - b) % MODULUS}"]`,
};

/** @param {import("../../training/protocol.d.ts").Settings} settings @param {import("../../training/protocol.d.ts").PairData | null} pairs */
export function scriptFor(settings, pairs) {
  const task = TASKS[settings.task];
  if (settings.model !== "transformer") {
    throw new RangeError("Only a Transformer can be exported as a script; select a run of one.");
  }
  if (!GENERATORS[settings.task] && !pairs) {
    throw new RangeError("This task cannot be exported as a script; choose another one.");
  }
  const options = Object.entries(settings.options ?? {}).map(([name, value]) => `${name.toUpperCase()} = ${value}\n`)
    .join("") + (settings.task === "cipher" ? `CIPHER = ${JSON.stringify(substitution(settings.options.key))}\n` : "");
  const example = GENERATORS[settings.task]
    ? `${options}SYMBOLS = ${
      JSON.stringify(task.symbols)
    }\nALPHABET = "abcdefghijklmnopqrstuvwxyz"\n\n\ndef example(held_out=False):\n    """Draw a source and its target."""\n${
      GENERATORS[settings.task]
    }\n`
    : `PAIRS = ${
      JSON.stringify(pairs.train.map(([src, tgt]) => [src, tgt]))
    }\nSYMBOLS = sorted({word for pair in PAIRS for side in pair for word in side.split()})\n\n\ndef example(held_out=False):\n    """Draw a sentence and its translation."""\n    source, target = random.choice(PAIRS)\n    return source.split(), target.split()\n`;
  const off = [...readOff(settings.off, settings)].map((code) =>
    `("${{ e: "encoder", d: "decoder", c: "cross" }[code[0]]}", ${code.slice(1).replace(".", ", ")})`
  );
  const values = {
    ...settings,
    ...POSITIONS[settings.positions],
    example,
    off: off.length ? `OFF = {${off.join(", ")}}  # heads switched off\n` : "",
    ownHeads: off.length ? "        self.off = [head for head in range(HEADS) if (kind, layer, head) in OFF]\n" : "",
    switchOff: off.length ? "        heads = heads.clone()\n        heads[:, self.off] = 0\n" : "",
    ...SCORES[settings.score],
    mask: settings.causal ? ".tril()" : "",
  };
  return TEMPLATE.replace(/«(\w+)»/g, (_, name) => values[name]);
}

// The scores of attention, and the weights that they need.
const SCORES = {
  scaled_dot: { scores: "q @ k.transpose(2, 3) / math.sqrt(D_MODEL // HEADS)", ownScores: "" },
  dot: { scores: "q @ k.transpose(2, 3)", ownScores: "" },
  additive: {
    scores: 'torch.einsum("bhqkd,hd->bhqk", torch.tanh(q[:, :, :, None] + k[:, :, None]), self.score)',
    ownScores: `        size = D_MODEL // HEADS
        self.score = nn.Parameter((2 * torch.rand(HEADS, size) - 1) / math.sqrt(size))  # v of Bahdanau et al. 2015
`,
  },
};

// Where the encodings of positions come from, how they are added, and what the embedding of source and target needs.
const POSITIONS = {
  none: { table: "", encoding: "", added: "", given: "", ofSource: "", ofTarget: "" },
  learned: {
    table: "        self.learned = nn.ParameterList(torch.randn(128, D_MODEL) * D_MODEL**-0.5 for _ in range(2))\n",
    encoding: "",
    added: " + encoding[: ids.shape[1]]",
    given: ", encoding",
    ofSource: ", self.learned[0]",
    ofTarget: ", self.learned[1]",
  },
  sinusoidal: {
    table: "",
    encoding: `        position = torch.arange(ids.shape[1])[:, None]  # section 3.5
        angle = position / 10000 ** (torch.arange(0, D_MODEL, 2) / D_MODEL)
        encoding = torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)
`,
    added: " + encoding",
    given: "",
    ofSource: "",
    ofTarget: "",
  },
};

const TEMPLATE =
  `"""Train a small encoder-decoder Transformer ("Attention Is All You Need", Vaswani et al. 2017) and watch it learn.

Needs PyTorch. The settings are those of a run in Heads Up; change a line and run it again. PyTorch draws other random
numbers than the page, so the weights, the losses and the examples are not those of the run.
"""

import datetime
import math
import random

import torch
from torch import nn

LAYERS, HEADS, D_MODEL, D_FF = «n_layers», «n_heads», «d_model», «d_ff»
DROPOUT, LABEL_SMOOTHING = «dropout», «label_smoothing»
RATE, WARMUP, COOLDOWN, STEPS, BATCH = «learning_rate», «warmup», «cooldown», «steps», «batch»
CLIP_NORM, WEIGHT_DECAY, SEED = «clip_norm», «weight_decay», «seed»
«off»«example»

NAMES = ["<pad>", "<s>", "</s>", *SYMBOLS]
PAD, BOS, EOS = 0, 1, 2
ID = {name: number for number, name in enumerate(NAMES)}


class Attention(nn.Module):
    """Multi-head attention (section 3.2.2); \`self.weights\` are those of the last call."""

    def __init__(self, kind, layer):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(D_MODEL, D_MODEL, bias=False) for _ in range(4))
        for matrix in (self.q, self.k, self.v):
            nn.init.xavier_uniform_(matrix.weight, gain=math.sqrt(0.5))
        nn.init.xavier_uniform_(self.o.weight, gain=1 / math.sqrt(2 * LAYERS))
«ownScores»«ownHeads»
    def forward(self, x, memory, mask):
        split = lambda y: y.view(y.shape[0], y.shape[1], HEADS, D_MODEL // HEADS).transpose(1, 2)
        q, k, v = split(self.q(x)), split(self.k(memory)), split(self.v(memory))
        scores = «scores»
        self.weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        heads = self.weights @ v
«switchOff»        return self.o(heads.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of the encoder, or with cross-attention one of the decoder (section 3.1)."""

    def __init__(self, side, layer):
        super().__init__()
        self.self_attention = Attention(side, layer)
        self.cross_attention = Attention("cross", layer) if side == "decoder" else None
        self.feed_forward = nn.Sequential(nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL))
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(3))
        self.dropout = nn.Dropout(DROPOUT)
        nn.init.xavier_uniform_(self.feed_forward[0].weight)
        nn.init.xavier_uniform_(self.feed_forward[2].weight, gain=1 / math.sqrt(2 * LAYERS))
        nn.init.zeros_(self.feed_forward[0].bias)
        nn.init.zeros_(self.feed_forward[2].bias)

    def add_and_norm(self, i, x, sublayer):
        return self.norms[i](x + self.dropout(sublayer))

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.add_and_norm(0, x, self.self_attention(x, x, mask))
        if self.cross_attention is not None:
            x = self.add_and_norm(1, x, self.cross_attention(x, memory, memory_mask))
        return self.add_and_norm(2, x, self.feed_forward(x))


class Transformer(nn.Module):
    """Figure 1; source, target and output share one matrix of embeddings (section 3.4)."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(NAMES), D_MODEL)
        nn.init.normal_(self.embedding.weight, std=D_MODEL**-0.5)
        self.encoder = nn.ModuleList(Layer("encoder", i) for i in range(LAYERS))
        self.decoder = nn.ModuleList(Layer("decoder", i) for i in range(LAYERS))
        self.dropout = nn.Dropout(DROPOUT)
«table»
    def embed(self, ids«given»):
        x = self.embedding(ids) * math.sqrt(D_MODEL)
«encoding»        return self.dropout(x«added»)

    def forward(self, src, tgt):
        """Return logits (batch, target, symbols)."""
        src_mask = (src != PAD)[:, None, None]
        memory = self.embed(src«ofSource»)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        causal = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool)
        tgt_mask = causal«mask»[None, None]
        x = self.embed(tgt«ofTarget»)
        for layer in self.decoder:
            x = layer(x, tgt_mask, memory, src_mask)
        return x @ self.embedding.weight.T


def padded(sequences):
    longest = max(map(len, sequences))
    return torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in sequences])


def batch(count, held_out=False):
    """Return sources and targets; both end with </s>."""
    pairs = [example(held_out) for _ in range(count)]
    return [padded([[ID[name] for name in pair[side]] + [EOS] for pair in pairs]) for side in (0, 1)]


def rate(step):
    """Warm-up, then 1/sqrt(step) (equation 3), and at the end linearly to 0."""
    remaining = 1 - (step - 1) / STEPS
    value = RATE * min(math.sqrt(WARMUP / step), step / WARMUP)
    return value * min(1, remaining / COOLDOWN) if COOLDOWN else value


@torch.no_grad()
def decode(model, src, limit):
    """Write greedily, for all sources at once."""
    tgt = torch.full((len(src), 1), BOS)
    for _ in range(limit):
        tgt = torch.cat([tgt, model(src, tgt)[:, -1:].argmax(-1)], dim=1)
    return tgt[:, 1:]


def accuracy(model, count=500):
    model.eval()
    src, gold = batch(count, held_out=True)
    written = decode(model, src, gold.shape[1])
    until_end = (gold == EOS).cumsum(1) - (gold == EOS).int() == 0
    correct = ((written == gold) | ~until_end).all(1).float().mean()
    model.train()
    return correct.item()


def main():
    random.seed(SEED)
    torch.manual_seed(SEED)
    model = Transformer()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=WEIGHT_DECAY
    )
    loss_function = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=LABEL_SMOOTHING)
    for step in range(1, STEPS + 1):
        src, gold = batch(BATCH)
        tgt = torch.cat([torch.full((len(gold), 1), BOS), gold[:, :-1]], dim=1)
        loss = loss_function(model(src, tgt).flatten(0, 1), gold.flatten())
        optimizer.zero_grad()
        loss.backward()
        if CLIP_NORM:
            nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.step()
        if step % 100 == 0 or step == STEPS:
            print(f"step {step}: loss {loss.item():.3f}, {accuracy(model):.1%} of the outputs right")
    return model


if __name__ == "__main__":
    main()
`;
