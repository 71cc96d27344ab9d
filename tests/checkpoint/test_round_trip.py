"""A checkpoint gives back what was saved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoint.models import tiny, weights
from transformer.checkpoint import checkpoint_hash, load_checkpoint, save_checkpoint
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.mark.parametrize(
    "changes",
    [{}, {"score": "additive"}, {"positions": "learned", "max_len": 7}, {"positions": "none"}],
)
def test_float32_comes_back_exactly(
    tmp_path: Path, vocabulary: Vocabulary, changes: dict[str, Any]
) -> None:
    model = tiny(len(vocabulary), **changes)
    save_checkpoint(tmp_path / "model", model, vocabulary, "")
    loaded, pieces = load_checkpoint(tmp_path / "model")
    assert loaded.config == model.config
    assert pieces.to_bytes() == vocabulary.to_bytes()
    assert not loaded.training
    assert not any(weight.requires_grad for weight in loaded.parameters())
    for name, weight in weights(model).items():
        assert torch.equal(loaded.get_parameter(name), weight), name


def test_float16_halves_the_file_and_rounds(
    tmp_path: Path, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    save_checkpoint(tmp_path / "half", model, vocabulary, "", dtype=torch.float16)
    loaded, _ = load_checkpoint(tmp_path / "half")
    for name, weight in weights(model).items():
        assert loaded.get_parameter(name).dtype == torch.float32
        # 11 bits: half a unit in the last place of each number, or of the smallest normal one.
        error = (loaded.get_parameter(name) - weight).abs()
        assert (error <= weight.abs() * 2**-11 + 2**-25).all(), name
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "half", folder)]
    assert sizes[0] < 0.6 * sizes[1]


def test_loading_leaves_the_random_numbers_alone(folder: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_checkpoint(folder)
    assert torch.equal(torch.rand(3), expected)


def test_the_hash_follows_the_numbers_and_not_the_card(
    tmp_path: Path, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    before = checkpoint_hash(folder)
    assert len(before) == 16
    save_checkpoint(folder, model, vocabulary, "another card")
    assert checkpoint_hash(folder) == before
    shutil.copytree(folder, tmp_path / "moved")
    assert checkpoint_hash(tmp_path / "moved") == before
    save_checkpoint(folder, tiny(len(vocabulary), seed=1), vocabulary, "another card")
    assert checkpoint_hash(folder) != before
