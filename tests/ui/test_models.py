"""Which checkpoint is loaded before anybody asks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transformer.inference import Translator
from transformer.ui import model_list, models
from transformer.ui.kit.kept import Kept


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(models.FOLDER, str(tmp_path))
    kept = Kept[Translator](10**9, models._size)
    monkeypatch.setattr(models, "_loaded", lambda: kept)
    shutil.copytree(checkpoints / "tiny", tmp_path / "b")
    return tmp_path


def test_the_first_that_opens_is_there_for_whoever_comes(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "config.json").write_text("{}")
    models.load_first()
    assert models._loaded().get((str(folder / "b"), models.digest(folder / "b")))
    assert models.default() == "b"


def test_a_checkpoint_that_breaks_and_none_at_all_are_the_pages_to_say(folder: Path) -> None:
    (folder / "b" / "vocabulary.model").write_bytes(b"nothing")
    models.load_first()
    shutil.rmtree(folder / "b")
    models.load_first()


def test_the_label_says_how_many_weights_there_are(folder: Path) -> None:
    count = sum(w.numel() for w in Translator.load(folder / "b").model.parameters())
    assert model_list.weights(folder / "b") == count
    assert models.millions(count) in models.offered()["b"]
    assert [models.millions(n) for n in (13_088_768, 74_410_000, 340_000)] == ["13M", "74M", "0.3M"]


def test_the_operator_says_how_much_of_models_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    (tmp_path / "limits.toml").write_text("model_bytes = 1000\n")
    monkeypatch.setenv("HEADS_UP_LIMITS", str(tmp_path / "limits.toml"))
    models._loaded.cache_clear()
    assert models._loaded().room == 1000
    models._loaded.cache_clear()
