"""Numbers worked out by hand, written as LaTeX."""

from __future__ import annotations

from transformer.analysis.inside.panels import Panel


def worked(panel: Panel, row: int, column: int) -> list[str]:
    """The number in this cell written out: a line with the symbols, then lines with the numbers.

    The last line ends with the number itself. Lines are LaTeX without dollar signs.

    Raises:
        ValueError: for a cell that is not there.
    """
    panel.check(row, column)
    return panel.work(row, column)
