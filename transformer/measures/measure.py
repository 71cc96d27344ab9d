"""What a measure of a head is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float

from transformer.measures.rows import Rows, RowWeights

KINDS = ("encoder", "decoder", "cross")
GROUPS = ("shape", "place", "token", "grammar", "translation")
"""In this order measures are offered."""


def all_rows(rows: Rows) -> Bool[np.ndarray, "sentences query"]:
    """All rows count."""
    return rows.real


@dataclass(frozen=True)
class PublishedClaim:
    """A published finding: some head does what a measure says.

    Attributes:
        text: in a sentence; source: whose, and where.
        floor: what the measure must exceed, a share of the rows.
        kind, layer: of the heads that it is said of; None is every layer.
    """

    text: str
    source: str
    floor: float
    kind: str = "encoder"
    layer: int | None = None


@dataclass(frozen=True)
class Measure:
    """A mean over rows of attention, a number for each head.

    Attributes:
        name: in addresses, tables and files.
        label: in lists and above figures.
        note: what it says, and where it comes from.
        function: the value of every row, (sentences, heads, query).
        unit: of the value; "" is a share of the row's weight or of the rows, 0 to 1.
        kinds: of attention, for which it has a meaning.
        counts: the rows that it applies to, (sentences, query).
        group: one of `GROUPS`.
        lacking: why a corpus may have no row that counts, as the end of a sentence.
        claim: what was published of it, for Findings; of a share alone.
    """

    name: str
    label: str
    note: str
    function: Callable[[RowWeights], Float[np.ndarray, "sentences heads query"]]
    unit: str = ""
    kinds: tuple[str, ...] = KINDS
    counts: Callable[[Rows], Bool[np.ndarray, "sentences #query"]] = all_rows
    group: str = "token"
    missing_reason: str = "none has such a token"
    claim: PublishedClaim | None = None

    def applicable_rows(self, rows: Rows) -> Bool[np.ndarray, "sentences query"]:
        """The rows that count: real ones, no padding."""
        return np.asarray(self.counts(rows) & rows.real)

    def means(self, attention: RowWeights) -> Float[np.ndarray, "sentences heads"]:
        """Over the rows of each sentence that count; NaN where there is none."""
        applicable = self.applicable_rows(attention.rows)
        total = (self.function(attention) * applicable[:, None]).sum(axis=-1, dtype=np.float64)
        n = applicable.sum(axis=-1)[:, None]
        return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def format_value(value: float | None, unit: str = "") -> str:
    """A number with its unit, as pages write it."""
    if value is None:
        return "–"
    if not unit:
        return f"{value:.0%}"
    return f"{value:.{2 if unit == 'bits' else 1}f} {unit}"


def checked_weights(weights: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Weights in float64, where sums of many are exact enough; none above 1."""
    if not weights.size:
        raise ValueError(f"There is nothing to measure in weights of shape {weights.shape}.")
    # Written so that a weight which is no number fails too.
    if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
        raise ValueError(
            f"The weights go from {weights.min()} to {weights.max()}; "
            "attention weights lie within 0 and 1."
        )
    return np.asarray(np.minimum(weights, 1.0, dtype=np.float64))


def column_index(column: int, count: int) -> int:
    """From 0; raises ValueError for one that is not there."""
    if not -count <= column < count:
        raise ValueError(f"There is no column {column}; the columns are 0 to {count - 1}.")
    return column % count


def mean(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Over the rows; of a single head an array without dimensions, where numpy gives a number."""
    return np.asarray(rows.mean(axis=-1))
