"""Which columns of a table of measurements a chart shows; `figures.interval_chart` draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chart:
    """How a table is drawn: which column is what.

    Attributes:
        x, y: columns; an x of words is put at the places 0, 1, 2 …
        across, down: titles of the axes, with units.
        by: the column whose values are told apart by colour and sign; "" for none.
        low, high: columns with the ends of the interval of y; left out where they are missing.
        mark: where a line is drawn that the rule speaks of, and its name.
        joined: whether the points of one colour are joined.
        percent: whether y is a share, written in percent.
    """

    x: str
    y: str
    across: str
    down: str
    by: str = ""
    low: str = "low"
    high: str = "high"
    mark: tuple[float, str] | None = None
    joined: bool = True
    percent: bool = False
