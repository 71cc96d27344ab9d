"""Figures of scores: what is drawn where, and that labels are text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from transformer.figures.score_scale import against_width, by_head, one_row

NAMES = {"dot": "q·k <b>", "additive": "tanh"}
TABLE = pd.DataFrame(
    {
        "d_k": [4, 16, 4, 16],
        "score": ["dot", "dot", "additive", "additive"],
        "value": [4.1, 15.0, 0.1, 0.2],
        "low": [3.0, 10.0, 0.05, 0.1],
        "high": [5.0, 20.0, 0.2, 0.3],
        "form": [4.0, 16.0, 0.1, 0.1],
    }
)


def test_a_line_for_each_score_function_with_its_band_and_closed_form() -> None:
    figure = against_width(
        TABLE, "value", NAMES, "a value", expected="form", band=("low", "high"), at=16
    )
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines] == ["q·k &lt;b&gt;", "tanh"]
    assert [list(trace.y) for trace in lines] == [[4.1, 15.0], [0.1, 0.2]]
    assert all(list(trace.x) == [4, 16] for trace in lines)
    crosses = [list(trace.y) for trace in figure.data if trace.mode == "markers"]
    assert crosses == [[4.0, 16.0], [0.1, 0.1]]
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert list(bands[0].x) == [4, 16, 16, 4]
    assert list(bands[0].y) == [3.0, 10.0, 20.0, 5.0]
    assert figure.layout.shapes[0].x0 == 16
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.yaxis.title.text == "a value"
    plain = against_width(TABLE, "value", NAMES, "a share", log=False)
    assert (plain.layout.yaxis.type, plain.layout.yaxis.range) == ("linear", (0, 1.02))


def test_a_row_in_three_stages_on_given_scales() -> None:
    stages = [np.array([-2.0, 1.0]), np.array([0.1, 0.9]), np.array([0.2, 0.3])]
    figure = one_row(*stages, tops=(4.0, 1.0, 0.5))
    for bars, values in zip(figure.data, stages, strict=True):
        assert list(bars.y) == list(values)
        assert list(bars.x) == [0, 1]
    assert figure.layout.yaxis.range == (-4.2, 4.2)
    assert figure.layout.yaxis2.range == (0, 1.05)
    assert figure.layout.yaxis3.range == (0, 0.525)


def test_a_mark_for_every_head_and_version() -> None:
    table = pd.DataFrame(
        {
            "layer": [0, 0, 1, 1],
            "head": [0, 1, 0, 1],
            "version": ["a", "a", "a", "a"],
            "variance": [1.0, 2.0, 3.0, 4.0],
            "largest": [0.1, 0.2, 0.3, 0.4],
        }
    )
    figure = by_head(table, "largest", "largest weight", {"a": "as it is", "b": "<i>other"})
    one, other = figure.data
    np.testing.assert_allclose(one.x, [-0.2, 0.2, 0.8, 1.2])
    assert list(one.y) == [0.1, 0.2, 0.3, 0.4]
    assert other.name == "&lt;i&gt;other"
    assert not len(other.x)
