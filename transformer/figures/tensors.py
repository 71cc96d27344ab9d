"""Data of `tensors.js`: a coloured table of numbers with labels, whose cells can be selected."""

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
    """A table of numbers with its labels.

    Attributes:
        id: tables with the same id are the same table with new numbers.
        title: name for screen readers.
        values: (rows, columns); a value that is not finite, such as a masked score, has no colour.
        rows: a label for each row.
        columns: a label for each column; if empty, columns are numbered.
        row_axis, column_axis: what rows and columns are: "source token", "dimension".
        kind: "signed" around 0, "positive" or "count" from 0 up, "share" and "mask" from 0 to 1.
        cells: a label for each cell, or none.
        first: number of the first row and column.
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
    table: Table,
    cell: tuple[int, int] | None = None,
    *,
    in_this_table: bool = True,
    size: str = "normal",
) -> bytes:
    """Return what `tensors.js` draws.

    Args:
        cell: row and column of the selected cell.
        in_this_table: whether it was selected in this table, or at the same position of another.
        size: "large" for a projector.

    Raises:
        ValueError: if labels and values do not match, the table is empty, or the kind is unknown.
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
        "max_abs": 1.0 if shares else float(finite.max(initial=0.0)),
        "cell": None
        if cell is None
        else {"row": cell[0], "column": cell[1], "in_this_table": in_this_table},
        "large": size == "large",
    }
    return pack(head, [Part("values", np.ascontiguousarray(table.values, dtype="<f4"))])
