"""The languages of a checkpoint: its card's, or those in its name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transformer.checkpoint import CheckpointError, load_languages, save_checkpoint
from transformer.languages import front_matter
from transformer.model import Transformer
from transformer.text import Vocabulary


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
