"""The columns of a table of measurements in a chart; `figures.interval_chart` draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chart:
    """How to draw a table: the role of each column.

    Attributes:
        x, y: columns; text values of x are placed at 0, 1, 2 …
        x_title, y_title: titles of the x and y axes, with units.
        by: the column whose values have different colours and symbols; "" for none.
        low, high: columns with the ends of y's interval; not drawn if missing.
        mark: position and name of a horizontal line, such as a rule's threshold.
        joined: whether points of one colour are connected.
        percent: whether y is a fraction, shown in percent.
    """

    x: str
    y: str
    x_title: str
    y_title: str
    by: str = ""
    low: str = "low"
    high: str = "high"
    mark: tuple[float, str] | None = None
    joined: bool = True
    percent: bool = False
