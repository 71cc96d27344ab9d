"""Which checkpoint is loaded before anybody asks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transformer.ui import models
from transformer.ui.kit.kept import Kept


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(models.FOLDER, str(tmp_path))
    monkeypatch.setattr(models, "_loaded", Kept(models.LOADED, models._size))
    shutil.copytree(checkpoints / "tiny", tmp_path / "b")
    return tmp_path


def test_the_first_that_opens_is_there_for_whoever_comes(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "config.json").write_text("{}")
    models.load_first()
    assert models._loaded.get((str(folder / "b"), models.digest(folder / "b")))
    assert models.default() == "b"


def test_a_checkpoint_that_breaks_and_none_at_all_are_the_pages_to_say(folder: Path) -> None:
    (folder / "b" / "vocabulary.model").write_bytes(b"nothing")
    models.load_first()
    shutil.rmtree(folder / "b")
    models.load_first()
