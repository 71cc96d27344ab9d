"""Training curves have the measured values, and names are escaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer.figures.complexity import Law, law_lines, reachable_positions
from transformer.figures.curves import DARK, LIGHT, MAX_POINTS, QUANTITIES, curves, thin

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


def test_over_seconds_validation_is_at_the_end_of_its_step() -> None:
    traces_by_name = traces(curves({"only": lines()}, x="seconds"))
    np.testing.assert_allclose(traces_by_name["training"].x, 0.5 * np.arange(1, 21))
    np.testing.assert_allclose(traces_by_name["validation"].x, [2.5, 5, 7.5, 10])


def test_tokens_per_second_are_those_of_a_step() -> None:
    traces_by_name = traces(curves({"only": lines()}, "tokens_per_second"))
    np.testing.assert_allclose(traces_by_name["training"].y, np.full(20, 1400))


def test_runs_differ_in_dashes_as_well_as_colour() -> None:
    runs = {f"run {n}": lines(lift=n) for n in range(6)}
    lines_of_runs = traces(curves(runs, "learning_rate")).values()
    assert len({trace.line.color for trace in lines_of_runs}) == 6
    assert len({trace.line.dash for trace in lines_of_runs}) == 6
    validation = [t for name, t in traces(curves(runs)).items() if "validation" in name]
    assert len({trace.marker.symbol for trace in validation}) == 6
    assert len({trace.line.dash for trace in validation}) == 6
    sixteen_runs = curves({f"run {n}": lines() for n in range(16)}, "learning_rate").data
    assert len({(trace.line.color, trace.line.dash) for trace in sixteen_runs}) == 16


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(("palette", "ground"), [(LIGHT, "#ffffff"), (DARK, "#12161c")])
def test_every_colour_contrasts_with_its_background(palette: tuple[str, ...], ground: str) -> None:
    for colour in palette:
        low, high = sorted([luminance(colour), luminance(ground)])
        assert (high + 0.05) / (low + 0.05) >= 3, colour


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


def test_only_long_curves_are_thinned() -> None:
    x, y = thin(np.arange(float(MAX_POINTS)), np.zeros(MAX_POINTS))
    assert len(x) == len(y) == MAX_POINTS
    assert len(curves({"long": lines(5000)}).data[0].x) <= MAX_POINTS
    for limit in (4, 5, 6, 7, 100):
        assert (
            len(thin(np.arange(1000.0), np.random.default_rng(1).normal(size=1000), limit)[0])
            <= limit
        )
    with pytest.raises(ValueError, match="4 points or more, not 3"):
        thin(np.arange(9.0), np.arange(9.0), 3)


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


def test_long_names_are_cut_and_line_breaks_removed() -> None:
    first, second = "a\nb " + "w" * 500, "other"
    name = curves({first: lines(), second: lines()}).data[0].name
    assert name == "a b " + "w" * 35 + "… · training"


def test_axes_have_units_and_zoom_survives_new_points() -> None:
    before, after = curves({"r": lines(10)}), curves({"r": lines(20)})
    assert before.layout.xaxis.title.text == "step"
    assert before.layout.yaxis.title.text == "loss (nats per token)"
    assert before.layout.uirevision == after.layout.uirevision
    assert curves({"r": lines()}, x="seconds").layout.uirevision != before.layout.uirevision
    assert curves({"r": lines()}, x="seconds").layout.xaxis.title.text == "seconds of training"
    share = curves({"r": lines()}, "token_accuracy").layout.yaxis
    assert (share.tickformat, share.range) == (".0%", (-0.02, 1.02))


def test_without_a_point_the_figure_says_so() -> None:
    for runs in ({}, {"new": []}, {"cut": [{"step": 3}, {"loss": None, "step": 1}]}):
        figure = curves(runs)
        assert not figure.data
        assert "Nothing to draw yet" in figure.layout.annotations[0].text
    assert not curves({"r": lines()}).layout.annotations


def test_nan_is_left_out() -> None:
    broken = [*lines(4), {"step": 5, "loss": float("nan"), "nll": float("inf"), "seconds": 1.0}]
    assert curves({"r": broken}).data[0].x.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("quantity_name", QUANTITIES)
def test_every_quantity_can_be_drawn(quantity_name: str) -> None:
    line = {"step": 1, "loss": 1.0, "nll": 1.0, "learning_rate": 1.0, "gradient_norm": 1.0}
    line |= {"tokens": 7, "seconds": 1.0}
    valid = {"step": 1, "valid_loss": 1.0, "perplexity": 2.7, "token_accuracy": 0.5}
    valid |= {"sequence_accuracy": 0.5, "bleu": 30.0, "aer": 0.2}
    valid |= {"previous_token_weight": 0.1, "aligned_weight": 0.6, "just_read_weight": 0.4}
    assert curves({"r": [line, valid]}, quantity_name).data


def test_unknown_quantities_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no curve of 'los'; there are loss, "):
        curves({}, "los")
    with pytest.raises(ValueError, match="step or seconds, not 'epoch'"):
        curves({}, x="epoch")


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
    assert figure.layout.shapes[0].x0 == 7
    assert 10 ** figure.layout.annotations[0].x == pytest.approx(7)
    assert law_lines(laws, x_title="n", y_title="s", dark=True).data[0].line.color == DARK[0]


def test_the_grid_counts_positions_from_1_and_layers_from_0() -> None:
    grid = np.array([[False, False, True], [False, True, True]])
    cells = reachable_positions(grid).data[0]
    assert np.array(cells.z).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert list(cells.x) == [1, 2, 3]
    assert list(cells.y) == [0, 1]
    assert cells.customdata[0][0] == "does not reach"
