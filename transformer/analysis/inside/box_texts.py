"""What the boxes are called, and what is said of each: the paper's equation, in plain words.

Axes: "L" is the length of the block's own sequence, "K" that of the keys. Where a text is a
dictionary, the model's score or positions choose, or the place, else "".
"""

from __future__ import annotations

from dataclasses import dataclass

Words = str | dict[str, str]


@dataclass(frozen=True)
class Text:
    """A box before it has a place; see `Box`. `{module}` in `site` is its module's path."""

    step: str
    title: str
    section: str
    equation: Words
    words: Words
    axes: tuple[str, ...]
    site: str = ""
    by_head: bool = False


ADD_NORM = (
    Text(
        "add",
        "Add",
        "3.1",
        {
            "": r"r = x + \mathrm{Attention}(x)",
            "encoder.ffn": r"r = x + \mathrm{FFN}(x)",
            "decoder.ffn": r"r = x + \mathrm{FFN}(x)",
        },
        "What the sublayer says is added to what went into it. So there is a way past every "
        "sublayer, which only has to say what it changes. (Dropout sits here too, while training.)",
        ("L", "d_model"),
        "{module}_norm.hook_sum",
    ),
    Text(
        "norm",
        "LayerNorm",
        "3.1; Ba et al. 2016, eq. 4",
        r"y = \frac{r - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta,\quad "
        r"\mu = \frac{1}{d}\sum_i r_i,\ \sigma^2 = \frac{1}{d}\sum_i (r_i - \mu)^2",
        "Each token's vector is moved to mean 0 and stretched to variance 1, by its own numbers "
        "alone. Then every dimension has a learned gain γ and shift β. The norm comes after the "
        "sum (post-norm), as in the paper.",
        ("L", "d_model"),
        "{module}_norm.hook_output",
    ),
)

EMBED = (
    Text(
        "tokens",
        "Embedding",
        "3.4",
        {"unscaled": r"t = E[\mathrm{token}]", "": r"t = \sqrt{d_{model}}\; E[\mathrm{token}]"},
        {
            "unscaled": "Each token picks its row of the matrix E, which serves both stacks and "
            "the output. The paper multiplies it by √d_model; this model does not.",
            "encoder.embed": "Each token of the source picks its row of the matrix E. The row is "
            "multiplied by √d_model, so that it is not drowned by the positions that are added "
            "next. The same matrix serves both stacks, and the output.",
            "": "Each token written so far picks its row of the same matrix E, times √d_model. "
            "The first is <s>: the output is shifted right by one, so that a position never "
            "reads the token it has to say.",
        },
        ("L", "d_model"),
        "{module}.hook_tokens",
    ),
    Text(
        "positions",
        "Positions",
        "3.5",
        {
            "sinusoidal": r"PE_{(pos,\,2i)} = \sin\frac{pos}{10000^{2i/d_{model}}},\quad "
            r"PE_{(pos,\,2i+1)} = \cos\frac{pos}{10000^{2i/d_{model}}}",
            "learned": r"PE_{pos} = P[pos]",
            "none": r"PE_{pos} = 0",
        },
        {
            "sinusoidal": "Attention has no order of its own. Each position gets a vector of "
            "waves, fast ones in the first dimensions and slow ones in the last. Sine and cosine "
            "of a pair share one wavelength.",
            "learned": "Attention has no order of its own. In this model each position has a "
            "vector that was learned, a row of a table (the paper's Table 3, row E).",
            "none": "Attention has no order of its own, and this model is told nothing about it: "
            "zeros are added.",
        },
        ("L", "d_model"),
        "{module}.hook_positions",
    ),
    Text(
        "sum",
        "Sum",
        "3.5",
        r"x = t + PE",
        "What the token is and where it stands, added: the first layer reads the sum. (Dropout "
        "sits here too, while training.)",
        ("L", "d_model"),
        "{module}.hook_output",
    ),
)


FEED_FORWARD = (
    Text(
        "hidden",
        "FFN, hidden",
        "3.3, eq. 2",
        {
            "swish": r"a = z\,\sigma(z),\quad z = x W_1 + b_1",
            "gelu": r"a = z\,\Phi(z),\quad z = x W_1 + b_1",
            "": r"a = \max(0,\ x W_1 + b_1)",
        },
        {
            "swish": "Each token alone, every position by the same weights: d_ff units look for a "
            "pattern in its vector. The paper cuts them at 0; this model has swish there, z·σ(z), "
            "which bends and lets a little below 0 through. Live are those above 0.",
            "gelu": "Each token alone, every position by the same weights: d_ff units look for a "
            "pattern in its vector. The paper cuts them at 0; this model has GELU there, z·Φ(z), "
            "which bends and lets a little below 0 through. Live are those above 0.",
            "": "Each token alone, every position by the same weights: d_ff units look for a "
            "pattern in its vector. One that finds none is cut to 0; the others are live.",
        },
        ("L", "d_ff"),
        "{module}.hook_hidden",
    ),
    Text(
        "output",
        "FFN, output",
        "3.3, eq. 2",
        r"\mathrm{FFN}(x) = a W_2 + b_2",
        "Each live unit writes its own vector, as loud as it is live; with b₂ they add up to what "
        "the network says.",
        ("L", "d_model"),
        "{module}.hook_output",
    ),
    *ADD_NORM,
)

MEMORY = (
    Text(
        "memory",
        "Memory",
        "3.1, 3.2.3",
        r"m = y^{(N)}",
        "What the last encoder layer says of each source token. It is computed once; every layer "
        "of the decoder makes its keys and values from it.",
        ("L", "d_model"),
        "encoder.hook_memory",
    ),
)

OUTPUT = (
    Text(
        "logits",
        "Linear",
        "3.4",
        {"output biased": r"z_v = y \cdot E[v] + b_v", "": r"z_v = y \cdot E[v]"},
        "Each decoder state is compared with the embedding of every token there is. The matrix is "
        "E again, tied, and without √d_model. Shown are the ten highest of each position.",
        ("L", "vocab"),
        "hook_logits",
    ),
    Text(
        "softmax",
        "Softmax",
        "3.4",
        r"P(v) = \frac{e^{z_v}}{\sum_u e^{z_u}}",
        "The logits become probabilities over the whole vocabulary. Shown are the ten highest of "
        "each position.",
        ("L", "vocab"),
    ),
    Text(
        "choice",
        "The word",
        "3.4",
        r"y_{t+1} = \arg\max_v P(v)",
        "Greedy decoding takes the most probable token and reads it at the next step; beam search, "
        "sampling or a translation of your own may take another. It ends at </s>.",
        ("L",),
    ),
)
