"""One table of numbers with labels, for `tensors.js`: coloured, and each number to be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.figures.packing import Part, pack

KINDS = ("signed", "positive", "share", "mask", "count")


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers and what is written around them.

    Attributes:
        id: tables of one id are the same table with other numbers.
        title: for a screen reader.
        values: (rows, columns); what is not finite, as a masked score, stays without colour.
        rows: a label for each row.
        columns: a label for each column, or none: then they are numbered.
        row_axis, column_axis: what a row and a column is: "source token", "dimension".
        kind: "signed" around 0, "positive" or "count" from 0 up, "share" and "mask" from 0 to 1.
        cells: a label for each cell, or none.
        first: the number of the first row and column.
    """

    id: str
    title: str
    values: npt.NDArray[np.floating[Any]]
    rows: Sequence[str]
    columns: Sequence[str]
    row_axis: str
    column_axis: str
    kind: str
    cells: Sequence[Sequence[str]] = ()
    first: int = 0


def tensor_data(
    table: Table, cell: tuple[int, int] | None = None, *, here: bool = True, size: str = "normal"
) -> bytes:
    """What the browser draws.

    Args:
        cell: the row and column that are chosen.
        here: in this table, and not at the same place of another.
        size: "large" for a projector.

    Raises:
        ValueError: if labels and numbers do not match, there are no numbers, or for another kind.
    """
    rows, columns = table.values.shape
    if len(table.rows) != rows or len(table.columns) not in (0, columns) or not table.values.size:
        raise ValueError(
            f"{table.title} has {len(table.rows)} row labels and {len(table.columns)} column "
            f"labels for {rows} × {columns} numbers."
        )
    if table.kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {table.kind!r}")
    finite = np.abs(table.values[np.isfinite(table.values)])
    shares = table.kind in ("share", "mask")
    head = {
        "id": table.id,
        "title": table.title,
        "rows": list(table.rows),
        "columns": list(table.columns) or None,
        "columns_count": columns,
        "row_axis": table.row_axis,
        "column_axis": table.column_axis,
        "cells": [list(row) for row in table.cells] or None,
        "first": table.first,
        "kind": table.kind,
        "signed": table.kind == "signed",
        "most": 1.0 if shares else float(finite.max(initial=0.0)),
        "cell": None if cell is None else {"row": cell[0], "column": cell[1], "here": here},
        "large": size == "large",
    }
    return pack(head, [Part("values", np.ascontiguousarray(table.values, dtype="<f4"))])
