"""The boxes of the feed-forward network (section 3.3, eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.analysis.inside.add_norm import add_norm
from transformer.analysis.inside.variables import Block, Box, Kind, Variable
from transformer.config import Activation

MAX_UNITS = 16
"""Hidden units shown for each position."""
FFN = r"\mathrm{FFN}(x)"
CONVOLUTION = (
    "Section 3.3 describes the network also as two convolutions with kernel size 1. The dimensions "
    "are the channels, and the weights are the same, with an additional axis of length 1. No "
    "position affects another: this is what “position-wise” means."
)


@dataclass(frozen=True)
class ActivationText:
    """How an activation function is shown: in PyTorch, and in LaTeX of Z, its argument.

    Attributes:
        equation: of the hidden units, in the paper's notation.
        title: of the table of arguments; kind: of the results.
    """

    code: str
    latex: str
    equation: str
    explanation: str
    title: str = "Before the activation"
    kind: Kind = "signed"


ACTIVATIONS: dict[Activation, ActivationText] = {
    "relu": ActivationText(
        "z.clamp(min=0)",
        r"\max(0, Z)",
        r"a = \max(0,\ x W_1 + b_1)",
        "Applied to each position separately, with the same weights. Each of the d_ff units "
        "computes a weighted sum of the token's vector, and ReLU sets negative sums to 0. Units "
        "above 0 are active.",
        "Before ReLU",
        "positive",
    ),
    "swish": ActivationText(
        "z / (1 + (-z).exp())",
        r"\frac{Z}{1 + e^{-(Z)}}",
        r"a = z\,\sigma(z),\quad z = x W_1 + b_1",
        "Applied to each position separately, with the same weights. Each of the d_ff units "
        "computes a weighted sum of the token's vector. The paper uses ReLU; this model uses "
        "swish, z·σ(z), which is smooth and lets slightly negative values through. Units above 0 "
        "are active.",
    ),
    "gelu": ActivationText(
        "z / 2 * (1 + torch.erf(z / 2 ** 0.5))",
        r"\frac{Z}{2} \cdot \left(1 + \mathrm{erf}\left(\frac{Z}{\sqrt{2}}\right)\right)",
        r"a = z\,\Phi(z),\quad z = x W_1 + b_1",
        "Applied to each position separately, with the same weights. Each of the d_ff units "
        "computes a weighted sum of the token's vector. The paper uses ReLU; this model uses GELU, "
        "z·Φ(z), which is smooth and lets slightly negative values through. Units above 0 are "
        "active.",
    ),
}
"""By `ModelConfig.activation`."""


def feed_forward(block: Block) -> tuple[Box, ...]:
    """Return the boxes of a network, and the sum and norm after it."""
    return block.joined(
        block.input("x", "Input"),
        Variable("block", block.module),
        _hidden(block),
        _output(block),
        *add_norm(block, "ffn", FFN),
    )


def _hidden(block: Block) -> Box:
    d_ff, text = block.config.d_ff, ACTIVATIONS[block.config.activation]
    count = min(MAX_UNITS, d_ff)
    live = r"\frac{|\{u : a_u > 0\}|}{d_{ff}}"
    return block.box(
        "hidden",
        "FFN, hidden",
        "3.3, eq. 2",
        text.equation,
        text.explanation,
        Variable(
            "z",
            "x @ block.w_1.weight.T + block.w_1.bias",
            text.title,
            "z = x W_1 + b_1",
            ("L", "d_ff"),
            steps=(
                r"z_{r,c} = \sum_i x_{r,i}\, W_{i,c} + b_{c}",
                "= ⟨products(x[r], block.w_1.weight[c])⟩ + ⟨block.w_1.bias[c]⟩",
            ),
        ),
        Variable(
            "z_conv",
            "torch.nn.functional.conv1d(x.T, block.w_1.weight[:, :, None], block.w_1.bias).T",
            "The same as a convolution",
            r"z = \mathrm{conv}_1(x)",
            ("L", "d_ff"),
            steps=(
                r"\mathrm{conv}_1(x)_{r,c} = \sum_i x_{r,i}\, W_{c,i,1} + b_{c}",
                "= ⟨products(x[r], block.w_1.weight[c])⟩ + ⟨block.w_1.bias[c]⟩",
            ),
            note=CONVOLUTION,
            collapsed=True,
        ),
        Variable(
            "live",
            "(a > 0).float().mean(-1, keepdim=True)",
            "Share of active units",
            live,
            ("L", ""),
            steps=(live, rf"= \frac{{⟨(a[r] > 0).sum()⟩}}{{{d_ff}}}"),
            kind="share",
        ),
        Variable("units", f"a.topk({count}).indices"),
        Variable(
            "strongest",
            "a.gather(1, units)",
            "The strongest units",
            "a_u",
            ("L", "rank"),
            steps=(r"a_{r,u},\quad u = ⟨units[r, c]⟩",),
            kind=text.kind,
            labels="unit_labels(units)",
        ),
        Variable(
            "a",
            text.code,
            "Hidden units",
            "a",
            ("L", "d_ff"),
            steps=(
                f"a_{{r,c}} = {text.latex.replace('Z', 'z_{r,c}')}",
                f"= {text.latex.replace('Z', '⟨z[r, c]⟩')}",
            ),
            kind=text.kind,
            site=f"{block.path}.hook_hidden",
        ),
    )


def _output(block: Block) -> Box:
    return block.box(
        "output",
        "FFN, output",
        "3.3, eq. 2",
        rf"{FFN} = a W_2 + b_2",
        "Each active unit adds its own vector, a row of W₂ times its activation. The output of the "
        "network is their sum plus b₂.",
        Variable(
            "ffn_conv",
            "torch.nn.functional.conv1d(a.T, block.w_2.weight[:, :, None], block.w_2.bias).T",
            "The same as a convolution",
            rf"{FFN} = \mathrm{{conv}}_2(a)",
            steps=(
                r"\mathrm{conv}_2(a)_{r,c} = \sum_u a_{r,u}\, W_{c,u,1} + b_{c}",
                "= ⟨products(a[r], block.w_2.weight[c], 'u')⟩ + ⟨block.w_2.bias[c]⟩",
            ),
            note=CONVOLUTION,
            collapsed=True,
        ),
        Variable(
            "ffn",
            "a @ block.w_2.weight.T + block.w_2.bias",
            "Output of the network",
            FFN,
            steps=(
                rf"{FFN}_{{r,c}} = \sum_u a_{{r,u}}\, W_{{u,c}} + b_{{c}}",
                "= ⟨products(a[r], block.w_2.weight[c], 'u')⟩ + ⟨block.w_2.bias[c]⟩",
            ),
            site=f"{block.path}.hook_output",
        ),
    )
