"""What the wall of a class is given."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.packing import rounding_error, unpack, weights_of
from transformer.figures.wall import POINTS, Card, thinned, wall_data


def card(name: str, weights: list[list[float]] | None = None) -> Card:
    more = {} if weights is None else {"weights": np.array(weights, "f2"), "head": "Layer 1"}
    return Card(name, "Ann", "Reverse", "running", 12, 0.25, 0.5, [(0, 3.0), (12, 1.5)], **more)  # type: ignore[arg-type]


def test_every_run_has_its_card_and_whoever_has_a_picture_its_head() -> None:
    weights = [[0.25, 0.75], [1.0, 0.0]]
    header, parts = unpack(wall_data([card("a", weights), card("b")]))
    assert [one["name"] for one in header["cards"]] == ["a", "b"]
    first = header["cards"][0]
    assert (first["who"], first["step"], first["right"]) == ("Ann", 12, 0.5)
    assert first["curve"] == [[0, 3.0], [12, 1.5]]
    assert set(parts) == {"a"}
    found = weights_of(parts["a"])
    for mine, theirs in zip(found.ravel(), np.ravel(weights), strict=True):
        assert abs(mine - theirs) <= rounding_error(theirs, parts["a"].top)


@pytest.mark.parametrize("count", [0, 1, 2, POINTS, POINTS + 1, 95, 96, 97, 1000, 20_000])
def test_a_long_curve_keeps_its_ends_and_its_order(count: int) -> None:
    curve = [(step, 1.0 / (step + 1)) for step in range(count)]
    kept = thinned(curve)
    assert len(kept) <= POINTS
    assert kept == sorted(set(kept))
    assert kept[:1] == curve[:1]
    assert kept[-1:] == curve[-1:]
    assert count > POINTS or kept == curve
