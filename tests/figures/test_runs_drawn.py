"""Data of training views: Adam's moments, and the wall of curves and heads."""

from __future__ import annotations

import json

import numpy as np
import torch

from tests.figures.fake_traces import update
from tests.figures.levels import rounding_error, weights_of
from tests.model.small import make_config
from transformer.figures.moments import MATRICES, moments_data
from transformer.figures.packing import unpack
from transformer.figures.views import view_page
from transformer.figures.wall import Card, wall_data
from transformer.model import Transformer
from transformer.training.evaluation_callback import Moments
from transformer.training.learner import Learner


def test_every_matrix_and_number_is_passed() -> None:
    adam_update = update()
    data = moments_data(adam_update)
    assert set(data["matrices"]) == set(MATRICES)
    for name in MATRICES:
        assert data["matrices"][name] == adam_update[name]
    assert (data["t"], data["beta2"], data["epsilon"]) == (7, 0.98, 1e-9)
    json.dumps(data, allow_nan=False)


def test_nan_becomes_none() -> None:
    adam_update = update()
    adam_update["gradient"][0][1], adam_update["m"][2][2] = float("nan"), float("inf")
    moments = moments_data(adam_update)
    assert moments["matrices"]["gradient"][0][1] is None
    assert moments["matrices"]["m"][2][2] is None
    data = view_page("moments", moments_data(adam_update), "Moments").split("</script>")[0]
    assert "NaN" not in data


def test_the_trainer_writes_what_is_shown() -> None:
    learner = Learner(Transformer(make_config()), torch.float32)
    trainers = Moments(learner)
    assert moments_data(trainers.after_update()) == {"name": ""}
    for weight in learner.model.parameters():
        weight.grad = torch.ones_like(weight)
    trainers.before_update()
    learner.update(0.5, 1e9)
    data = moments_data(json.loads(json.dumps(trainers.after_update())))
    corner = np.array(data["matrices"]["value"])
    weight = learner.model.get_parameter(data["name"]).detach()[:16, :16]
    np.testing.assert_array_equal(corner, weight.double().numpy())
    # The first step of Adam is the learning rate long, whatever the gradient.
    np.testing.assert_allclose(data["matrices"]["step"], np.full((16, 16), 0.5), rtol=1e-4)


def card(name: str, weights: list[list[float]] | None = None) -> Card:
    options = {} if weights is None else {"weights": np.array(weights, "f2"), "head": "Layer 1"}
    return Card(name, "Ann", "Reverse", "running", 12, 0.25, 0.5, [(0, 3.0), (12, 1.5)], **options)  # type: ignore[arg-type]


def test_every_run_has_a_card_and_optionally_a_head() -> None:
    weights = [[0.25, 0.75], [1.0, 0.0]]
    header, parts = unpack(wall_data([card("a", weights), card("b")]))
    assert [entry["name"] for entry in header["cards"]] == ["a", "b"]
    first = header["cards"][0]
    assert (first["owner"], first["step"], first["accuracy"]) == ("Ann", 12, 0.5)
    assert first["curve"] == [[0, 3.0], [12, 1.5]]
    assert set(parts) == {"a"}
    unpacked = weights_of(parts["a"])
    for actual, expected in zip(unpacked.ravel(), np.ravel(weights), strict=True):
        assert abs(actual - expected) <= rounding_error(expected, parts["a"].top)
