"""What each cell of a head contributes: data of the two linked tables of `contributions.js`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.figures.packing import Part, pack
from transformer.figures.positions import Numbers
from transformer.measures.kinds import AttentionKind


@dataclass(frozen=True, eq=False)
class CellValues:
    """A quantity with one number per cell.

    Attributes:
        name: identifier, letters only.
        label: name in a line with its number.
        title: heading above the table.
        unit: shown below the table.
        values: (query, key), finite.
        signed: whether values can be negative.
        max_size: the end of its colour scale; 0 takes the greatest absolute value.
    """

    name: str
    label: str
    title: str
    unit: str
    values: Numbers
    signed: bool = False
    max_size: float = 0.0


def contributions_data(
    quantities: Sequence[CellValues],
    drawn_names: tuple[str, str],
    *,
    kind: AttentionKind,
    rows: Sequence[str],
    columns: Sequence[str],
    writes: Sequence[str] | None = None,
    cell: tuple[int, int] | None = None,
    head: str = "",
    large: bool = False,
) -> bytes:
    """Return what `contributions.js` draws.

    Args:
        quantities: all quantities; hovering over a cell shows each of them.
        drawn_names: names of the two that are drawn as tables.
        kind: kind of attention; "decoder" masks later positions.
        rows, columns: tokens of the queries and of the keys.
        writes: the tokens that the queries write, if they differ from those they read.
        cell: row and column of the selected cell.
        head: identifies the head and the sentence: when it changes, the view resets.

    Raises:
        ValueError: if labels and values do not match, or a name in `drawn_names` is unknown.
    """
    names = [quantity.name for quantity in quantities]
    for name in drawn_names:
        if name not in names:
            raise ValueError(f"There is no quantity {name!r}; there are {', '.join(names)}.")
    for quantity in quantities:
        if quantity.values.shape != (len(rows), len(columns)):
            raise ValueError(
                f"{quantity.name} has shape {quantity.values.shape}, but there are {len(rows)} "
                f"rows and {len(columns)} columns."
            )
    header = {
        "id": head,
        "kind": kind,
        "rows": list(rows),
        "columns": list(columns),
        "writes": None if writes is None else list(writes),
        "shown": list(drawn_names),
        "cell": None if cell is None else list(cell),
        "large": large,
        "quantities": [
            {name: getattr(quantity, name) for name in ("name", "label", "title", "unit", "signed")}
            | {"max_abs": quantity.max_size or float(np.abs(quantity.values).max(initial=0.0))}
            for quantity in quantities
        ],
    }
    return pack(header, [Part(each.name, each.values.astype("<f4")) for each in quantities])
