"""Complete configs from a few settings; vocabularies for texts of any size; time estimates."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text.tasks import TASKS
from transformer.training.data import TrainingPairs, fit_vocabulary
from transformer.training.estimate import (
    STARTUP_SECONDS,
    Workload,
    measure_step,
    total_estimate,
    workload,
)
from transformer.training.recipe import make_run_config


@pytest.mark.parametrize("task", [*TASKS, None])
def test_every_task_has_a_complete_config(task: str | None) -> None:
    config = make_run_config(task).to_dict()
    assert ModelConfig.from_dict(config["model"]).to_dict() == config["model"]
    assert TrainingConfig.from_dict(config["training"]).to_dict() == config["training"]
    if task:
        assert config["model"]["vocab_size"] == len(TASKS[task].symbols) + 4
        assert config["data"]["options"].items() >= TASKS[task].settings().items()


def test_settings_override_defaults() -> None:
    config = make_run_config(
        "sort",
        settings={"n_heads": 8, "steps": 9, "seed": 5},
        options={"longest": 5, "n_train": 50, "n_valid": 5},
        probes=[("b a", "a b")],
        title="Mine",
    ).to_dict()
    assert (config["model"]["n_heads"], config["training"]["steps"]) == (8, 9)
    assert config["data"] == {
        "task": "sort",
        "options": {"n_train": 50, "n_valid": 5, "longest": 5},
    }
    assert (config["title"], config["probes"]) == ("Mine", (("b a", "a b"),))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "sorted"}, "no task 'sorted': choose one of copy"),
        ({"task": "sort", "settings": {"n_head": 2}}, "no setting 'n_head'; did you mean 'n_h"),
        ({"task": "sort", "options": {"n_train": -1}}, "each must be at least 1"),
        ({"task": "sort", "preset": "huge"}, "no preset 'huge'"),
    ],
)
def test_invalid_arguments_raise_a_one_sentence_error(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_run_config(**arguments)


def make_corpus(pairs: list[tuple[str, str]]) -> TrainingPairs:
    return TrainingPairs(lambda: iter(pairs), lambda: iter(pairs[:1]))


@pytest.mark.parametrize("vocab_size", [10, 400, 100_000])
def test_vocabulary_size_is_fitted_to_the_text(vocab_size: int) -> None:
    """150 words of two letters: the size is reduced or increased to fit the text."""
    words = [a + b for a in "bcdfghjklmnp" for b in "aeiouywvxzqrst"][:150]
    vocabulary = fit_vocabulary(make_corpus([(word, word[::-1]) for word in words]), vocab_size)
    assert 260 < len(vocabulary) <= max(vocab_size, 300)
    assert vocabulary.decode(vocabulary.encode("ba tix é")) == "ba tix é"


def test_an_estimate_is_measured_once_and_changes_no_random_state() -> None:
    settings = {"d_model": 32, "n_layers": 1, "steps": 60, "precision": "fp32"}
    config = make_run_config("reverse", settings=settings, options={"n_train": 500, "n_valid": 20})
    measured = measure_step(workload(config))
    parameters, steps, seconds = total_estimate(config, *measured)
    model = Transformer(config.model)
    assert (parameters, steps) == (sum(p.numel() for p in model.parameters()), 60)
    state = torch.random.get_rng_state()
    assert measure_step(workload(config)) == measured  # cached: a new measurement would differ
    assert torch.equal(state, torch.random.get_rng_state())
    assert seconds > STARTUP_SECONDS


@pytest.mark.parametrize(
    ("pairs", "lengths"),
    [
        ([], (12, 12)),
        ([("a b c d", "a b")] * 30, (7, 4)),  # one and a half tokens per word, and `</s>`
        (
            [("a b c d", "a b")] * 30 + [("a " * 9000, "b")] * 30,
            (7, 4),
        ),  # too long pairs are left out
        ([("x" * 100_000, "y")] * 30, (129, 129)),  # all pairs are too long
        ([("x" * 80, "y z")] * 30, (21, 4)),
    ],
)
def test_workload_has_the_lengths_of_training(
    pairs: list[tuple[str, str]], lengths: tuple[int, int]
) -> None:
    measured_workload = workload(make_run_config(), pairs)
    assert (measured_workload.n_src, measured_workload.n_tgt) == lengths
    assert Workload.from_dict(measured_workload.to_dict()) == measured_workload
