"""Titles and texts of the boxes: the paper's equation, and its explanation.

Axes: "L" is the length of the block's own sequence, "K" that of the keys. A text that depends on
the model is a dictionary; its keys are described at `figure_boxes._select_text`.
"""

from __future__ import annotations

from dataclasses import dataclass

TextByModel = str | dict[str, str]
"""One text for all models, or texts by score function, positions, activation or location."""


@dataclass(frozen=True)
class BoxText:
    """The text of a box, independent of its location; see `Box`. `{module}` in `site` is the
    module's path."""

    step: str
    title: str
    section: str
    equation: TextByModel
    explanation: TextByModel
    axes: tuple[str, ...]
    site: str = ""
    by_head: bool = False


ADD_NORM = (
    BoxText(
        "add",
        "Add",
        "3.1",
        {
            "": r"r = x + \mathrm{Attention}(x)",
            "encoder.ffn": r"r = x + \mathrm{FFN}(x)",
            "decoder.ffn": r"r = x + \mathrm{FFN}(x)",
            "decoder.cross_attn": r"r = x + \mathrm{Attention}(x, m)",
        },
        "The output of the sublayer is added to its input (the residual connection). So the "
        "sublayer only has to compute the change. (In training, dropout is applied here too.)",
        ("L", "d_model"),
        "{module}_norm.hook_sum",
    ),
    BoxText(
        "norm",
        "LayerNorm",
        "3.1; Ba et al. 2016, eq. 4",
        r"y = \frac{r - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta,\quad "
        r"\mu = \frac{1}{d}\sum_i r_i,\ \sigma^2 = \frac{1}{d}\sum_i (r_i - \mu)^2",
        "Each token's vector is shifted to mean 0 and scaled to variance 1, using only its own "
        "numbers. Then every dimension has a learned gain γ and shift β. The norm comes after the "
        "sum (post-norm), as in the paper.",
        ("L", "d_model"),
        "{module}_norm.hook_output",
    ),
)

EMBED = (
    BoxText(
        "tokens",
        "Embedding",
        "3.4",
        {"unscaled": r"t = E[\mathrm{token}]", "": r"t = \sqrt{d_{model}}\; E[\mathrm{token}]"},
        {
            "unscaled": "Each token selects the row of the matrix E with its id. E serves both "
            "stacks and the output. The paper multiplies it by √d_model; this model does not.",
            "encoder.embed": "Each source token selects the row of the matrix E with its id. The "
            "row is multiplied by √d_model, so that it is not small compared with the positions "
            "that are added next. The same matrix serves both stacks, and the output.",
            "": "Each target token selects the row of the same matrix E with its id, times "
            "√d_model. The first one is <s>: the output is shifted right by one, so that a "
            "position never reads the token it has to predict.",
        },
        ("L", "d_model"),
        "{module}.hook_tokens",
    ),
    BoxText(
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
            "sinusoidal": "Attention alone ignores the order of tokens. Each position gets a "
            "vector of sines and cosines: fast waves in the first dimensions, slow ones in the "
            "last. Both dimensions of a pair have the same wavelength.",
            "learned": "Attention alone ignores the order of tokens. In this model each position "
            "has a learned vector, a row of a table (the paper's Table 3, row E).",
            "none": "Attention alone ignores the order of tokens, and this model gets no position "
            "information: zeros are added.",
        },
        ("L", "d_model"),
        "{module}.hook_positions",
    ),
    BoxText(
        "sum",
        "Sum",
        "3.5",
        r"x = t + PE",
        "Token embedding plus position vector: the first layer reads the sum. (In training, "
        "dropout is applied here too.)",
        ("L", "d_model"),
        "{module}.hook_output",
    ),
)


FEED_FORWARD = (
    BoxText(
        "hidden",
        "FFN, hidden",
        "3.3, eq. 2",
        {
            "swish": r"a = z\,\sigma(z),\quad z = x W_1 + b_1",
            "gelu": r"a = z\,\Phi(z),\quad z = x W_1 + b_1",
            "": r"a = \max(0,\ x W_1 + b_1)",
        },
        {
            "swish": "Applied to each position separately, with the same weights. Each of the "
            "d_ff units computes a weighted sum of the token's vector. The paper uses ReLU; this "
            "model uses swish, z·σ(z), which is smooth and lets slightly negative values through. "
            "Units above 0 are active.",
            "gelu": "Applied to each position separately, with the same weights. Each of the d_ff "
            "units computes a weighted sum of the token's vector. The paper uses ReLU; this model "
            "uses GELU, z·Φ(z), which is smooth and lets slightly negative values through. Units "
            "above 0 are active.",
            "": "Applied to each position separately, with the same weights. Each of the d_ff "
            "units computes a weighted sum of the token's vector, and ReLU sets negative sums to "
            "0. Units above 0 are active.",
        },
        ("L", "d_ff"),
        "{module}.hook_hidden",
    ),
    BoxText(
        "output",
        "FFN, output",
        "3.3, eq. 2",
        r"\mathrm{FFN}(x) = a W_2 + b_2",
        "Each active unit adds its own vector, a row of W₂ times its activation. The output of the "
        "network is their sum plus b₂.",
        ("L", "d_model"),
        "{module}.hook_output",
    ),
    *ADD_NORM,
)

MEMORY = (
    BoxText(
        "memory",
        "Memory",
        "3.1 and 3.2.3",
        r"m = y^{(N)}",
        "The output of the last encoder layer for each source token. It is computed once; every "
        "layer of the decoder computes its keys and values from it.",
        ("L", "d_model"),
        "encoder.hook_memory",
    ),
)

OUTPUT = (
    BoxText(
        "logits",
        "Linear",
        "3.4",
        {"output biased": r"z_v = y \cdot E[v] + b_v", "": r"z_v = y \cdot E[v]"},
        "The dot product of each decoder state with the embedding of every token of the "
        "vocabulary; v is the id of a token. The matrix is E again (tied weights), without "
        "√d_model. Only the ten highest logits of each position are shown.",
        ("L", "vocab"),
        "hook_logits",
    ),
    BoxText(
        "softmax",
        "Softmax",
        "3.4",
        r"P(v) = \frac{e^{z_v}}{\sum_u e^{z_u}}",
        "The logits become probabilities that sum to 1 over the whole vocabulary. Only the ten "
        "highest of each position are shown.",
        ("L", "vocab"),
    ),
    BoxText(
        "choice",
        "Next token",
        "3.4",
        r"y_{t+1} = \arg\max_v P(v)",
        "Greedy decoding takes the most probable token and reads it at the next step; beam search, "
        "sampling or your own translation may choose another one. Decoding ends at </s>.",
        ("L",),
    ),
)
