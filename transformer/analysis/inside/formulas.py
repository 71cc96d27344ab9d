"""LaTeX with numbers: templates whose placeholders are torch expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

MAX_TERMS = 4
"""Number of summands that are written out; the others are combined into one number."""


def fill(template: str, row: int, column: int, variables: Mapping[str, Any]) -> str:
    """Return the template's LaTeX for one cell.

    A subscript `_{r,c}` is replaced by row and column. `⟨x[r, c] * 2⟩` is replaced by the value of
    this Python expression, in which `r` and `c` are row and column; a negative number that follows
    an operator gets parentheses.
    """
    by_letter = {"r": str(row), "c": str(column)}
    numbered = re.sub(
        r"_\{[^{}]*\}", lambda m: re.sub(r"\b[rc]\b", lambda n: by_letter[n[0]], m[0]), template
    )
    names = {"number": number, "products": products, "terms": terms, **variables}
    text, *placeholders = numbered.split("⟨")
    for placeholder in placeholders:
        expression, after = placeholder.split("⟩")
        text = _append(text, eval(expression, names, {"r": row, "c": column})) + after
    return text


def number(value: float | Tensor, digits: int = 4) -> str:
    """Format with this many significant digits: 0.1235, 1.2 · 10^{-5}, -∞; an integer as it is."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, int):
        return str(value)
    mantissa, _, exponent = f"{value:.{digits}g}".replace("inf", r"\infty").partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return mantissa.removeprefix("-") if not value else mantissa


def terms(values: Tensor, pattern: str, *operands: Tensor, index: str = "i") -> str:
    r"""Return Σ values: the largest summands in full, and the sum of all others.

    Args:
        pattern: of a summand, such as "# \cdot #", with "#" for the number of each operand.
    """
    order = values.abs().argsort(descending=True, stable=True).tolist()
    parts = []
    for i in order[:MAX_TERMS]:
        first, *rest = pattern.split("#")
        summand = f"+{first}"
        for operand, after in zip(operands, rest, strict=True):
            summand = _append(summand, operand[i]) + after
        parts.append(rf"\underbrace{{{summand[1:]}}}_{{{index}={i}}}")
    if remaining := order[MAX_TERMS:]:
        rest_sum = _append("+", values[remaining].sum())[1:]
        parts.append(rf"\underbrace{{{rest_sum}}}_{{{len(remaining)}\ \text{{more}}}}")
    return " + ".join(parts)


def products(a: Tensor, b: Tensor, index: str = "i") -> str:
    """Return Σ a_i · b_i."""
    return terms(a * b, r"# \cdot #", a, b, index=index)


def _append(text: str, value: str | float | Tensor) -> str:
    """Return the text with a number after it, in parentheses if it is negative and follows an
    operator."""
    if isinstance(value, str):
        return text + value
    written = number(value)
    follows_operator = text.rstrip().endswith(("+", "-", r"\cdot"))
    return text + (f"({written})" if written.startswith("-") and follows_operator else written)
