"""Panels of one attention head after its scores: mask, softmax, values, W^O (section 3.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transformer.analysis.inside.attention_scores import axes, head_panel, pairs, site
from transformer.analysis.inside.context import (
    Axis,
    Context,
    array,
    input_panel,
    program,
    table,
    weight_panel,
)
from transformer.analysis.inside.panels import (
    Panel,
    format_number,
    format_signed,
    given_value,
    product_sum_latex,
    sum_latex,
)


def mask(ctx: Context) -> list[Panel]:
    """Set scores to −∞ where a query may not attend (section 3.2.3)."""
    source = site(ctx, "scores")
    before = ctx.activation(source)
    causal = ctx.box.stack == "decoder" and ctx.box.block == "self_attn"
    allowed = np.tri(*before.shape) if causal else np.ones(before.shape)
    masked = np.where(allowed > 0, before, -np.inf)
    lines = [
        f"s = cache[{source!r}][{ctx.head}]",
        f"allowed = torch.ones_like(s).bool(){'.tril()' if causal else ''}",
        "masked = s.masked_fill(~allowed, -torch.inf)",
    ]

    def derivation(row: int, column: int) -> list[str]:
        reason = r"j \le i" if causal else r"\text{no padding}"
        if not allowed[row, column]:
            reason = "j > i"
        term = rf"s'_{{{row},{column}}}" if allowed[row, column] else r"-\infty"
        return [rf"s''_{{{row},{column}}} = {term}\quad ({reason})"]

    origin = source, f"{ctx.name}.scale"
    scaled = input_panel(ctx, "scaled", "Scores", "s'", origin, *axes(ctx))
    symbol, mask_code = r"\mathrm{mask}", program([source], lines[:2], "allowed[{r}, {c}]")
    rule = given_value(symbol, allowed)
    mask_panel = pairs(ctx, "allowed", "Mask", symbol, allowed, rule, mask_code, "mask", "step")
    mask_panel = replace(mask_panel, note="1: the query may attend to the key. 0: it may not.")
    code, title = program([source], lines, "masked[{r}, {c}]"), "Masked scores"
    return [scaled, mask_panel, pairs(ctx, "masked", title, "s''", masked, derivation, code)]


def softmax(ctx: Context) -> list[Panel]:
    """Normalize e^score over each row."""
    before = mask(ctx)[-1]
    masked = replace(before, role="input", origin=f"{ctx.name}.mask")
    s = masked.values
    row_max = s.max(axis=-1, keepdims=True)
    exp = np.exp(s - row_max)
    shares = ctx.verified(exp / exp.sum(axis=-1, keepdims=True), ctx.box.site)
    sites, lines = before.code(0, 0).sites, before.code(0, 0).lines
    lines = (*lines, "e = (masked - masked.max(-1, keepdim=True).values).exp()")

    def power(row: int, column: int) -> list[str]:
        difference = f"{format_number(s[row, column])} - {format_signed(row_max[row, 0])}"
        return [
            rf"e_{{{row},{column}}} = e^{{s''_{{{row},{column}}} - \max_k s''_{{{row},k}}}}",
            rf"= e^{{{difference}}}",
        ]

    def derivation(row: int, column: int) -> list[str]:
        denominator = sum_latex(
            exp[row], lambda k: rf"e^{{{format_number(s[row, k] - row_max[row, 0])}}}", "k"
        )
        numerator = rf"e^{{{format_number(s[row, column] - row_max[row, 0])}}}"
        exponential = format_number(exp[row, column], 6)
        return [
            rf"M = \max_k s''_{{{row},k}} = {format_number(row_max[row, 0])}",
            rf"w_{{{row},{column}}} = \frac{{e^{{s''_{{{row},{column}}} - M}}}}"
            rf"{{\sum_k e^{{s''_{{{row},k}} - M}}}}",
            rf"= \frac{{{numerator}}}{{{denominator}}}",
            rf"= \frac{{{exponential}}}{{{format_number(exp[row].sum(), 6)}}}",
        ]

    powers_code = program(sites, lines, "e[{r}, {c}]")
    powers = pairs(
        ctx, "e", "Exponentials", "e^{s'' - M}", exp, power, powers_code, "share", "step"
    )
    note = (
        "M is the highest score of the row. Subtracting it divides numerator and denominator by "
        "the same number, so the weights do not change; it prevents overflow of the exponential."
    )
    weights_code = program(sites, (*lines, "w = e / e.sum(-1, keepdim=True)"), "w[{r}, {c}]")
    weights = pairs(
        ctx, "weights", "Attention weights", "w", shares, derivation, weights_code, "share"
    )
    return [masked, replace(powers, note=note), weights]


def heads(ctx: Context) -> list[Panel]:
    """Average the values, weighted by the attention weights."""
    source = site(ctx, "weights"), f"{ctx.name}.softmax"
    w = input_panel(ctx, "w", "Attention weights", "w", source, *axes(ctx), kind="share")
    v = head_panel(ctx, "value")
    mixed = ctx.verified(w.values @ v.values, ctx.box.site)
    symbol = _head_symbol(ctx.head)

    def derivation(row: int, column: int) -> list[str]:
        return [
            rf"{symbol}_{{{row},{column}}} = \sum_j w_{{{row},j}}\, v_{{j,{column}}}",
            f"= {product_sum_latex(w.values[row], v.values[:, column], 'j')}",
        ]

    sites = [source[0], site(ctx, "value")]
    names = zip("wv", sites, strict=True)
    lines = [f"{name} = cache[{hook!r}][{ctx.head}]" for name, hook in names]
    code = program(sites, [*lines, "head = w @ v"], "head[{r}, {c}]")
    title = f"Output of head {ctx.head}"
    return [w, v, table("head", title, symbol, mixed, ctx.rows, ctx.head_axis, derivation, code)]


def _head_symbol(head: int) -> str:
    """Return LaTeX of the output of one head, which takes subscripts for row and column."""
    return rf"\mathrm{{head}}^{{({head})}}"


def concat(ctx: Context) -> list[Panel]:
    """Concatenate all heads."""
    source, d_k = site(ctx, "heads"), ctx.d_k
    concatenated = np.hstack([head.astype(np.float64) for head in ctx.trace[source]])

    def derivation(row: int, column: int) -> list[str]:
        head, inner = divmod(column, d_k)
        return [
            rf"c_{{{row},{column}}} = {_head_symbol(head)}_{{{row},{inner}}},\quad "
            rf"{column} = {head} \cdot {d_k} + {inner}"
        ]

    lines = [f"heads = cache[{source!r}]", "c = torch.cat(tuple(heads), dim=-1)"]
    code = program([source], lines, "c[{r}, {c}]")
    labels = tuple(f"head {h}, {i}" for h in range(ctx.config.n_heads) for i in range(d_k))
    columns = Axis(labels, "head, and dimension of its output")
    return [
        table("c", "Outputs of all heads", "c", concatenated, ctx.rows, columns, derivation, code)
    ]


def output(ctx: Context) -> list[Panel]:
    """Apply W^O, split by heads: each contributes a vector, and the vectors are summed."""
    head, d_k, n_heads = ctx.head, ctx.d_k, ctx.config.n_heads
    source = site(ctx, "heads"), f"{ctx.name}.heads"
    symbol = _head_symbol(head)
    title = f"Output of head {head}"
    head_output = input_panel(ctx, "head", title, symbol, source, ctx.rows, ctx.head_axis)
    w_o = array(ctx.block.w_o).T
    head_rows = slice(head * d_k, (head + 1) * d_k)
    rows_code = f"{ctx.expression()}.w_o.T[{head_rows.start}:{head_rows.stop}]"
    rows, origin = f"W^O, rows of head {head}", f"{ctx.path}.w_o"
    w = weight_panel(
        "w",
        rows,
        f"W^O_{{{head}}}",
        w_o[head_rows],
        ctx.head_axis,
        ctx.model_axis,
        rows_code,
        origin,
    )
    contribution = head_output.values @ w_o[head_rows]
    head_outputs = ctx.trace[source[0]].astype(np.float64)
    parts = np.stack([head_outputs[h] @ w_o[h * d_k : (h + 1) * d_k] for h in range(n_heads)])
    biased = ctx.block.b_o is not None
    bias = array(ctx.block.b_o) if biased else np.zeros(ctx.config.d_model)
    total = ctx.verified(parts.sum(axis=0) + bias, ctx.box.site)

    def head_work(row: int, column: int) -> list[str]:
        return [
            rf"u^{{({head})}}_{{{row},{column}}} = "
            rf"\sum_i {symbol}_{{{row},i}}\, W^O_{{i,{column}}}",
            f"= {product_sum_latex(head_output.values[row], w_o[head_rows][:, column])}",
        ]

    def derivation(row: int, column: int) -> list[str]:
        by_head = parts[:, row, column]
        added = (f" + b_{{{column}}}", f" + {format_signed(bias[column])}") if biased else ("", "")
        return [
            rf"o_{{{row},{column}}} = \sum_h u^{{(h)}}_{{{row},{column}}}{added[0]}",
            f"= {sum_latex(by_head, lambda h: format_signed(by_head[h]), 'h')}{added[1]}",
        ]

    lines = [f"head = cache[{source[0]!r}][{head}]", f"u = head @ {rows_code}"]
    head_code = program([source[0]], lines, "u[{r}, {c}]")
    lines = [
        f"c = torch.cat(tuple(cache[{source[0]!r}]), dim=-1)",
        f"o = c @ {ctx.expression()}.w_o.T" + (f" + {ctx.expression()}.b_o" if biased else ""),
    ]
    code = program([source[0]], lines, "o[{r}, {c}]")
    head_symbol = f"u^{{({head})}} = {symbol}\\, W^O_{{{head}}}"
    title = f"Contribution of head {head}"
    return [
        head_output,
        w,
        table(
            "u",
            title,
            head_symbol,
            contribution,
            ctx.rows,
            ctx.model_axis,
            head_work,
            head_code,
            role="step",
        ),
        table("o", "Sum over the heads", "o", total, ctx.rows, ctx.model_axis, derivation, code),
    ]
