"""The line of an effect: where its signs stand, and that its words say the same."""

from __future__ import annotations

import re

import pytest

from transformer.figures.interval import interval, text


def place(html: str, name: str) -> float:
    """Where a sign of the line begins, percent from the left."""
    (found,) = re.findall(rf'class="{name}" style="left:([-\d.]+)%', html)
    return float(found)


@pytest.mark.parametrize(
    ("bounds", "floor"), [((0.1, 0.2, 0.4), 0.05), ((-3.0, -1.0, 0.5), 1.0), ((99, 99, 99), 90)]
)
def test_signs_stand_in_the_order_of_their_numbers(
    bounds: tuple[float, float, float], floor: float
) -> None:
    made = interval("the gap", "points", bounds, floor)
    numbers = {"bar": bounds[0], "dot": bounds[1], "floor": floor, "zero": 0.0}
    places = {name: place(made, name) for name in numbers}
    assert all(0 < where < 100 for where in places.values())
    by_number = sorted(numbers, key=lambda name: (numbers[name], name))
    by_place = sorted(numbers, key=lambda name: (places[name], numbers[name], name))
    assert by_number == by_place
    # To scale: a step on the line is worth the same everywhere.
    scale = (places["floor"] - places["zero"]) / floor
    assert places["dot"] - places["zero"] == pytest.approx(scale * bounds[1], abs=0.02)
    assert place(made, "side") == places["floor"]
    assert place(interval("a", "b", bounds, floor, below=True), "side") == 0


def test_words_and_signs() -> None:
    made = interval("the <gap>", "% of the loss", (-0.125, 0.5, 1.0), 1.0, below=True)
    assert "The &lt;gap&gt;: <b>0.5% of the loss (95%: −0.125 to 1)</b>" in made
    assert "The claim needs &lt; 1% of the loss" in made
    assert 'role="img"' in made
    assert "the claim needs below 1" in made
    assert text(133.27) == "133"
