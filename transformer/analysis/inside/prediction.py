"""Panels of the output boxes: logits, softmax over the vocabulary, the chosen word (section
3.4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from transformer.analysis.inside.context import (
    SINGLE_AXIS,
    Axis,
    CodeOf,
    Context,
    array,
    input_panel,
    multiply_transposed,
    table,
)
from transformer.analysis.inside.panels import (
    Array,
    Code,
    Derivation,
    Panel,
    format_number,
    format_signed,
    product_sum_latex,
    sum_latex,
)

N_TOP_TOKENS = 10
"""Tokens shown for each position."""

_SITE = "hook_logits"
_READ_LOGITS = f"z = cache[{_SITE!r}]"
_SOFTMAX = ("e = (z - z.max(-1, keepdim=True).values).exp()", "p = e / e.sum(-1, keepdim=True)")

Ids = npt.NDArray[np.int64]


def logits(ctx: Context) -> list[Panel]:
    """Compare each state with the embedding of every token; show the highest logits."""
    source = ctx.block_input
    y = input_panel(ctx, "y", "Decoder states", "y", source, ctx.rows, ctx.model_axis)
    embedding = ctx.model.embedding.weight
    bias = ctx.model.output_bias
    bias_values = np.zeros(len(embedding)) if bias is None else array(bias)
    z = ctx.verified(multiply_transposed(y.values, embedding) + bias_values, ctx.box.site)
    ids, top_logits = _top_tokens(z)

    def derivation(row: int, column: int) -> list[str]:
        id = ids[row, column]
        bias_terms = (
            ("", "") if bias is None else (" + b_v", f" + {format_signed(bias_values[id])}")
        )
        return [
            rf"z_{{{row},v}} = \sum_i y_{{{row},i}}\, E_{{v,i}}{bias_terms[0]},\quad v = {id}",
            f"= {product_sum_latex(y.values[row], array(embedding[id]))}{bias_terms[1]}",
        ]

    bias_code = "" if bias is None else " + model.output_bias"
    lines = (f"y = cache[{source[0]!r}]", f"z = y @ model.embedding.weight.T{bias_code}")
    code = _token_code((source[0],), lines, "z", ids)
    return [y, _ranked(ctx, "z", "Logits", "z", top_logits, ids, derivation, code)]


def softmax(ctx: Context) -> list[Panel]:
    """Normalize the logits to probabilities."""
    z = ctx.activation(_SITE)
    row_max = z.max(axis=1)
    sums = np.exp(z - row_max[:, None]).sum(axis=1)
    ids, top_logits = _top_tokens(z)
    probabilities = np.exp(top_logits - row_max[:, None]) / sums[:, None]

    def given_logit(row: int, column: int) -> list[str]:
        return [rf"z_{{{row},v}},\quad v = {ids[row, column]}"]

    def derivation(row: int, column: int) -> list[str]:
        numerator = rf"e^{{{format_number(top_logits[row, column] - row_max[row])}}}"
        return [
            rf"M = \max_u z_u = {format_number(row_max[row])}",
            rf"P(v) = \frac{{e^{{z_v - M}}}}{{\sum_u e^{{z_u - M}}}},\quad v = {ids[row, column]}",
            rf"= \frac{{{numerator}}}{{{_denominator(ctx, row)}}}",
        ]

    logits_panel = _ranked(
        ctx,
        "z",
        "Logits",
        "z",
        top_logits,
        ids,
        given_logit,
        _token_code((_SITE,), (_READ_LOGITS,), "z", ids),
    )
    code = _token_code((_SITE,), (_READ_LOGITS, *_SOFTMAX), "p", ids)
    shares = _ranked(ctx, "p", "Probabilities", "P", probabilities, ids, derivation, code)
    return [
        replace(logits_panel, role="input", origin="output.logits"),
        replace(shares, kind="share"),
    ]


def choice(ctx: Context) -> list[Panel]:
    """Show the chosen token at each position: its probability and its rank."""
    z = ctx.activation(_SITE)
    row_max = z.max(axis=1)
    ids = np.array(ctx.trace.predicted_ids)[:, None]
    chosen_logits = np.take_along_axis(z, ids, axis=1)
    sums = np.exp(z - row_max[:, None]).sum(axis=1)
    probabilities = np.exp(chosen_logits - row_max[:, None]) / sums[:, None]
    ranks = (z > chosen_logits).sum(axis=1, keepdims=True) + 1.0

    def derivation(row: int, column: int) -> list[str]:
        return [
            rf"M = \max_u z_u = {format_number(row_max[row])}",
            rf"P(y_{{{row + 1}}}) = \frac{{e^{{z_v - M}}}}{{\sum_u e^{{z_u - M}}}},"
            rf"\quad v = {ids[row, 0]}",
            rf"= \frac{{e^{{{format_number(chosen_logits[row, 0] - row_max[row])}}}}}"
            rf"{{{_denominator(ctx, row)}}}",
        ]

    def rank_derivation(row: int, column: int) -> list[str]:
        return [r"\mathrm{rank} = 1 + |\{u : z_u > z_v\}|", f"= 1 + {int(ranks[row, 0]) - 1}"]

    code = _token_code((_SITE,), (_READ_LOGITS, *_SOFTMAX), "p", ids)

    def rank_code(row: int, column: int) -> Code:
        return Code((_SITE,), (_READ_LOGITS,), f"(z[{row}] > z[{row}, {ids[row, 0]}]).sum() + 1")

    word = _ranked(
        ctx, "p", "Probability of the chosen token", "P(y)", probabilities, ids, derivation, code
    )
    rank = _ranked(
        ctx,
        "rank",
        "Rank of the chosen token",
        r"\mathrm{rank}",
        ranks,
        ids,
        rank_derivation,
        rank_code,
    )
    note = (
        "Rank 1 is the most probable token. Greedy decoding takes it unless it is the "
        "padding token, <s> or the unknown token."
    )
    return [replace(rank, kind="count", role="step", note=note), replace(word, kind="share")]


def _top_tokens(z: Array) -> tuple[Ids, Array]:
    """Return the ids of the largest logits of each row, in descending order, and the logits."""
    ids: Ids = np.argsort(-z, axis=1, kind="stable")[:, : min(N_TOP_TOKENS, z.shape[1])]
    return ids, np.take_along_axis(z, ids, axis=1)


def _denominator(ctx: Context, row: int) -> str:
    """Return Σ e^(z − M) of one position, in LaTeX."""
    z = ctx.trace[_SITE][row].astype(np.float64)
    z -= z.max()
    return sum_latex(np.exp(z), lambda v: f"e^{{{format_number(z[v])}}}", "v")


def _token_code(sites: tuple[str, ...], lines: tuple[str, ...], name: str, ids: Ids) -> CodeOf:
    """Return the code of a table whose columns are ranks; it indexes by token id instead of
    rank."""
    return lambda row, column: Code(sites, lines, f"{name}[{row}, {ids[row, column]}]")


def _ranked(
    ctx: Context,
    name: str,
    title: str,
    symbol: str,
    values: Array,
    ids: Ids,
    derivation: Derivation,
    code: CodeOf,
) -> Panel:
    """Return a table with a token in each cell, by rank or the chosen one."""
    count = ids.shape[1]
    columns = SINGLE_AXIS if count == 1 else Axis(tuple(str(k + 1) for k in range(count)), "rank")
    cells = tuple(tuple(ctx.vocabulary.tokens(row)) for row in ids)
    return table(name, title, symbol, values, ctx.rows, columns, derivation, code, cells=cells)
