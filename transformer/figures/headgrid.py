"""Data of `headgrid.js`: grids with a value for every head, in which readers select a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from transformer.measures.kinds import Head
from transformer.measures.naming import display_number


@dataclass(frozen=True)
class Grid:
    """One grid: layers down, heads across.

    Attributes:
        name: identifies the grid when a cell is selected.
        label: heading above the grid.
        values: NaN leaves a cell without colour.
        marks: a few characters in each cell, "" for none.
        descriptions: text of each cell with its value, for tooltips and screen readers.
    """

    name: str
    label: str
    values: Float[np.ndarray, "layers heads"]
    marks: Sequence[Sequence[str]]
    descriptions: Sequence[Sequence[str]]


def headgrid_data(
    grids: Sequence[Grid],
    *,
    low: float,
    high: float,
    legend: str,
    chosen: Head | None = None,
    large: bool = False,
) -> dict[str, Any]:
    """Return what `headgrid.js` draws.

    Args:
        low, high: values of the lightest and the strongest colour; values outside are clipped.
        legend: what the colour means, with its unit.
        chosen: the selected cell: name of its grid, layer and head.

    Raises:
        ValueError: if `low` is not below `high`, or marks or descriptions do not match the values.
    """
    if not low < high:
        raise ValueError(f"The colour scale goes from {low} to {high}; low must be below high.")
    for grid in grids:
        for cells in (grid.marks, grid.descriptions):
            if [len(line) for line in cells] != [grid.values.shape[1]] * grid.values.shape[0]:
                raise ValueError(f"{grid.label} needs a mark and a description for every head.")
    span = high - low
    return {
        "grids": [
            {
                "name": grid.name,
                "label": grid.label,
                "rows": [str(display_number(layer)) for layer in range(grid.values.shape[0])],
                "columns": [str(display_number(head)) for head in range(grid.values.shape[1])],
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
        ],
        "legend": legend,
        "ticks": [[(tick - low) / span, f"{tick:.3g}"] for tick in (low, high)],
        "chosen": None if chosen is None else list(chosen),
        "large": large,
    }
