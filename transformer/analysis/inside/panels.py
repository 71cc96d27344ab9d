"""The contents of an opened box: tables of numbers, with the formula and the code of each
number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transformer.analysis.inside.figure_boxes import Box
from transformer.config import did_you_mean
from transformer.inference.trace import Trace

Array = npt.NDArray[np.float64]
Kind = Literal["signed", "positive", "share", "mask", "count"]
Role = Literal["input", "weight", "step", "result"]


@dataclass(frozen=True)
class Code:
    """How a program computes one number.

    Attributes:
        sites: hooks whose tensors the lines read, as `cache["name"]`, without the batch dimension.
        lines: statements that may use torch, `model`, `src`, `tgt` and `cache`.
        result: the expression for the number.
    """

    sites: tuple[str, ...]
    lines: tuple[str, ...]
    result: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One table of an opened box.

    Attributes:
        name: short and unique in its box: "x", "w", "q".
        title: in words.
        symbol: LaTeX of the whole table, such as q = x W^Q.
        values: (rows, columns); a masked score is −∞.
        rows: a label for each row: tokens, or names of dimensions.
        row_axis: title of the rows.
        columns: a label for each column.
        column_axis: title of the columns.
        kind: "signed" (around 0), "positive" (from 0 up), "share" (0 to 1), "mask" (0 or 1) or
            "count" (whole numbers).
        role: "input" was computed in another box, "weight" was learned, "step" is intermediate,
            "result" is the output of the box.
        derivation: the computation of one cell except its last line; see `worked_steps`.
        code: how a program computes it; see `snippet`.
        origin: the box that computes it, or the name of a weight; "" if it is computed here.
        note: an explanation, or "".
        cells: a label for each cell where columns are ranks: the tokens; else ().
    """

    name: str
    title: str
    symbol: str
    values: Array
    rows: tuple[str, ...]
    row_axis: str
    columns: tuple[str, ...]
    column_axis: str
    kind: Kind
    role: Role
    derivation: Callable[[int, int], list[str]] = field(repr=False)
    code: Callable[[int, int], Code] = field(repr=False)
    origin: str = ""
    note: str = ""
    cells: tuple[tuple[str, ...], ...] = ()

    def check(self, row: int, column: int) -> None:
        """Raise ValueError for a cell that does not exist."""
        rows, columns = self.values.shape
        if not (0 <= row < rows and 0 <= column < columns):
            raise ValueError(
                f"{self.title} has rows 0 to {rows - 1} and columns 0 to {columns - 1}; "
                f"there is no cell {row}, {column}."
            )


@dataclass(frozen=True, eq=False)
class OpenedBox:
    """A box with its numbers.

    Attributes:
        head: the head that the panels show, from 0; None for a box without heads.
        shape: of the box's output, in symbols and numbers, such as "n_heads × tgt × d_k = 8 × 6 ×
            32".
        panels: in the order inputs, weights, steps, result.
        trace: the trace that they are computed from.
    """

    box: Box
    head: int | None
    shape: str
    panels: tuple[Panel, ...]
    trace: Trace = field(repr=False)

    def panel(self, name: str) -> Panel:
        """Return a panel by name. Raises ValueError for an unknown name, listing the known ones."""
        for panel in self.panels:
            if panel.name == name:
                return panel
        names = [panel.name for panel in self.panels]
        raise ValueError(
            f"{self.box.name} has no panel {name!r}; it has "
            f"{', '.join(names)}{did_you_mean(name, names)}"
        )

    @property
    def result(self) -> Panel:
        """The output of the box."""
        return [panel for panel in self.panels if panel.role == "result"][-1]


Vector = npt.NDArray[np.floating[Any]]
Derivation = Callable[[int, int], list[str]]
"""Returns the lines of a computation except the last, which is the number of the cell."""

MAX_TERMS = 4
"""Number of summands that are written out; the others are combined into one number."""


def worked_steps(panel: Panel, row: int, column: int) -> list[str]:
    """Return the computation of the number in this cell: a line with symbols, then lines with
    numbers.

    The last line ends with the number itself. Lines are LaTeX without dollar signs. Raises
    ValueError for a cell that does not exist.
    """
    panel.check(row, column)
    value = panel.values[row, column]
    return [
        *panel.derivation(row, column),
        f"= {int(value) if panel.kind == 'count' else format_number(value)}",
    ]


def format_number(value: float, digits: int = 4) -> str:
    """Format with this many significant digits: 0.1235, 1.2 · 10^{-5}, -∞."""
    if np.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return "0" if float(text) == 0 else text


def format_signed(value: float) -> str:
    """Format a number that follows another sign: (-0.1235)."""
    text = format_number(value)
    return f"({text})" if text.startswith("-") else text


def sum_latex(values: Vector, write: Callable[[int], str], index: str = "i") -> str:
    """Return Σ values in LaTeX: the largest summands formatted by `write`, and the sum of all
    others."""
    order = np.argsort(-np.abs(values), kind="stable")
    largest, remaining = order[:MAX_TERMS], order[MAX_TERMS:]
    parts = [rf"\underbrace{{{write(int(i))}}}_{{{index}={i}}}" for i in largest]
    if len(remaining):
        rest_sum = format_signed(float(values[remaining].sum()))
        parts.append(rf"\underbrace{{{rest_sum}}}_{{{len(remaining)}\ \text{{more}}}}")
    return " + ".join(parts)


def product_sum_latex(a: Vector, b: Vector, index: str = "i") -> str:
    """Return Σ a_i · b_i in LaTeX."""
    return sum_latex(
        a * b, lambda i: rf"{format_signed(float(a[i]))} \cdot {format_signed(float(b[i]))}", index
    )


def given_value(symbol: str, values: npt.NDArray[Any]) -> Derivation:
    """Return the text of a number that is not computed here, such as an input or a weight."""
    grouped = rf"\left({symbol}\right)" if "_" in symbol else symbol
    rows, columns = values.shape

    def derivation(row: int, column: int) -> list[str]:
        subscript = row if columns == 1 else column if rows == 1 else f"{row},{column}"
        return [f"{grouped}_{{{subscript}}}"]

    return derivation
