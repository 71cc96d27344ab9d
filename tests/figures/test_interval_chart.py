"""Charts of measurements with their intervals."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from transformer.figures.interval_chart import format_value, interval, measurement_chart
from transformer.measures.chart import Chart

TABLE = pd.DataFrame(
    {
        "name": ["a", "<b>x</b>", "a", "a"],
        "who": ["one", "one", "two", "two"],
        "value": [0.5, 0.25, 0.75, 1.0],
        "low": [0.4, 0.2, 0.7, 0.9],
        "high": [0.7, 0.3, 0.8, 1.0],
    }
)
CHART = Chart("name", "value", "names", "share of all", by="who", mark=(0.9, "90%"), percent=True)


def test_values_and_intervals_are_those_of_the_table() -> None:
    figure = measurement_chart(TABLE, CHART)
    first, second = figure.data
    assert (first.name, second.name) == ("one", "two")
    assert list(first.y) == [0.5, 0.25]
    assert list(first.error_y.array) == pytest.approx([0.2, 0.05])
    assert list(first.error_y.arrayminus) == pytest.approx([0.1, 0.05])
    assert first.line.color != second.line.color
    assert first.line.dash != second.line.dash
    assert figure.layout.yaxis.title.text == "share of all"
    assert figure.layout.shapes[0].y0 == 0.9


def test_numeric_axes_keep_distances() -> None:
    table = pd.DataFrame({"n": [1, 10, 100], "loss": [1.0, 2.0, 3.0]})
    figure = measurement_chart(table, Chart("n", "loss", "heads", "loss"))
    (line,) = figure.data
    assert list(line.x) == [1, 10, 100]
    assert line.error_y.array is None  # no interval is known
    assert not figure.layout.showlegend


def left_percent(html: str, name: str) -> float:
    """Return the left edge of a marker of the line, in percent."""
    (value,) = re.findall(rf'class="{name}" style="left:([-\d.]+)%', html)
    return float(value)


@pytest.mark.parametrize(
    ("bounds", "floor"), [((0.1, 0.2, 0.4), 0.05), ((-3.0, -1.0, 0.5), 1.0), ((99, 99, 99), 90)]
)
def test_markers_are_in_the_order_of_their_numbers(
    bounds: tuple[float, float, float], floor: float
) -> None:
    html = interval("the gap", "points", bounds, floor)
    numbers = {"bar": bounds[0], "dot": bounds[1], "floor": floor, "zero": 0.0}
    positions = {name: left_percent(html, name) for name in numbers}
    assert all(0 < position < 100 for position in positions.values())
    by_number = sorted(numbers, key=lambda name: (numbers[name], name))
    by_place = sorted(numbers, key=lambda name: (positions[name], numbers[name], name))
    assert by_number == by_place
    # To scale: a step on the line is worth the same everywhere.
    scale = (positions["floor"] - positions["zero"]) / floor
    assert positions["dot"] - positions["zero"] == pytest.approx(scale * bounds[1], abs=0.05)
    assert left_percent(html, "side") == positions["floor"]
    assert left_percent(interval("a", "b", bounds, floor, below=True), "side") == 0


def test_effect_text_and_symbols() -> None:
    html = interval("the <gap>", "% of the loss", (-0.125, 0.5, 1.0), 1.0, below=True)
    assert "The &lt;gap&gt;: <b>0.5% of the loss (95%: −0.125 to 1)</b>" in html
    assert "The claim needs &lt; 1% of the loss" in html
    assert 'role="img"' in html
    assert "the claim needs less than 1" in html
    assert format_value(133.27) == "133"
