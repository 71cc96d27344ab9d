"""What the figures of Table 1 hold."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.complexity import Law, laws, reached
from transformer.figures.curves import DARK, LIGHT


def test_a_law_is_a_line_and_its_measurements_are_marks_of_one_colour() -> None:
    drawn = [
        Law("a<b>", 0, x=[1, 10], y=[2, 20], seen_x=[1, 5], seen_y=[2.5, 9]),
        Law("bare", 3, x=[1, 10], y=[1, 100]),
    ]
    figure = laws(drawn, across="n", down="seconds", unit=" s", at=(7, "n = 7"),
                  crossings=[(3, 4, "they meet")])  # fmt: skip
    line, marks, bare, met = figure.data
    assert (line.mode, marks.mode, bare.mode) == ("lines", "markers", "lines")
    assert list(marks.y) == [2.5, 9]
    assert line.line.color == marks.marker.color == LIGHT[0] != bare.line.color
    assert [trace.showlegend for trace in (line, bare)] == [False, True]
    assert "<b>" not in line.name
    assert (met.x[0], met.y[0]) == (3, 4)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].x0 == 7
    assert 10 ** figure.layout.annotations[0].x == pytest.approx(7)
    assert laws(drawn, across="n", down="s", dark=True).data[0].line.color == DARK[0]


def test_the_grid_counts_positions_from_one_and_layers_from_none() -> None:
    grid = np.array([[False, False, True], [False, True, True]])
    cells = reached(grid).data[0]
    assert np.array(cells.z).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert list(cells.x) == [1, 2, 3]
    assert list(cells.y) == [0, 1]
    assert cells.customdata[0][0] == "not heard of"
