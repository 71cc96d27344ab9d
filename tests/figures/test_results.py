"""Scores over cost, and two distributions: what is drawn is what was given."""

from __future__ import annotations

import pytest

from transformer.figures.results import LEAST, score_and_cost, two_distributions


def test_every_point_is_where_its_cost_and_score_are() -> None:
    points = {"ours": [("a <b>", 1e18, 27.0), ("c", 3e19, 28.0)], "theirs": [("d", 1e21, 26.0)]}
    figure = score_and_cost(points, across="cost", down="BLEU")
    assert [list(trace.x) for trace in figure.data] == [[1e18, 3e19], [1e21]]
    assert [list(trace.y) for trace in figure.data] == [[27.0, 28.0], [26.0]]
    assert figure.data[0].text == ("a &lt;b&gt;", "c")
    low, high = figure.layout.xaxis.range
    assert low < 18
    assert high > 21
    assert figure.layout.yaxis.range[0] < 26
    assert figure.data[0].marker.symbol != figure.data[1].marker.symbol


def test_names_of_points_that_are_near_each_other_do_not_meet() -> None:
    points = {"ours": [("low", 1e18, 27.0), ("high", 1.1e18, 27.1), ("far", 1e21, 29.0)]}
    figure = score_and_cost(points, across="cost", down="BLEU")
    assert figure.data[0].textposition == ("bottom center", "top center", "top center")


@pytest.mark.parametrize("dark", [False, True])
def test_bars_stand_side_by_side_and_keep_what_is_too_small_to_see(dark: bool) -> None:
    figure = two_distributions(
        ["<s>", "a"], [0.9, 0.1], [1e-9, 0.5], names=("target", "said"), dark=dark
    )
    target, said = figure.data
    assert list(target.y) == [0.9, 0.1]
    assert list(said.y) == [LEAST, 0.5]
    assert list(said.customdata) == [1e-9, 0.5]
    assert figure.layout.xaxis.ticktext == ("&lt;s&gt;", "a")
    assert figure.layout.barmode == "group"
    assert target.marker.color != said.marker.color
