"""Training curves have the measured values, and names are escaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.figures.complexity import Law, law_lines
from transformer.figures.curves import DARK, LIGHT, MAX_POINTS, curves, thin

HOSTILE = "<b>x</b> %{x} <img src=x onerror=alert(1)>"


def lines(steps: int = 20, every: int = 5, lift: float = 0.0) -> list[dict[str, Any]]:
    """Return metrics of a run with half a second per step and some evaluations."""
    metrics: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        nll = 5 / step + lift
        metrics.append(
            {"step": step, "loss": nll + 0.5, "nll": nll, "learning_rate": step * 1e-4}
            | {"gradient_norm": 2.0, "tokens": 700, "seconds": 0.5}
        )
        if step % every == 0:
            accuracy = step / steps
            metrics.append({"step": step, "valid_loss": nll + 0.1, "token_accuracy": accuracy})
    return metrics


def traces(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_training_and_validation_are_drawn_at_their_steps() -> None:
    traces_by_name = traces(curves({"only": lines()}))
    assert list(traces_by_name) == ["training", "validation"]
    np.testing.assert_array_equal(traces_by_name["training"].x, np.arange(1, 21))
    np.testing.assert_allclose(
        traces_by_name["training"].y, 5 / np.arange(1, 21)
    )  # without smoothing
    np.testing.assert_array_equal(traces_by_name["validation"].x, [5, 10, 15, 20])
    np.testing.assert_allclose(traces_by_name["validation"].y, 5 / np.array([5, 10, 15, 20]) + 0.1)
    assert traces_by_name["training"].mode == "lines"
    assert traces_by_name["validation"].mode == "lines+markers"


def test_tokens_per_second_are_those_of_a_step() -> None:
    traces_by_name = traces(curves({"only": lines()}, "tokens_per_second"))
    np.testing.assert_allclose(traces_by_name["training"].y, np.full(20, 1400))


def test_thinning_keeps_ends_and_extremes_in_order() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(20_000.0), rng.normal(size=20_000)
    y[12_345], y[777] = 50, -50
    fewer_x, fewer_y = thin(x, y)
    assert MAX_POINTS * 0.9 < len(fewer_x) <= MAX_POINTS
    assert (np.diff(fewer_x) > 0).all()
    np.testing.assert_array_equal(fewer_y, y[fewer_x.astype(int)])
    assert (fewer_x[0], fewer_x[-1]) == (0, 19_999)
    assert {12_345, 777} <= set(fewer_x.astype(int))
    # In any section the range is kept, except for the edges of a bucket.
    bucket_size = 20_000 * 2 // MAX_POINTS + 2
    for start in range(100, 19_000, 977):
        is_near = (fewer_x >= start) & (fewer_x <= start + 3 * bucket_size)
        section = y[start + bucket_size : start + 2 * bucket_size]
        assert fewer_y[is_near].max() >= section.max()
        assert fewer_y[is_near].min() <= section.min()


def test_names_are_escaped() -> None:
    figure = curves({HOSTILE: lines(), "other": lines()}, title=HOSTILE)
    layout = figure.to_plotly_json()["layout"]
    names = [trace.name for trace in figure.data]
    for text in [layout["title"]["text"], *names]:
        assert "<" not in text
    assert names[0].startswith("&lt;b&gt;x&lt;/b&gt; %{x} &lt;img")
    # A name within the template would be filled in; it is fetched by Plotly, and not read again.
    assert all("%{x} " not in trace.hovertemplate.split("<extra>")[1] for trace in figure.data)
    assert all(
        trace.hovertemplate.endswith("<extra>%{fullData.name}</extra>") for trace in figure.data
    )


def test_nan_is_left_out() -> None:
    broken = [*lines(4), {"step": 5, "loss": float("nan"), "nll": float("inf"), "seconds": 1.0}]
    assert curves({"r": broken}).data[0].x.tolist() == [1, 2, 3, 4]


def test_a_law_is_a_line_and_its_measurements_are_marks_of_one_colour() -> None:
    laws = [
        Law("a<b>", 0, x=[1, 10], y=[2, 20], seen_x=[1, 5], seen_y=[2.5, 9]),
        Law("bare", 3, x=[1, 10], y=[1, 100]),
    ]
    figure = law_lines(laws, x_title="n", y_title="seconds", marked_x=(7, "n = 7"),
                  crossings=[(3, 4, "they meet")])  # fmt: skip
    line, marks, line_without_marks, crossing = figure.data
    assert (line.mode, marks.mode, line_without_marks.mode) == ("lines", "markers", "lines")
    assert list(marks.y) == [2.5, 9]
    assert line.line.color == marks.marker.color == LIGHT[0] != line_without_marks.line.color
    assert [trace.showlegend for trace in (line, line_without_marks)] == [False, True]
    assert "<b>" not in line.name
    assert (crossing.x[0], crossing.y[0]) == (3, 4)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert law_lines(laws, x_title="n", y_title="s", dark=True).data[0].line.color == DARK[0]
