"""LaTeX with numbers: the computation of one cell of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

MAX_TERMS = 4
"""Number of summands that are written out; the others are combined into one number."""
HEAD_NUMBER = "⟨head⟩"
"""Placeholder in LaTeX and titles for the number of the head that is shown."""

Values = Mapping[str, Any]
"""The tensors of a box by the names of their variables."""
Steps = Callable[[Values, int, int], Sequence[str]]
"""Function that returns the lines of LaTeX for a row and a column, except the number itself."""


def number(value: float | Tensor, digits: int = 4) -> str:
    """Format with this many significant digits: 0.1235, 1.2 · 10^{-5}, -∞; an integer as it is."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, int):
        return str(value)
    mantissa, _, exponent = f"{value:.{digits}g}".replace("inf", r"\infty").partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return mantissa.removeprefix("-") if not value else mantissa


def operand(value: float | Tensor) -> str:
    """Format a number that follows an operator: a negative one gets parentheses."""
    written = number(value)
    return f"({written})" if written.startswith("-") else written


def at(symbol: str, *indices: int | str) -> str:
    """Return a symbol with subscripts, such as "q_{3,i}"."""
    return f"{symbol}_{{{','.join(map(str, indices))}}}"


def terms(values: Tensor, summand: Callable[[int], str], index: str = "i") -> str:
    r"""Return Σ values: the largest summands in full, and the sum of all others.

    Args:
        summand: returns the LaTeX of summand i, such as "0.5 \cdot 2".
    """
    order = values.abs().argsort(descending=True, stable=True).tolist()
    parts = [rf"\underbrace{{{summand(i)}}}_{{{index}={i}}}" for i in order[:MAX_TERMS]]
    if remaining := order[MAX_TERMS:]:
        rest_sum = operand(values[remaining].sum())
        parts.append(rf"\underbrace{{{rest_sum}}}_{{{len(remaining)}\ \text{{more}}}}")
    return " + ".join(parts)


def products(a: Tensor, b: Tensor, index: str = "i") -> str:
    """Return Σ a_i · b_i."""
    return terms(a * b, lambda i: rf"{operand(a[i])} \cdot {operand(b[i])}", index)


def summands(values: Tensor, index: str = "i") -> str:
    """Return Σ values."""
    return terms(values, lambda i: operand(values[i]), index)


def powers_of_e(exponents: Tensor, index: str) -> str:
    """Return Σ e^{exponent}."""
    return terms(exponents.exp(), lambda i: f"e^{{{number(exponents[i])}}}", index)


def product_steps(
    symbols: Callable[[int, int], str],
    factors: Callable[[Values, int, int], tuple[Tensor, Tensor]],
    bias: Callable[[Values, int, int], Tensor] | None = None,
    index: str = "i",
) -> Steps:
    """Return the steps of a sum of products, Σ_i a_i · b_i, plus a bias.

    Args:
        symbols: returns the line with symbols, without the bias.
        factors: returns the vectors a and b.
        bias: returns the number that is added.
    """

    def steps(values: Values, r: int, c: int) -> list[str]:
        numbers = f"= {products(*factors(values, r, c), index)}"
        if bias is None:
            return [symbols(r, c), numbers]
        return [f"{symbols(r, c)} + b_{{{c}}}", f"{numbers} + {operand(bias(values, r, c))}"]

    return steps
