"""Writing the static site: errors. `tests/browser/test_site.py` uses the site."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from transformer.app_folders import APP_FOLDER
from transformer.ui.services import models
from transformer.ui.site.static_site import write_site

SPACES_AFTER_WORDS = bytes([0x12, 3, 0xC0, 1, 1])
"""The field trainer_spec.treat_whitespace_as_suffix of a SentencePiece model, to be appended."""


def test_an_existing_folder_is_kept_and_a_failure_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(FileExistsError, match="already exists; give another name"):
        write_site(tmp_path / "kept")
    monkeypatch.setenv(models.FOLDER_VARIABLE, str(tmp_path / "none"))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    with pytest.raises(ValueError, match=r"none contains no checkpoint that translates"):
        write_site(tmp_path / "site")
    assert not (tmp_path / "site").exists()

    def fail(*_: object) -> str:
        raise RuntimeError("simulated")

    monkeypatch.setenv(models.FOLDER_VARIABLE, str(APP_FOLDER / "checkpoints"))
    monkeypatch.setattr("transformer.ui.site.static_site.learn_page", fail)
    with pytest.raises(RuntimeError, match="simulated"):
        write_site(tmp_path / "site")
    assert not [path for path in tmp_path.iterdir() if path.name not in ("kept", "runs")]


def test_a_model_that_the_browser_would_read_differently_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site of which the first stage fails: only the warnings matter here."""
    folder = tmp_path / "models" / "pair"
    shutil.copytree(APP_FOLDER / "checkpoints" / "en-fr", folder)
    vocabulary = folder / "vocabulary.model"
    before = hashlib.sha256(vocabulary.read_bytes()).hexdigest()
    vocabulary.write_bytes(vocabulary.read_bytes() + SPACES_AFTER_WORDS)
    after = hashlib.sha256(vocabulary.read_bytes()).hexdigest()
    sums = folder / "model.safetensors.sha256"
    sums.write_text(sums.read_text("utf-8").replace(before, after), "utf-8")
    monkeypatch.setenv(models.FOLDER_VARIABLE, str(folder.parent))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    warnings: list[str] = []

    def stop(share: float, stage: str) -> None:
        raise RuntimeError(stage)

    with pytest.raises(RuntimeError, match="films"):
        write_site(tmp_path / "site", stop, warnings.append)
    [warning] = warnings
    reason = "its vocabulary marks spaces after words"
    assert warning == f"pair is left out of the site, because {reason}."
