"""Panels of one attention head up to its scores: Q, K, V, q·k, scaled (section 3.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transformer.analysis.inside.context import (
    SINGLE_AXIS,
    Axis,
    CodeOf,
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
    Role,
    format_number,
    format_signed,
    product_sum_latex,
    sum_latex,
)

_LETTERS = {"query": ("q", "Queries"), "key": ("k", "Keys"), "value": ("v", "Values")}


def site(ctx: Context, step: str) -> str:
    """Return the name of a hook of this attention: `hook_query`, `hook_scores`, …"""
    return f"{ctx.path}.hook_{step}"


def head_panel(ctx: Context, step: str) -> Panel:
    """Return the queries, keys or values that their own box computed."""
    name, title = _LETTERS[step]
    rows = ctx.rows if step == "query" else ctx.keys
    source = site(ctx, step), f"{ctx.name}.{step}"
    return input_panel(ctx, name, title, name, source, rows, ctx.head_axis)


def projection(ctx: Context) -> list[Panel]:
    """Compute Q, K or V of the head: the tokens' vectors times its matrix (section 3.2.2)."""
    step = ctx.box.step
    lower, title = _LETTERS[step]
    upper = lower.upper()
    rows, source = (ctx.rows, ctx.block_input) if step == "query" else (ctx.keys, ctx.key_input)
    letter, input_title = ("m", "Memory") if source[1] == "encoder.memory" else ("x", "Input")
    x = input_panel(ctx, letter, input_title, letter, source, rows, ctx.model_axis)
    head_rows = slice(ctx.head * ctx.d_k, (ctx.head + 1) * ctx.d_k)
    weight = array(getattr(ctx.block, f"w_{lower}"))[head_rows].T
    rows_code = f"{ctx.expression()}.w_{lower}[{head_rows.start}:{head_rows.stop}].T"
    symbol, origin = rf"W^{upper}_{{{ctx.head}}}", f"{ctx.path}.w_{lower}"
    name = f"W^{upper} of head {ctx.head}"
    w = weight_panel("w", name, symbol, weight, ctx.model_axis, ctx.head_axis, rows_code, origin)
    bias = array(ctx.block.bias(lower))[head_rows]
    projected = ctx.verified(x.values @ weight + bias, ctx.box.site)
    biased = ctx.config.biases

    def derivation(row: int, column: int) -> list[str]:
        added = (f" + b_{{{column}}}", f" + {format_signed(bias[column])}") if biased else ("", "")
        return [
            rf"{lower}_{{{row},{column}}} = \sum_i {letter}_{{{row},i}}\, W_{{i,{column}}}"
            + added[0],
            f"= {product_sum_latex(x.values[row], weight[:, column])}{added[1]}",
        ]

    lines = [f"{letter} = cache[{source[0]!r}]", f"w = {rows_code}", f"{lower} = {letter} @ w"]
    if biased:
        lines[-1] += f" + {ctx.expression()}.bias({lower!r})[{head_rows.start}:{head_rows.stop}]"
    code = program([source[0]], lines, f"{lower}[{{r}}, {{c}}]")
    return [x, w, table(lower, title, lower, projected, rows, ctx.head_axis, derivation, code)]


def scores(ctx: Context) -> list[Panel]:
    """Multiply every query with every key, before any scaling."""
    q, k = head_panel(ctx, "query"), head_panel(ctx, "key")
    if ctx.config.score == "additive":
        return _additive(ctx, q, k)
    dot_products = q.values @ k.values.T

    def derivation(row: int, column: int) -> list[str]:
        return [
            rf"s_{{{row},{column}}} = \sum_i q_{{{row},i}}\, k_{{{column},i}}",
            f"= {product_sum_latex(q.values[row], k.values[column])}",
        ]

    code = program(*_from_qk(ctx, "s = q @ k.T"), "s[{r}, {c}]")
    return [q, k, pairs(ctx, "s", "Scores", "s", dot_products, derivation, code)]


