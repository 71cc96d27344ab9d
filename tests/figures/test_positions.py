"""Figures of Positions have the given values, and tokens are escaped."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from transformer.figures.bars import (
    grouped_bars,
    stacked_shares,
)
from transformer.figures.positions import Curve, lines, table

HOSTILE = "<b>x</b> %{x} <img src=x onerror=alert(1)>"
VALUES = np.array([[0.5, -2.0, np.nan], [1.0, 0.0, 0.25]])


def matrix_figure(**settings: object) -> go.Figure:
    options = {"y_title": "position", "x_title": "dimension", "quantity": "added", **settings}
    return table(VALUES, ["0 a", "1 a"], **options)  # type: ignore[arg-type]


def axis_text(figure: go.Figure) -> list[str]:
    return [*(figure.layout.xaxis.ticktext or ()), *(figure.layout.yaxis.ticktext or ())]


def test_a_table_has_a_scale_symmetric_about_zero() -> None:
    figure = matrix_figure()
    (trace,) = figure.data
    np.testing.assert_array_equal(trace.z, VALUES)
    assert (trace.zmin, trace.zmax) == (-2, 2)
    middle = trace.colorscale[len(trace.colorscale) // 2]
    assert middle[0] == 0.5
    light, dark = (matrix_figure(dark=side).data[0].colorscale for side in (False, True))
    assert light != dark
    assert "%{z:.4f}" in trace.hovertemplate
    assert figure.layout.yaxis.autorange == "reversed"  # position 0 at the top
    assert figure.layout.yaxis.title.text == "position"
    assert figure.layout.xaxis.title.text == "dimension"
    assert (matrix_figure(limit=1.0).data[0].zmin, matrix_figure(limit=1.0).data[0].zmax) == (-1, 1)
    weights = matrix_figure(weights=True).data[0]
    assert (weights.zmin, weights.zmax) == (0, 1)


def test_tokens_are_escaped() -> None:
    figures = [
        table(
            VALUES,
            [HOSTILE, "b"],
            [HOSTILE] * 3,
            y_title="d",
            x_title="a",
            quantity="w",
            title=HOSTILE,
        ),
        grouped_bars({HOSTILE: [1.0]}, [HOSTILE], x_title="token", y_title="length"),
        stacked_shares(np.ones((1, 1)), [HOSTILE], [HOSTILE]),
        lines([Curve(HOSTILE, [0], [0]), Curve("b", [0], [0])], x_title="k", y_title="y"),
    ]
    for figure in figures:
        texts = [*axis_text(figure), *(trace.name or "" for trace in figure.data)]
        assert all("<" not in text for text in texts)
        assert any("&lt;b&gt;" in text for text in texts)
        title = figure.layout.title.text
        assert title is None or "<" not in title
        assert all("onerror" not in str(trace.hovertemplate) for trace in figure.data)


def test_a_band_surrounds_its_curve() -> None:
    k = np.arange(3)
    band = Curve("b", k, k * 1.0, low=k - 1.0, high=k + 1.0)
    area, line = lines([band], x_title="k", y_title="y").data
    assert list(zip(area.x, area.y, strict=True)) == [
        (0, 1), (1, 2), (2, 3), (2, 1), (1, 0), (0, -1),
    ]  # fmt: skip
    assert area.fill == "toself"
    np.testing.assert_array_equal(line.y, k)


def test_shares_are_stacked_in_the_order_given() -> None:
    values = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    figure = stacked_shares(values, ["a", "b", "c", "d"], ["head 5", "head 2"])
    assert figure.layout.barmode == "stack"
    assert [trace.name for trace in figure.data] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(figure.data[2].x, values[:, 2])
    assert figure.layout.yaxis.ticktext == ("head 5", "head 2")
    assert figure.layout.yaxis.autorange == "reversed"
    for dark in (False, True):
        colours = {
            trace.marker.color for trace in stacked_shares(values, "abcd", "xy", dark=dark).data
        }
        assert len(colours) == 4
