"""Figures of Why: accuracy by distance, and scores by d_k."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from transformer.figures.distance_curves import accuracy_by_distance
from transformer.figures.score_scale import against_width

X = np.array([2.0, 4.0, 8.0])
NEAR_CURVES = [(X, np.array([1.0, 0.5, 0.1])), (X, np.array([1.0, 0.7, 0.3]))]
FAR_CURVES = [(X, np.array([1.0, 1.0, 1.0]))]
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


def test_the_mean_of_the_seeds_with_the_worst_and_the_best() -> None:
    figure = accuracy_by_distance(
        {"near <b>": NEAR_CURVES, "far": FAR_CURVES, "waits": []},
        {"near <b>": 4, "far": math.inf},
        0.25,
    )
    lines = {trace.name: trace for trace in figure.data if trace.mode == "lines+markers"}
    assert list(lines) == ["near &lt;b&gt;", "far"]
    np.testing.assert_allclose(lines["near &lt;b&gt;"].y, [1.0, 0.6, 0.2])
    assert list(lines["far"].y) == [1.0, 1.0, 1.0]
    (band,) = (trace for trace in figure.data if trace.fill == "toself")
    assert list(band.x) == [2, 4, 8, 8, 4, 2]
    assert list(band.y) == [1.0, 0.7, 0.3, 0.1, 0.5, 1.0]
    (mark,) = (trace for trace in figure.data if trace.mode == "lines+text")
    assert list(mark.x) == [4.5, 4.5]
    assert mark.text[1] == "reach 4"
    assert figure.layout.shapes[0].y0 == 0.25
    assert figure.layout.annotations[0].text == "chance 25.0%"
    assert list(figure.layout.xaxis.tickvals) == [2, 4, 8]


def test_a_line_for_each_score_function_with_its_band_and_closed_form() -> None:
    figure = against_width(
        TABLE, "value", NAMES, "a value", expected="form", band=("low", "high"), marked_d_k=16
    )
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines] == ["q·k &lt;b&gt;", "tanh"]
    assert [list(trace.y) for trace in lines] == [[4.1, 15.0], [0.1, 0.2]]
    assert all(list(trace.x) == [4, 16] for trace in lines)
    crosses = [list(trace.y) for trace in figure.data if trace.mode == "markers"]
    assert crosses == [[4.0, 16.0], [0.1, 0.1]]
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert list(bands[0].x) == [4, 16, 16, 4]
    assert list(bands[0].y) == [5.0, 20.0, 10.0, 3.0]
    assert figure.layout.shapes[0].x0 == 16
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.yaxis.title.text == "a value"
    linear = against_width(TABLE, "value", NAMES, "a share", log=False)
    assert (linear.layout.yaxis.type, linear.layout.yaxis.range) == ("linear", (0, 1.02))
