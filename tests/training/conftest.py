"""Fixtures: a corpus on disk, its encoded pairs, and trainers of models with few weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer.config import ModelConfig, TrainingConfig
from transformer.text import Vocabulary
from transformer.training.data import PreparedData, TrainingPairs, prepare_data
from transformer.training.evaluator import ProbeSet
from transformer.training.run_config import PairsRun
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import TranslationTask
from transformer.training.trainer import Report, Trainer

SHAPE: dict[str, Any] = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32, "dropout": 0.1}
SETTINGS: dict[str, Any] = {
    "steps": 12,
    "batch_tokens": 400,
    "warmup": 10,
    "learning_rate": 0.01,
    "valid_every": 4,
    "save_every": 5,
    "average": 2,
    "precision": "fp32",
}
MakeTrainer = Callable[..., Trainer]


def translation_task(trainer: Trainer) -> TranslationTask:
    """Return the trainer's task, a translation task."""
    assert isinstance(trainer.task, TranslationTask)
    return trainer.task


@pytest.fixture(scope="session")
def data(
    tmp_path_factory: pytest.TempPathFactory, pairs_file: Path, vocabulary: Vocabulary
) -> PreparedData:
    """The encoded pairs, four of them for validation."""
    run = RunFolder(tmp_path_factory.mktemp("prepared"))
    vocabulary.save(run.vocabulary_path)
    return prepare_data(
        run, TrainingPairs.from_files([pairs_file]), vocab_size=len(vocabulary), max_len=64
    )


@pytest.fixture
def make_trainer(tmp_path: Path, data: PreparedData) -> MakeTrainer:
    """`make_trainer("run", steps=9)` returns a trainer on the CPU, which resumes the run in that
    folder if there is one."""

    def make(
        name: str = "run",
        shape: dict[str, Any] | None = None,
        report: Report = lambda line: None,
        probe_set: ProbeSet | None = None,
        data: PreparedData = data,
        task_class: type[TranslationTask] = TranslationTask,
        **settings: Any,
    ) -> Trainer:
        run = RunFolder(tmp_path / name)
        config = PairsRun(
            pairs="pairs.tsv",
            model=ModelConfig(vocab_size=len(data.vocabulary), **(SHAPE | (shape or {}))),
            training=TrainingConfig(**(SETTINGS | settings)),
        )
        task = task_class(run, config, data, run.loop_state(), torch.device("cpu"), probe_set)
        return Trainer(run, config.training, task, report=report)

    return make


class KilledError(BaseException):
    """Ends a run at once, without a final state or save."""


def kill(*_: object) -> None:
    raise KilledError


def call_at(step: int, function: Callable[[], object]) -> Report:
    """Return a callback for lines of metrics.jsonl that calls `function` at this training step."""
    return lambda line: function() if line["step"] == step and "loss" in line else None


def losses(run: RunFolder) -> list[tuple[int, float]]:
    """Return (step, loss) of every line, with -step for a validation loss."""
    return [
        (line["step"], line["loss"]) if "loss" in line else (-line["step"], line["valid_loss"])
        for line in run.metrics()
    ]
