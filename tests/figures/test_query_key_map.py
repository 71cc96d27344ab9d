"""The figure of queries and keys: its curves tell clicks apart, its lines say weights."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.query_key_map import LEAST, WIDEST, AttentionLink, query_key_figure

POINTS = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0], [4.0, 4.0]])
SIDES = ["query", "query", "key", "key"]
GROUPS = ["punctuation", "word", "word", "word"]
TOLD = ["query: <b>", "query: a", "key: b", "key: c"]


def test_every_point_is_in_one_curve() -> None:
    figure, curves = query_key_figure(POINTS, SIDES, GROUPS, TOLD, (0.5, 0.25))
    assert sorted(at for own in curves for at in own) == [0, 1, 2, 3]
    assert len(figure.data) == len(curves) == 3
    for trace, own in zip(figure.data, curves, strict=True):
        np.testing.assert_array_equal(np.stack([trace.x, trace.y], axis=1), POINTS[own])
    assert {trace.name for trace in figure.data} == {
        "punctuation, query",
        "word, query",
        "word, key",
    }
    assert figure.data[0].text == ("query: &lt;b&gt;",)
    colours = {trace.name: trace.marker.color for trace in figure.data}
    assert colours["word, query"] == colours["word, key"] != colours["punctuation, query"]
    assert figure.layout.xaxis.title.text == "axis 1, 50% of the variance"
    assert figure.layout.yaxis.scaleanchor == "x"


def test_lines_are_as_wide_as_weights() -> None:
    links = [AttentionLink(1, 2, 0.75, "<i>"), AttentionLink(1, 3, LEAST / 2, "c")]
    figure, curves = query_key_figure(
        POINTS, SIDES, SIDES, TOLD, (1.0, 0.0), links=links, chosen=(1, "<u>"), dark=True
    )
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert line.line.width == pytest.approx(0.75 * WIDEST)
    assert (tuple(line.x), tuple(line.y)) == ((1.0, 3.0), (2.0, -1.0))
    ends, chosen = figure.data[-2:]
    assert ends.text == ("&lt;i&gt; 75%",)
    assert chosen.text == ("<b>&lt;u&gt;</b>",)
    assert len(curves) == 2  # a click on a line is none on a point


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="4 points need as many sides, groups and words, not 3, 4"):
        query_key_figure(POINTS, SIDES[:3], GROUPS, TOLD, (0.5, 0.5))
