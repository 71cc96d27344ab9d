"""Panels that follow every sublayer: the residual sum and LayerNorm (section 3.1)."""

from __future__ import annotations

import numpy as np

from transformer.analysis.inside.context import (
    SINGLE_AXIS,
    Axis,
    Context,
    array,
    input_panel,
    program,
    table,
    weight_panel,
)
from transformer.analysis.inside.panels import (
    Array,
    Derivation,
    Kind,
    Panel,
    format_number,
    format_signed,
    sum_latex,
)


def add(ctx: Context) -> list[Panel]:
    """Add the sublayer's output to its input."""
    source = f"{ctx.path}.hook_output", f"{ctx.name}.output"
    symbol = r"\mathrm{FFN}(x)" if ctx.box.block == "ffn" else "o"
    x = input_panel(ctx, "x", "Input", "x", ctx.block_input, ctx.rows, ctx.model_axis)
    o = input_panel(ctx, "o", "Sublayer output", symbol, source, ctx.rows, ctx.model_axis)
    total = ctx.verified(x.values + o.values, ctx.box.site)

    def derivation(row: int, column: int) -> list[str]:
        a, b = x.values[row, column], o.values[row, column]
        return [
            rf"r_{{{row},{column}}} = x_{{{row},{column}}} + {symbol}_{{{row},{column}}}",
            f"= {format_number(a)} + {format_signed(b)}",
        ]

    sites = [ctx.block_input[0], source[0]]
    lines = [f"x = cache[{sites[0]!r}]", f"o = cache[{sites[1]!r}]", "r = x + o"]
    code = program(sites, lines, "r[{r}, {c}]")
    return [x, o, table("r", "Sum", "r", total, ctx.rows, ctx.model_axis, derivation, code)]


def norm(ctx: Context) -> list[Panel]:
    """Subtract the mean, divide by the standard deviation, apply γ and β (Ba et al. 2016, eq.
    4)."""
    path, rows = f"{ctx.path}_norm", ctx.rows
    layer = ctx.module(path).norm
    gain, shift, epsilon = array(layer.weight), array(layer.bias), float(layer.eps)
    site = f"{path}.hook_sum"
    r = input_panel(ctx, "r", "Sum", "r", (site, f"{ctx.name}.add"), rows, ctx.model_axis)
    mean = r.values.mean(axis=1, keepdims=True)
    variance = ((r.values - mean) ** 2).mean(axis=1, keepdims=True)
    hat = (r.values - mean) / np.sqrt(variance + epsilon)
    normed = ctx.verified(hat * gain + shift, ctx.box.site)
    lines = [
        f"r = cache[{site!r}]",
        "mean = r.mean(-1, keepdim=True)",
        "variance = ((r - mean) ** 2).mean(-1, keepdim=True)",
        f"hat = (r - mean) / (variance + {epsilon}) ** 0.5",
        f"norm = {ctx.expression(path)}.norm",
        "y = hat * norm.weight + norm.bias",
    ]

    def normalized(row: int, column: int) -> list[str]:
        inside = f"{format_number(r.values[row, column])} - {format_signed(mean[row, 0])}"
        root = rf"\sqrt{{{format_number(variance[row, 0])} + {format_number(epsilon)}}}"
        return [
            rf"\hat{{x}}_{{{row},{column}}} = \frac{{r_{{{row},{column}}} - \mu_{{{row}}}}}"
            rf"{{\sqrt{{\sigma^2_{{{row}}} + \varepsilon}}}}",
            rf"= \frac{{{inside}}}{{{root}}}",
        ]

    def derivation(row: int, column: int) -> list[str]:
        _, fraction = normalized(row, column)
        scaled = rf"\cdot {format_signed(gain[column])} + {format_signed(shift[column])}"
        return [
            rf"\mu_{{{row}}} = {format_number(mean[row, 0])},\quad "
            rf"\sigma^2_{{{row}}} = {format_number(variance[row, 0])}",
            rf"y_{{{row},{column}}} = \frac{{r_{{{row},{column}}} - \mu_{{{row}}}}}"
            rf"{{\sqrt{{\sigma^2_{{{row}}} + \varepsilon}}}}\,\gamma_{{{column}}} + "
            rf"\beta_{{{column}}}",
            f"{fraction} {scaled}",
            rf"= {format_signed(hat[row, column])} {scaled}",
        ]

    def parameter_panel(name: str, title: str, symbol: str, values: Array, weight: str) -> Panel:
        expression, origin = f"{ctx.expression(path)}.norm.{weight}[None]", f"{path}.norm.{weight}"
        return weight_panel(
            name, title, symbol, values[None], SINGLE_AXIS, ctx.model_axis, expression, origin
        )

    def step(
        name: str,
        title: str,
        symbol: str,
        values: Array,
        columns: Axis,
        cell_derivation: Derivation,
        n_lines: int,
        kind: Kind = "signed",
    ) -> Panel:
        code = program([site], lines[:n_lines], f"{name}[{{r}}, {{c}}]")
        return table(
            name,
            title,
            symbol,
            values,
            rows,
            columns,
            cell_derivation,
            code,
            role="step",
            kind=kind,
        )

    code = program([site], lines, "y[{r}, {c}]")
    return [
        r,
        step("mean", "Mean", r"\mu", mean, SINGLE_AXIS, _mean(r.values), 2),
        step(
            "variance",
            "Variance",
            r"\sigma^2",
            variance,
            SINGLE_AXIS,
            _variance(r.values),
            3,
            "positive",
        ),
        step(
            "hat",
            "Standardised: mean 0, variance 1",
            r"\hat{x}",
            hat,
            ctx.model_axis,
            normalized,
            4,
        ),
        parameter_panel("gain", "Gain γ", r"\gamma", gain, "weight"),
        parameter_panel("shift", "Shift β", r"\beta", shift, "bias"),
        table("y", "Normalised", "y", normed, rows, ctx.model_axis, derivation, code),
    ]


def _mean(values: Array) -> Derivation:
    count = values.shape[1]

    def derivation(row: int, column: int) -> list[str]:
        r = values[row]
        return [
            rf"\mu_{{{row}}} = \frac{{1}}{{{count}}} \sum_i r_{{{row},i}}",
            rf"= \frac{{1}}{{{count}}} \left({sum_latex(r, lambda i: format_signed(r[i]))}\right)",
            rf"= \frac{{1}}{{{count}}} \cdot {format_signed(r.sum())}",
        ]

    return derivation


def _variance(values: Array) -> Derivation:
    count = values.shape[1]

    def derivation(row: int, column: int) -> list[str]:
        r, mean = values[row], values[row].mean()
        squares = (r - mean) ** 2

        def write(i: int) -> str:
            return f"({format_number(r[i])} - {format_signed(mean)})^2"

        return [
            rf"\mu_{{{row}}} = {format_number(mean)}",
            rf"\sigma^2_{{{row}}} = \frac{{1}}{{{count}}} \sum_i (r_{{{row},i}} - \mu_{{{row}}})^2",
            rf"= \frac{{1}}{{{count}}} \left({sum_latex(squares, write)}\right)",
            rf"= \frac{{1}}{{{count}}} \cdot {format_number(squares.sum())}",
        ]

    return derivation