def _additive(ctx: Context, q: Panel, k: Panel) -> list[Panel]:
    """Compute v · tanh(q + k) (Bahdanau et al. 2015)."""
    v = array(ctx.block.score.v)[ctx.head]
    expression, origin = f"{ctx.expression()}.score.v[{ctx.head}]", f"{ctx.path}.score.v"
    weight = weight_panel(
        "v", "v", "v", v[None], SINGLE_AXIS, ctx.head_axis, f"{expression}[None]", origin
    )
    by_query = [np.tanh(query + k.values) @ v for query in q.values]
    values = ctx.verified(np.stack(by_query), site(ctx, "scores"))

    def derivation(row: int, column: int) -> list[str]:
        a, b = q.values[row], k.values[column]

        def write(i: int) -> str:
            return (
                rf"{format_signed(v[i])} \cdot \tanh({format_number(a[i])} + {format_signed(b[i])})"
            )

        return [
            rf"s_{{{row},{column}}} = \sum_i v_i \tanh(q_{{{row},i}} + k_{{{column},i}})",
            f"= {sum_latex(v * np.tanh(a + b), write)}",
        ]

    lines = [f"v = {expression}", "s = torch.tanh(q[:, None] + k) @ v"]
    code = program(*_from_qk(ctx, *lines), "s[{r}, {c}]")
    return [q, k, weight, pairs(ctx, "s", "Scores", "s", values, derivation, code)]


def scale(ctx: Context) -> list[Panel]:
    """Divide the scores by √d_k, or leave them unchanged."""
    before = scores(ctx)[-1]
    s = replace(before, role="input", origin=f"{ctx.name}.scores")
    if ctx.config.score != "scaled_dot":
        scaled = ctx.verified(s.values, ctx.box.site)

        def unscaled(row: int, column: int) -> list[str]:
            return [rf"s'_{{{row},{column}}} = s_{{{row},{column}}}"]

        return [s, pairs(ctx, "scaled", "Scores, not scaled", "s'", scaled, unscaled, s.code)]
    scaled = ctx.verified(s.values / ctx.d_k**0.5, ctx.box.site)

    def derivation(row: int, column: int) -> list[str]:
        return [
            rf"s'_{{{row},{column}}} = \frac{{s_{{{row},{column}}}}}{{\sqrt{{d_k}}}}",
            rf"= \frac{{{format_number(s.values[row, column])}}}{{\sqrt{{{ctx.d_k}}}}}",
        ]

    lines = ["s = q @ k.T", f"scaled = s / {ctx.d_k} ** 0.5"]
    code = program(*_from_qk(ctx, *lines), "scaled[{r}, {c}]")
    return [s, pairs(ctx, "scaled", "Scores ÷ √d_k", "s'", scaled, derivation, code)]


def axes(ctx: Context) -> tuple[Axis, Axis]:
    """Return queries as rows and keys as columns."""
    rows, keys = ctx.rows, ctx.keys
    return Axis(rows.labels, f"query: {rows.title}"), Axis(keys.labels, f"key: {keys.title}")


def pairs(
    ctx: Context,
    name: str,
    title: str,
    symbol: str,
    values: Array,
    derivation: Derivation,
    code: CodeOf,
    kind: Kind = "signed",
    role: Role = "result",
) -> Panel:
    """Return a panel with a number for every query and key."""
    return table(name, title, symbol, values, *axes(ctx), derivation, code, kind=kind, role=role)


def _from_qk(ctx: Context, *lines: str) -> tuple[list[str], list[str]]:
    """Return hooks and lines of a program that starts from queries and keys."""
    sites = [site(ctx, "query"), site(ctx, "key")]
    names = zip("qk", sites, strict=True)
    return sites, [*(f"{name} = cache[{hook!r}][{ctx.head}]" for name, hook in names), *lines]
