"""Panels of the input boxes: embedding, positions, their sum (sections 3.4 and 3.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transformer.analysis.inside import context
from transformer.analysis.inside.panels import (
    Array,
    Code,
    Derivation,
    Panel,
    format_number,
    format_signed,
    given_value,
)


def tokens(ctx: context.Context) -> list[Panel]:
    """Look up E[token], and multiply by √d_model unless the model has no such factor."""
    d_model, scaled = ctx.config.d_model, ctx.config.scale_embedding
    ids = np.array(ctx.trace.src_ids if ctx.ids == "src" else ctx.trace.tgt_ids)
    rows, columns = ctx.rows, ctx.model_axis
    token_rows = context.array(ctx.model.embedding.weight[ids])
    embeddings = ctx.verified(token_rows * ctx.config.embedding_scale, ctx.box.site)
    rows_code = f"model.embedding.weight[{ctx.ids}[0]]"

    def derivation(row: int, column: int) -> list[str]:
        if not scaled:
            return [
                rf"t_{{{row},{column}}} = E_{{{ids[row]},{column}}},"
                rf"\quad \mathrm{{id}} = {ids[row]}"
            ]
        return [
            rf"t_{{{row},{column}}} = \sqrt{{d_{{model}}}}\; E_{{{ids[row]},{column}}},"
            rf"\quad \mathrm{{id}} = {ids[row]}",
            rf"= \sqrt{{{d_model}}} \cdot {format_signed(token_rows[row, column])}",
        ]

    scale = f" * {d_model} ** 0.5" if scaled else ""
    code = context.program([], [f"e = {rows_code}", f"t = e{scale}"], "t[{r}, {c}]")
    title = _embedding_title(ctx)
    return [
        context.weight_panel(
            "e", "Rows of E", "E", token_rows, rows, columns, rows_code, "embedding.weight"
        ),
        context.table("t", title, "t", embeddings, rows, columns, derivation, code),
    ]


def _embedding_title(ctx: context.Context) -> str:
    return f"Embeddings{' × √d_model' if ctx.config.scale_embedding else ''}"


def positions(ctx: context.Context) -> list[Panel]:
    """Compute the positional encodings: sinusoidal, learned, or zeros if the model has none."""
    rows, columns = ctx.rows, ctx.model_axis
    kind = ctx.config.positions
    length = len(rows.labels)
    if kind == "sinusoidal":
        note = "In the formula, pos and i count from 0."
        encodings = ctx.verified(_sinusoids(length, ctx.config.d_model), ctx.box.site)
        derivation, code = _sinusoid_steps(ctx.config.d_model, encodings)
        pe = context.table(
            "pe", "Positional encodings", "PE", encodings, rows, columns, derivation, code
        )
        return [replace(pe, note=note)]
    encodings = ctx.verified(context.array(ctx.block.positions(length)), ctx.box.site)
    code = context.program([], [f"pe = {ctx.expression()}.positions({length})"], "pe[{r}, {c}]")
    learned = kind == "learned"
    title = "Learned positions" if learned else "No positions: zeros"
    origin = f"{ctx.path}.positions.weight" if learned else ""
    derivation = given_value("PE", encodings)
    return [
        context.table("pe", title, "PE", encodings, rows, columns, derivation, code, origin=origin)
    ]


def _sinusoids(length: int, d_model: int) -> Array:
    """Return the encodings of section 3.5: even dimensions are sines, odd ones cosines."""
    dimension = np.arange(d_model)
    angle = np.arange(length)[:, None] / 10000.0 ** ((dimension - dimension % 2) / d_model)
    return np.asarray(np.where(dimension % 2 == 0, np.sin(angle), np.cos(angle)))


def _sinusoid_steps(d_model: int, encodings: Array) -> tuple[Derivation, context.CodeOf]:
    def derivation(row: int, column: int) -> list[str]:
        wave, even = ("sin" if column % 2 == 0 else "cos"), column - column % 2
        angle = row / 10000 ** (even / d_model)
        return [
            rf"PE_{{{row},{column}}} = \{wave}\left(\frac{{pos}}"
            rf"{{10000^{{{even}/d_{{model}}}}}}\right),\quad pos = {row},\ 2i = {even}",
            rf"= \{wave}\left(\frac{{{row}}}{{10000^{{{even}/{d_model}}}}}\right)",
            rf"= \{wave}({format_number(angle, 8)})",
        ]

    def code(row: int, column: int) -> Code:
        wave, even = ("sin" if column % 2 == 0 else "cos"), column - column % 2
        lines = (f"angle = torch.tensor({row} / 10000 ** ({even} / {d_model}))",)
        return Code((), lines, f"torch.{wave}(angle)")

    return derivation, code


def embedding_sum(ctx: context.Context) -> list[Panel]:
    """Add embedding and position."""
    rows, columns = ctx.rows, ctx.model_axis
    sources = [
        (f"{ctx.path}.hook_{step}", f"{ctx.name}.{step}") for step in ("tokens", "positions")
    ]
    t, pe = (
        context.input_panel(ctx, name, title, symbol, source, rows, columns)
        for (name, title, symbol), source in zip(
            (("t", _embedding_title(ctx), "t"), ("pe", "Positional encodings", "PE")),
            sources,
            strict=True,
        )
    )
    total = ctx.verified(t.values + pe.values, ctx.box.site)

    def derivation(row: int, column: int) -> list[str]:
        parts = t.values[row, column], pe.values[row, column]
        return [
            rf"x_{{{row},{column}}} = t_{{{row},{column}}} + PE_{{{row},{column}}}",
            rf"= {format_number(parts[0])} + {format_signed(parts[1])}",
        ]

    lines = [f"t = cache[{sources[0][0]!r}]", f"pe = cache[{sources[1][0]!r}]", "x = t + pe"]
    code = context.program([site for site, _ in sources], lines, "x[{r}, {c}]")
    return [
        t,
        pe,
        context.table("x", "Input of the first layer", "x", total, rows, columns, derivation, code),
    ]
