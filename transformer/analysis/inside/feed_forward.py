"""Panels of the feed-forward network (section 3.3), unit by unit, and of the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from transformer.analysis.inside.context import (
    SINGLE_AXIS,
    Axis,
    Context,
    array,
    input_panel,
    multiply_transposed,
    numbered_axis,
    program,
    table,
)
from transformer.analysis.inside.panels import (
    Array,
    Code,
    Kind,
    Panel,
    format_number,
    format_signed,
    given_value,
    product_sum_latex,
)
from transformer.config import Activation

MAX_UNITS = 16
"""Hidden units shown for each position."""


@dataclass(frozen=True)
class ActivationFormula:
    """The activation function of the network: as a function, in LaTeX, and in PyTorch.

    `argument_title` is the title of its argument; `kind` is the kind of its results.
    """

    function: Callable[[Array], Array]
    latex: str
    code: str
    argument_title: str = "Before the activation"
    kind: Kind = "signed"

    def applied_to(self, z: str) -> str:
        """Return the function of `z` in LaTeX."""
        return self.latex.replace("Z", z)


ACTIVATIONS: dict[Activation, ActivationFormula] = {
    "relu": ActivationFormula(
        lambda z: np.maximum(z, 0), r"\max(0, Z)", "z.clamp(min=0)", "Before ReLU", "positive"
    ),
    "swish": ActivationFormula(
        lambda z: z / (1 + np.exp(-z)), r"\frac{Z}{1 + e^{-(Z)}}", "z / (1 + (-z).exp())"
    ),
    "gelu": ActivationFormula(
        lambda z: z / 2 * (1 + _erf(z)),
        r"\frac{Z}{2} \cdot \left(1 + \mathrm{erf}\left(\frac{Z}{\sqrt{2}}\right)\right)",
        "z / 2 * (1 + torch.erf(z / 2 ** 0.5))",
    ),
}
"""By `ModelConfig.activation`."""


def _erf(z: Array) -> Array:
    """Return erf(z/√2)."""
    return array(torch.erf(torch.from_numpy(z / 2**0.5)))


def hidden(ctx: Context) -> list[Panel]:
    """Compute x W_1 + b_1 and the activation; also which units are active, and the strongest
    ones."""
    config, source, formula = ctx.config, ctx.block_input[0], ACTIVATIONS[ctx.config.activation]
    x = input_panel(ctx, "x", "Input", "x", ctx.block_input, ctx.rows, ctx.model_axis)
    w, b = ctx.block.w_1.weight, array(ctx.block.w_1.bias)
    z = multiply_transposed(x.values, w) + b
    activations = ctx.verified(formula.function(z), ctx.box.site)
    units = numbered_axis(config.d_ff, "hidden unit")
    lines = [
        f"x = cache[{source!r}]",
        f"w_1 = {ctx.expression()}.w_1",
        "z = x @ w_1.weight.T + w_1.bias",
    ]

    def sum_derivation(row: int, column: int) -> list[str]:
        return [
            rf"z_{{{row},{column}}} = \sum_i x_{{{row},i}}\, W_{{i,{column}}} + b_{{{column}}}",
            f"= {product_sum_latex(x.values[row], array(w[column]))} + {format_signed(b[column])}",
        ]

    def derivation(row: int, column: int) -> list[str]:
        return [
            rf"a_{{{row},{column}}} = {formula.applied_to(f'z_{{{row},{column}}}')}",
            f"= {formula.applied_to(format_number(z[row, column]))}",
        ]

    sums = table(
        "z",
        formula.argument_title,
        "z = x W_1 + b_1",
        z,
        ctx.rows,
        units,
        sum_derivation,
        program([source], lines, "z[{r}, {c}]"),
        role="step",
    )
    lines.append(f"a = {formula.code}")
    code = program([source], lines, "a[{r}, {c}]")
    a = table(
        "a", "Hidden units", "a", activations, ctx.rows, units, derivation, code, kind=formula.kind
    )
    return [x, sums, _active_units(ctx, z, lines), _strongest(ctx, activations, lines), a]


def _active_units(ctx: Context, z: Array, lines: list[str]) -> Panel:
    """Return the share of units above 0 at each position."""
    counts = (z > 0).sum(axis=1)
    active_share = counts[:, None] / z.shape[1]

    def derivation(row: int, column: int) -> list[str]:
        return [r"\frac{|\{u : a_u > 0\}|}{d_{ff}}", rf"= \frac{{{counts[row]}}}{{{z.shape[1]}}}"]

    code = program([ctx.block_input[0]], lines, "(a[{r}] > 0).float().mean()")
    title, symbol = "Share of active units", r"\frac{|\{u : a_u > 0\}|}{d_{ff}}"
    return table(
        "live",
        title,
        symbol,
        active_share,
        ctx.rows,
        SINGLE_AXIS,
        derivation,
        code,
        role="step",
        kind="share",
    )


def _strongest(ctx: Context, a: Array, lines: list[str]) -> Panel:
    """Return the units with the largest activations at each position."""
    count = min(MAX_UNITS, a.shape[1])
    units = np.argsort(-a, axis=1, kind="stable")[:, :count]
    values = np.take_along_axis(a, units, axis=1)

    def derivation(row: int, column: int) -> list[str]:
        return [rf"a_{{{row},u}},\quad u = {units[row, column]}"]

    def code(row: int, column: int) -> Code:
        return Code((ctx.block_input[0],), tuple(lines), f"a[{row}, {units[row, column]}]")

    return table(
        "strongest",
        "The strongest units",
        "a_u",
        values,
        ctx.rows,
        Axis(tuple(str(rank + 1) for rank in range(count)), "rank"),
        derivation,
        code,
        role="step",
        kind=ACTIVATIONS[ctx.config.activation].kind,
        cells=tuple(tuple(f"unit {unit}" for unit in row) for row in units),
    )


def output(ctx: Context) -> list[Panel]:
    """Compute a W_2 + b_2."""
    site = f"{ctx.path}.hook_hidden"
    units = numbered_axis(ctx.config.d_ff, "hidden unit")
    source = site, f"{ctx.name}.hidden"
    kind = ACTIVATIONS[ctx.config.activation].kind
    a = input_panel(ctx, "a", "Hidden units", "a", source, ctx.rows, units, kind=kind)
    w, b = ctx.block.w_2.weight, array(ctx.block.w_2.bias)
    outputs = ctx.verified(multiply_transposed(a.values, w) + b, ctx.box.site)

    def derivation(row: int, column: int) -> list[str]:
        product_sum = product_sum_latex(a.values[row], array(w[column]), "u")
        return [
            rf"\mathrm{{FFN}}(x)_{{{row},{column}}} = "
            rf"\sum_u a_{{{row},u}}\, W_{{u,{column}}} + b_{{{column}}}",
            f"= {product_sum} + {format_signed(b[column])}",
        ]

    lines = [
        f"a = cache[{site!r}]",
        f"w_2 = {ctx.expression()}.w_2",
        "y = a @ w_2.weight.T + w_2.bias",
    ]
    symbol, code = r"\mathrm{FFN}(x)", program([site], lines, "y[{r}, {c}]")
    title = "Output of the network"
    return [a, table("y", title, symbol, outputs, ctx.rows, ctx.model_axis, derivation, code)]


def memory(ctx: Context) -> list[Panel]:
    """Return the last encoder layer's output, unchanged."""
    source = ctx.block_input
    values = ctx.verified(ctx.activation(source[0]), ctx.box.site)
    code = program([source[0]], [f"m = cache[{source[0]!r}]"], "m[{r}, {c}]")
    derivation, title = given_value("m", values), "Memory"
    return [
        table("m", title, "m", values, ctx.rows, ctx.model_axis, derivation, code, origin=source[1])
    ]
