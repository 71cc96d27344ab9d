"""The whole of it learns: a task that nobody can do without reading the source."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import pytest

from tests.training.conftest import trainer_of
from transformer.config import ModelConfig, TrainingConfig
from transformer.text import TokenStore, Vocabulary
from transformer.training.data import Prepared
from transformer.training.run import RunFolder


def test_it_learns_to_reverse(tmp_path: Path) -> None:
    """Four of eight words at random, to be said backwards, in pairs that it has not seen. Who does
    not read the source cannot do better than ln 8 nats for each word and 0 for `</s>`."""
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]
    rows = list(itertools.product(words, repeat=4))
    random.Random(1).shuffle(rows)
    pairs = [(" ".join(row), " ".join(reversed(row))) for row in rows]
    vocabulary = Vocabulary.train((source for source, _ in pairs), 284)
    stores = {
        name: TokenStore.build(tmp_path / name, part, vocabulary)
        for name, part in (("train", pairs[:3500]), ("valid", pairs[3500:3700]))
    }
    data = Prepared(vocabulary, stores["train"], stores["valid"])
    assert set(stores["train"].tgt_lengths) == {5}
    trainer = trainer_of(
        RunFolder(tmp_path / "run"),
        ModelConfig(vocab_size=284, d_model=32, n_layers=1, n_heads=4, d_ff=64, dropout=0.0),
        TrainingConfig.from_dict(
            {"steps": 150, "batch_tokens": 640, "warmup": 30, "learning_rate": 0.01}
            | {"cooldown": 0.3, "label_smoothing": 0.0, "valid_every": 75, "save_every": 150}
            | {"precision": "fp32"}
        ),
        data,
    )
    before = trainer.task.validation_loss()
    assert before == pytest.approx(math.log(284), abs=0.7)
    assert trainer.train() == "finished"
    blind = 4 * math.log(8) / 5
    assert trainer.task.validation_loss() < blind / 4
    assert trainer.progress.best_valid == trainer.task.validation_loss()
