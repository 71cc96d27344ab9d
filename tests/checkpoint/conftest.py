"""A small checkpoint on disk, a new one for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkpoint.models import tiny_transformer
from transformer.checkpoint import save_checkpoint
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture
def model(vocabulary: Vocabulary) -> Transformer:
    return tiny_transformer(len(vocabulary))


@pytest.fixture
def folder(tmp_path: Path, model: Transformer, vocabulary: Vocabulary) -> Path:
    save_checkpoint(tmp_path / "model", model, vocabulary, "# Card\n")
    return tmp_path / "model"
