"""A number for every head, in grids side by side, of which one cell is chosen: `headgrid.js`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from transformer.figures.views import view_page
from transformer.measures.naming import display_number


@dataclass(frozen=True)
class Grid:
    """One grid: layers down, heads across.

    Attributes:
        name: what a choice in it is told by.
        label: above it.
        values: NaN where there is nothing to colour.
        marks: a few characters in each cell, "" for none.
        told: a cell in words, its value among them, for pointers and screen readers.
        columns: their names; the heads' numbers if left out.
    """

    name: str
    label: str
    values: Float[np.ndarray, "layers heads"]
    marks: Sequence[Sequence[str]]
    told: Sequence[Sequence[str]]
    columns: Sequence[str] = ()


def headgrid_data(
    grids: Sequence[Grid],
    *,
    low: float,
    high: float,
    legend: str,
    chosen: tuple[str, int, int] | None = None,
    large: bool = False,
    exact: bool = True,
) -> dict[str, Any]:
    """What the browser draws.

    Args:
        low, high: values of the scale's lightest and strongest colour; values beyond are theirs.
        legend: what the colour stands for, with its unit.
        chosen: a grid's name, a layer and a head.
        exact: layers and heads are counted from 0.

    Raises:
        ValueError: for a scale without length, or marks or words of another size than the values.
    """
    if not low < high:
        raise ValueError(f"The scale goes from {low} to {high}; it must go up.")
    for grid in grids:
        for cells in (grid.marks, grid.told):
            if [len(line) for line in cells] != [grid.values.shape[1]] * grid.values.shape[0]:
                raise ValueError(f"{grid.label} needs marks and words for all of its heads.")
    span = high - low
    return {
        "grids": [
            {
                "name": grid.name,
                "label": grid.label,
                "rows": [
                    str(display_number(layer, exact)) for layer in range(grid.values.shape[0])
                ],
                "columns": list(grid.columns)
                or [str(display_number(head, exact)) for head in range(grid.values.shape[1])],
                "levels": [
                    [
                        None if math.isnan(value) else min(max((float(value) - low) / span, 0), 1)
                        for value in line
                    ]
                    for line in grid.values
                ],
                "marks": [list(line) for line in grid.marks],
                "told": [list(line) for line in grid.told],
            }
            for grid in grids
        ],
        "legend": legend,
        "ticks": [[(tick - low) / span, f"{tick:.3g}"] for tick in (low, high)],
        "chosen": None if chosen is None else list(chosen),
        "large": large,
    }


def headgrid_page(data: dict[str, Any], title: str = "Heads") -> str:
    """`headgrid_data` as a file of its own."""
    return view_page("headgrid", data, title)
