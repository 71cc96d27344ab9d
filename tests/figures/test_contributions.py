"""Two tables for the browser, bars to one scale, a curve."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.contributions import CellValues, answers, contributions_data, source_curve
from transformer.figures.packing import unpack

WEIGHT = CellValues("weight", "weight", "Weight", "a share", np.array([[0.25, 0.75], [1.0, 0.0]]))
SLOPE = CellValues("slope", "slope", "Slope", "nats", np.array([[0.5, -2.0], [0.0, 1.0]]), True)
LABELS = {"kind": "cross", "rows": ["<s>", "a"], "columns": ["<b>x", "</s>"]}


def test_the_browser_gets_every_number_and_what_is_chosen() -> None:
    data = contributions_data(
        [WEIGHT, SLOPE], ("slope", "weight"), **LABELS, cell=(1, 0), writes=["a", "b"]
    )
    header, parts = unpack(data)
    assert header["shown"] == ["slope", "weight"]
    assert (header["cell"], header["writes"]) == ([1, 0], ["a", "b"])
    for quantity, told in zip((WEIGHT, SLOPE), header["quantities"], strict=True):
        np.testing.assert_array_equal(parts[quantity.name].array, quantity.values)
        assert (told["name"], told["signed"]) == (quantity.name, quantity.signed)
    assert [told["most"] for told in header["quantities"]] == [1.0, 2.0]


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(ValueError, match="no 'norm' to draw; there is weight, slope"):
        contributions_data([WEIGHT, SLOPE], ("weight", "norm"), **LABELS)
    with pytest.raises(ValueError, match=r"weight of shape \(2, 2\) does not fit 3 rows"):
        contributions_data([WEIGHT], ("weight", "weight"), **{**LABELS, "rows": ["a", "b", "c"]})


def test_a_percent_is_equally_long_in_every_panel() -> None:
    methods = {
        "One": np.array([0.9, 0.05, 0.05]),
        "Two": np.array([0.3, 0.3, 0.4]),
        "Three": np.array([0.5, -0.3, 0.2]),
    }
    figure = answers(["▁a", "<b>", "▁a"], 2, methods)
    longs, lows = [], []
    for number in ("", "2", "3"):
        axis = figure.layout[f"xaxis{number}"]
        low, high = axis.range
        longs.append((axis.domain[1] - axis.domain[0]) / (high - low))
        lows.append(low)
    np.testing.assert_allclose(longs, longs[0], rtol=1e-6)
    assert lows == [0, 0, -0.3]
    for bar, values in zip(figure.data, methods.values(), strict=True):
        np.testing.assert_array_equal(bar.x, values)
        assert list(bar.y) == [0, 1, 3]  # a gap between source and prefix
    colours = figure.data[2].marker.color
    assert len(set(colours)) == 3  # source, against, prefix
    ticks = figure.layout.yaxis.ticktext
    assert "&lt;b&gt;" in ticks[1]
    assert ticks[0] == ticks[2]


def test_the_curve_marks_the_chosen_token() -> None:
    figure = source_curve(["<s>", "b", "b"], np.array([0.5, 0.7, 0.6]), 0.75, at=1)
    level, share = figure.data
    assert list(level.y) == [0.75] * 3
    assert list(share.y) == [0.5, 0.7, 0.6]
    sizes = list(share.marker.size)
    assert sizes.index(max(sizes)) == 1
    assert list(figure.layout.xaxis.ticktext)[1:] == ["b", "b"]
