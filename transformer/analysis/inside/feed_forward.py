"""The boxes of the feed-forward network (section 3.3, eq. 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from transformer.analysis.inside import computations as compute
from transformer.analysis.inside.add_norm import add_norm
from transformer.analysis.inside.formulas import Steps, at, number, product_steps
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
    """How an activation function is shown: as a function, and in LaTeX of Z, its argument.

    Attributes:
        equation: of the hidden units, in the paper's notation.
        title: of the table of arguments; kind: of the results.
    """

    compute: Callable[[Tensor], Tensor]
    latex: str
    equation: str
    explanation: str
    title: str = "Before the activation"
    kind: Kind = "signed"


ACTIVATIONS: dict[Activation, ActivationText] = {
    "relu": ActivationText(
        compute.relu,
        r"\max(0, Z)",
        r"a = \max(0,\ x W_1 + b_1)",
        "Applied to each position separately, with the same weights. Each of the d_ff units "
        "computes a weighted sum of the token's vector, and ReLU sets negative sums to 0. Units "
        "above 0 are active.",
        "Before ReLU",
        "positive",
    ),
    "swish": ActivationText(
        compute.swish,
        r"\frac{Z}{1 + e^{-(Z)}}",
        r"a = z\,\sigma(z),\quad z = x W_1 + b_1",
        "Applied to each position separately, with the same weights. Each of the d_ff units "
        "computes a weighted sum of the token's vector. The paper uses ReLU; this model uses "
        "swish, z·σ(z), which is smooth and lets slightly negative values through. Units above 0 "
        "are active.",
    ),
    "gelu": ActivationText(
        compute.gelu,
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
        _hidden(block),
        _output(block),
        *add_norm(block, "ffn", FFN),
    )


def _hidden(block: Block) -> Box:
    d_ff, text = block.config.d_ff, ACTIVATIONS[block.config.activation]
    weight, bias = f"{block.path}.w_1.weight", f"{block.path}.w_1.bias"
    live = r"\frac{|\{u : a_u > 0\}|}{d_{ff}}"

    def steps(result: str, column: Callable[[int], str]) -> Steps:
        return product_steps(
            lambda r, c: rf"{at(result, r, c)} = \sum_i {at('x', r, 'i')}\, {column(c)}",
            lambda values, r, c: (values["x"][r], values[weight][c]),
            lambda values, r, c: values[bias][c],
        )

    return block.box(
        "hidden",
        "FFN, hidden",
        "3.3, eq. 2",
        text.equation,
        text.explanation,
        Variable(
            "z",
            compute.linear,
            ("x", weight, bias),
            text.title,
            "z = x W_1 + b_1",
            ("L", "d_ff"),
            steps=steps("z", lambda c: at("W", "i", c)),
        ),
        Variable(
            "z_conv",
            compute.convolution,
            ("x", weight, bias),
            "The same as a convolution",
            r"z = \mathrm{conv}_1(x)",
            ("L", "d_ff"),
            steps=steps(r"\mathrm{conv}_1(x)", lambda c: at("W", c, "i", 1)),
            note=CONVOLUTION,
            collapsed=True,
        ),
        Variable(
            "live",
            compute.share_above_0,
            ("a",),
            "Share of active units",
            live,
            ("L", ""),
            steps=lambda values, r, c: [
                live,
                rf"= \frac{{{number((values['a'][r] > 0).sum())}}}{{{d_ff}}}",
            ],
            kind="share",
        ),
        Variable("units", compute.highest, ("a", min(MAX_UNITS, d_ff))),
        Variable(
            "strongest",
            compute.pick,
            ("a", "units"),
            "The strongest units",
            "a_u",
            ("L", "rank"),
            steps=lambda values, r, c: [rf"{at('a', r, 'u')},\quad u = {values['units'][r, c]}"],
            kind=text.kind,
            labels="units",
        ),
        Variable(
            "a",
            text.compute,
            ("z",),
            "Hidden units",
            "a",
            ("L", "d_ff"),
            steps=lambda values, r, c: [
                f"{at('a', r, c)} = {text.latex.replace('Z', at('z', r, c))}",
                f"= {text.latex.replace('Z', number(values['z'][r, c]))}",
            ],
            kind=text.kind,
            site=f"{block.path}.hook_hidden",
        ),
    )


def _output(block: Block) -> Box:
    weight, bias = f"{block.path}.w_2.weight", f"{block.path}.w_2.bias"

    def steps(result: str, column: Callable[[int], str]) -> Steps:
        return product_steps(
            lambda r, c: rf"{at(result, r, c)} = \sum_u {at('a', r, 'u')}\, {column(c)}",
            lambda values, r, c: (values["a"][r], values[weight][c]),
            lambda values, r, c: values[bias][c],
            index="u",
        )

    return block.box(
        "output",
        "FFN, output",
        "3.3, eq. 2",
        rf"{FFN} = a W_2 + b_2",
        "Each active unit adds its own vector, a row of W₂ times its activation. The output of the "
        "network is their sum plus b₂.",
        Variable(
            "ffn_conv",
            compute.convolution,
            ("a", weight, bias),
            "The same as a convolution",
            rf"{FFN} = \mathrm{{conv}}_2(a)",
            steps=steps(r"\mathrm{conv}_2(a)", lambda c: at("W", c, "u", 1)),
            note=CONVOLUTION,
            collapsed=True,
        ),
        Variable(
            "ffn",
            compute.linear,
            ("a", weight, bias),
            "Output of the network",
            FFN,
            steps=steps(FFN, lambda c: at("W", "u", c)),
            site=f"{block.path}.hook_output",
        ),
    )
