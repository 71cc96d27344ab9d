"""Checkpoints by name: from any folder, in a checkout or an installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transformer import Translator
from transformer.app_folders import CHECKPOINTS_VARIABLE, find_checkpoint, named_checkpoints
from transformer.checkpoint import CheckpointError, load_checkpoint, load_config


@pytest.fixture
def checkpoints_folder(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints with "tiny" and a run "toy", and a working directory without any."""
    folder, working_directory = tmp_path / "home", tmp_path / "work"
    shutil.copytree(checkpoints / "tiny", folder / "tiny")
    shutil.copytree(checkpoints / "tiny", folder / "runs/toy/checkpoint")
    (folder / "races").mkdir()
    working_directory.mkdir()
    monkeypatch.chdir(working_directory)
    monkeypatch.setenv(CHECKPOINTS_VARIABLE, str(folder))
    return folder


def test_the_shipped_checkpoints_have_names() -> None:
    names = [*named_checkpoints()]
    assert names[:2] == ["en-de", "en-fr"]
    assert "toy-reverse" in names


def test_checkpoint_names_work_from_any_folder(checkpoints_folder: Path) -> None:
    assert [*named_checkpoints()] == ["tiny", "toy"]
    assert Translator.load("tiny", "cpu").folder == checkpoints_folder / "tiny"
    assert load_checkpoint("tiny")[0].config == load_config(checkpoints_folder / "tiny")
    assert Translator.load("toy", "cpu").folder == checkpoints_folder / "runs/toy/checkpoint"


def test_an_unknown_name_is_refused_with_the_known_ones(checkpoints_folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint folder en-es; .* by name: tiny, toy"):
        Translator.load("en-es")
    assert find_checkpoint("../tiny") == Path("../tiny")


def test_a_transformers_folder_is_refused_with_the_import_command(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    with pytest.raises(CheckpointError, match=r"of type 'marian'.*transformer import FOLDER OUT"):
        load_checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match=r"cannot be imported: "):  # imported while loading
        Translator.load(tmp_path)
