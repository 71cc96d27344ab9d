"""The class `Measure`: a number for every head of a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float

from transformer.measures.kinds import KINDS, AttentionKind
from transformer.measures.rows import Rows, RowWeights

GROUPS = ("shape", "position", "token", "grammar", "translation")
"""Groups, in the order of the measures in lists."""


def all_rows(rows: Rows) -> Bool[np.ndarray, "sentences query"]:
    """Return the mask of all rows that are not padding."""
    return rows.real


@dataclass(frozen=True)
class PublishedClaim:
    """A published finding: there is a head with a high value of the measure.

    Attributes:
        text: the claim as a sentence.
        source: citation.
        floor: the value that the measure must exceed, a share of the rows.
        kind, layer: the heads that the claim is about; None means every layer.
    """

    text: str
    source: str
    floor: float
    kind: AttentionKind = "encoder"
    layer: int | None = None


@dataclass(frozen=True)
class Measure:
    """A mean over attention rows: one number for each head.

    Attributes:
        name: used in URLs, tables and files.
        label: used in lists and figures.
        note: definition and source.
        function: returns the value of every row, (sentences, heads, query).
        unit: unit of the value; "" is a share of the row's weight or of the rows, 0 to 1.
        kinds: kinds of attention that it is defined for.
        counts: returns the rows it applies to, (sentences, query).
        group: one of `GROUPS`.
        missing_reason: why a corpus may have no such row; the end of a sentence.
        claim: a published claim for the published findings; only for shares.
    """

    name: str
    label: str
    note: str
    function: Callable[[RowWeights], Float[np.ndarray, "sentences heads query"]]
    unit: str = ""
    kinds: tuple[AttentionKind, ...] = KINDS
    counts: Callable[[Rows], Bool[np.ndarray, "sentences #query"]] = all_rows
    group: str = "token"
    missing_reason: str = "none has such a token"
    claim: PublishedClaim | None = None

    def applicable_rows(self, rows: Rows) -> Bool[np.ndarray, "sentences query"]:
        """Return the mask of the rows it applies to, without padding."""
        return np.asarray(self.counts(rows) & rows.real)

    def means(self, attention: RowWeights) -> Float[np.ndarray, "sentences heads"]:
        """Return the mean over the applicable rows of each sentence; NaN if a sentence has none."""
        applicable = self.applicable_rows(attention.rows)
        total = (self.function(attention) * applicable[:, None]).sum(axis=-1, dtype=np.float64)
        n = applicable.sum(axis=-1)[:, None]
        return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def format_value(value: float | None, unit: str = "") -> str:
    """Format a value with its unit for display."""
    if value is None:
        return "–"
    if not unit:
        return f"{value:.0%}"
    return f"{value:.{2 if unit == 'bits' else 1}f} {unit}"


def checked_weights(weights: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return weights as float64, clipped to 1. Raises ValueError if they are not in 0 to 1."""
    if not weights.size:
        raise ValueError(
            f"Weights of shape {weights.shape} are empty; they need at least 1 row and 1 column."
        )
    # Written so that NaN fails too.
    if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
        raise ValueError(
            f"The weights go from {weights.min()} to {weights.max()}; "
            "attention weights must be from 0 to 1."
        )
    return np.asarray(np.minimum(weights, 1.0, dtype=np.float64))


def column_index(column: int, count: int) -> int:
    """Return a column index from 0. Raises ValueError if it is out of range."""
    if not -count <= column < count:
        raise ValueError(f"There is no column {column}; the columns are 0 to {count - 1}.")
    return column % count


def mean(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean over rows as an array, also for a single head."""
    return np.asarray(rows.mean(axis=-1))
