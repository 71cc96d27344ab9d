"""Complete configs from a few settings; vocabularies for texts of any size."""

from __future__ import annotations

from typing import Any

import pytest

from transformer.config import ModelConfig, TrainingConfig
from transformer.text.tasks import TASKS
from transformer.training.data import TrainingPairs, fit_vocabulary
from transformer.training.recipe import make_run_config


@pytest.mark.parametrize("task", [*TASKS, None])
def test_every_task_has_a_complete_config(task: str | None) -> None:
    config = make_run_config(task).to_dict()
    assert ModelConfig.from_dict(config["model"]).to_dict() == config["model"]
    assert TrainingConfig.from_dict(config["training"]).to_dict() == config["training"]
    if task:
        assert config["model"]["vocab_size"] == len(TASKS[task].symbols) + 4
        assert config["data"]["options"].items() >= TASKS[task].settings().items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "sorted"}, "no task 'sorted': choose one of copy"),
        ({"task": "sort", "settings": {"n_head": 2}}, "no setting 'n_head'; did you mean 'n_h"),
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
