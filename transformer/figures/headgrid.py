"""Data of `headgrid.js`: a number for every head as a colour, in which readers select a head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from transformer.measures.kinds import AttentionKind, Head


@dataclass(frozen=True)
class Grid:
    """The heads of one kind of attention: layers down, heads across.

    Attributes:
        values: NaN leaves a head without colour.
        marks: a few characters for each head, "" for none.
        descriptions: text of each head with its value, for tooltips and screen readers.
    """

    kind: AttentionKind
    values: Float[np.ndarray, "layers heads"]
    marks: Sequence[Sequence[str]]
    descriptions: Sequence[Sequence[str]]


def headgrid_data(
    grids: Sequence[Grid],
    *,
    low: float,
    high: float,
    legend: str,
    selected: Head | None = None,
    large: bool = False,
) -> dict[str, Any]:
    """Return what `headgrid.js` draws.

    Args:
        low, high: values of the lightest and the strongest colour; values outside are clipped.
        legend: what the colour means, with its unit.

    Raises:
        ValueError: if `low` is not below `high`, or marks or descriptions do not match the values.
    """
    if not low < high:
        raise ValueError(f"The colour scale goes from {low} to {high}; low must be below high.")
    for grid in grids:
        for cells in (grid.marks, grid.descriptions):
            if [len(line) for line in cells] != [grid.values.shape[1]] * grid.values.shape[0]:
                raise ValueError(f"{grid.kind} needs a mark and a description for every head.")
    span = high - low
    return {
        "kinds": {
            grid.kind: {
                "levels": [
                    [
                        None if math.isnan(value) else min(max((float(value) - low) / span, 0), 1)
                        for value in line
                    ]
                    for line in grid.values
                ],
                "marks": [list(line) for line in grid.marks],
                "descriptions": [list(line) for line in grid.descriptions],
            }
            for grid in grids
        },
        "legend": legend,
        "ticks": [[(tick - low) / span, f"{tick:.3g}"] for tick in (low, high)],
        "selected": selected and dict(zip(("kind", "layer", "head"), selected, strict=True)),
        "large": large,
    }
