"""The curves of a race: one colour an entry, and a mean that is the mean."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.race_curves import MOST, Curve, mean, race_curves


def curve(*points: tuple[float, float]) -> Curve:
    steps, values = np.array(points, np.float64).reshape(-1, 2).T
    return steps, values


def test_the_mean_is_taken_where_all_seeds_have_values_and_between_their_points() -> None:
    # At 10 the second curve has 3 (half way from 4 to 2), at 15 the first has 1.5.
    found = mean([curve((0, 4), (10, 2), (20, 1)), curve((5, 4), (15, 2), (30, 0))])
    assert found is not None
    assert found[0].tolist() == [5, 10, 15, 20]
    assert found[1] == pytest.approx([3.5, 2.5, 1.75, (1 + 4 / 3) / 2])
    assert mean([curve((0, 4))]) is None
    assert mean([curve((0, 4), (1, 3)), curve((2, 4), (3, 3))]) is None


def test_an_entry_has_one_colour_a_thin_line_a_seed_and_a_thick_mean() -> None:
    two = [curve((0, 4), (10, 2)), curve((0, 6), (10, 4))]
    for dark, palette in ((False, LIGHT), (True, DARK)):
        figure = race_curves({"a": [], "b": two, "<b>": two[:1]}, "loss", dark=dark)
        assert [line.line.color for line in figure.data] == [palette[1]] * 3 + [palette[2]]
    assert [line.line.width for line in figure.data] == [1, 1, 3, 1]
    assert [bool(line.showlegend) for line in figure.data[:2]] == [False, False]
    assert figure.data[2].showlegend is None
    assert figure.data[3].showlegend
    assert [line.name for line in figure.data[2:]] == ["b", "&lt;b&gt;"]
    assert list(figure.data[2].y) == [5, 3]
    assert {line.legendgroup for line in figure.data} == {"1", "2"}


def test_long_curves_are_thinned_and_nothing_is_a_sentence() -> None:
    steps = np.arange(5000, dtype=np.float64)
    figure = race_curves({"a": [(steps, steps)]}, "right", share=True)
    assert len(figure.data[0].x) <= MOST
    assert figure.layout.yaxis.tickformat == ".0%"
    assert figure.data[0].mode == "lines"
    assert race_curves({"a": [(steps, steps)]}, "loss", marked=True).data[0].mode == "lines+markers"
    empty = race_curves({"a": []}, "loss", top=2.0)
    assert empty.layout.annotations[0].text == "Nothing to draw yet"
    assert list(empty.layout.yaxis.range) == [0, pytest.approx(2.06)]
