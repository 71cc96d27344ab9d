"""A checkpoint gives back what was saved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoint.models import tiny, weights
from transformer.checkpoint import (
    CheckpointError,
    checkpoint_hash,
    load_checkpoint,
    load_languages,
    save_checkpoint,
)
from transformer.languages import front_matter
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


def test_a_card_goes_before_the_name(
    tmp_path: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    card = front_matter(("en", "de")) + "# Card\n"
    save_checkpoint(tmp_path / "en-fr", model, vocabulary, card)
    assert load_languages(tmp_path / "en-fr") == ("en", "de")


def test_without_a_card_the_name_says_it(folder: Path, tmp_path: Path) -> None:
    assert load_languages(folder) is None
    named = tmp_path / "en-de"
    shutil.copytree(folder, named)
    assert load_languages(named) == ("en", "de")
    (named / "README.md").unlink()
    assert load_languages(named) == ("en", "de")


def test_a_card_of_other_bytes_is_no_reason_to_end(folder: Path) -> None:
    (folder / "README.md").write_bytes(b"---\nlanguage: [en, fr]\nauthor: M\xfcller\n---\n")
    assert load_languages(folder) == ("en", "fr")
    (folder / "README.md").write_bytes(b"\xef\xbb\xbf---\nlanguage: [fr, en]\n---\n\xff\xfe")
    assert load_languages(folder) == ("fr", "en")


def test_of_a_large_card_only_the_beginning_is_read(folder: Path) -> None:
    card = folder / "README.md"
    card.write_bytes(b"---\nlanguage: [en, fr]\n---\n" + b"x" * 1_000_000)
    assert load_languages(folder) == ("en", "fr")


def test_a_wrong_card_names_its_file(folder: Path) -> None:
    (folder / "README.md").write_text("---\nlanguage: en\n---\n")
    with pytest.raises(CheckpointError, match=r"README.md: languages are two codes.*'en'"):
        load_languages(folder)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no checkpoint folder"):
        load_languages(tmp_path / "en-fr")
