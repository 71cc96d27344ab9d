"""Numbers worked out by hand, written as LaTeX.

The first line of a working has the symbols, the others the numbers: a line "= …" is the number of
the cell once more, a line "name = …" is something needed on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.analysis.inside.panels import Panel

Vector = npt.NDArray[np.floating[Any]]
Work = Callable[[int, int], list[str]]
"""The lines of a working but the last, which is the number of the cell."""

MAX_TERMS = 4
"""Summands that are written out; the others are one number together."""


def worked(panel: Panel, row: int, column: int) -> list[str]:
    """The number in this cell written out: a line with the symbols, then lines with the numbers.

    The last line ends with the number itself. Lines are LaTeX without dollar signs. Raises
    ValueError for a cell that is not there.
    """
    panel.check(row, column)
    value = panel.values[row, column]
    return [*panel.work(row, column), f"= {int(value) if panel.kind == 'count' else number(value)}"]


def number(value: float, digits: int = 4) -> str:
    """With so many significant digits: 0.1235, 1.2 · 10^{-5}, -∞."""
    if np.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return "0" if float(text) == 0 else text


def signed(value: float) -> str:
    """The same where it follows another sign: (-0.1235)."""
    text = number(value)
    return f"({text})" if text.startswith("-") else text


def summed(values: Vector, write: Callable[[int], str], index: str = "i") -> str:
    """Σ values: the largest summands as `write` has them, and all others together."""
    order = np.argsort(-np.abs(values), kind="stable")
    most, rest = order[:MAX_TERMS], order[MAX_TERMS:]
    parts = [rf"\underbrace{{{write(int(i))}}}_{{{index}={i}}}" for i in most]
    if len(rest):
        parts.append(
            rf"\underbrace{{{signed(float(values[rest].sum()))}}}_{{{len(rest)}\ \text{{more}}}}"
        )
    return " + ".join(parts)


def products(a: Vector, b: Vector, index: str = "i") -> str:
    """Σ a_i · b_i, written out."""
    return summed(a * b, lambda i: rf"{signed(float(a[i]))} \cdot {signed(float(b[i]))}", index)


def plain(symbol: str, values: npt.NDArray[Any]) -> Work:
    """A number that is not computed here: given, or learned."""
    whole = rf"\left({symbol}\right)" if "_" in symbol else symbol
    rows, columns = values.shape

    def work(row: int, column: int) -> list[str]:
        place = row if columns == 1 else column if rows == 1 else f"{row},{column}"
        return [f"{whole}_{{{place}}}"]

    return work
