"""Writing the static site: errors. `tests/browser/test_site.py` uses the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.app_folders import APP_FOLDER
from transformer.ui.services import models
from transformer.ui.site.static_site import write_site


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
    monkeypatch.setattr("transformer.ui.site.static_site.index_page", fail)
    with pytest.raises(RuntimeError, match="simulated"):
        write_site(tmp_path / "site")
    assert not [path for path in tmp_path.iterdir() if path.name not in ("kept", "runs")]
