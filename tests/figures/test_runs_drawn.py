"""Runs that learn: Adam's moments written out, and a wall of their curves and heads."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch

from tests.figures.made import update
from tests.model.small import make_config
from transformer.figures.moments import MATRICES, moments_data, moments_page
from transformer.figures.packing import rounding_error, unpack, weights_of
from transformer.figures.wall import POINTS, Card, thinned, wall_data
from transformer.model import Transformer
from transformer.training.distributed import World
from transformer.training.evaluation_callback import Moments
from transformer.training.learner import Learner


def test_every_matrix_and_number_arrives() -> None:
    given = update()
    found = moments_data(given)
    assert set(found["matrices"]) == set(MATRICES)
    for name in MATRICES:
        assert found["matrices"][name] == given[name]
    assert (found["t"], found["beta2"], found["epsilon"]) == (7, 0.98, 1e-9)
    json.dumps(found, allow_nan=False)


def test_no_more_than_a_corner_is_shown() -> None:
    found = moments_data(update(20, 17))
    assert {(len(m), len(m[0])) for m in found["matrices"].values()} == {(16, 16)}
    assert found["shape"] == [20, 17]


def test_before_the_first_step_there_is_nothing() -> None:
    assert moments_data({}) == {"name": ""}


def test_what_is_no_number_travels_as_none() -> None:
    given = update()
    given["gradient"][0][1], given["m"][2][2] = float("nan"), float("inf")
    found = moments_data(given)
    assert found["matrices"]["gradient"][0][1] is None
    assert found["matrices"]["m"][2][2] is None
    data = moments_page(given).split("</script>")[0]
    assert "NaN" not in data


def test_what_is_missing_or_of_another_size_is_named() -> None:
    given = update()
    with pytest.raises(ValueError, match="no 'm_hat'"):
        moments_data({name: value for name, value in given.items() if name != "m_hat"})
    with pytest.raises(ValueError, match="same size"):
        moments_data({**given, "v": given["v"][:2]})
    with pytest.raises(ValueError, match="same size"):
        moments_data({**given, **{key: [] for key in MATRICES}})


def test_a_name_stays_text() -> None:
    written = moments_page({**update(), "name": "</script><script>alert(1)</script>"})
    assert len(re.findall(r"</?script", written)) == 4  # its data, and what shows them


def test_the_trainer_writes_what_is_shown() -> None:
    learner = Learner(Transformer(make_config()), torch.float32, World())
    trainers = Moments(learner)
    assert moments_data(trainers.after_update()) == {"name": ""}
    for weight in learner.model.parameters():
        weight.grad = torch.ones_like(weight)
    trainers.before_update()
    learner.update(0.5, 1e9)
    found = moments_data(json.loads(json.dumps(trainers.after_update())))
    corner = np.array(found["matrices"]["value"])
    weight = learner.model.get_parameter(found["name"]).detach()[:16, :16]
    np.testing.assert_array_equal(corner, weight.double().numpy())
    # The first step of Adam is the learning rate long, whatever the gradient.
    np.testing.assert_allclose(found["matrices"]["step"], np.full((16, 16), 0.5), rtol=1e-4)


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
