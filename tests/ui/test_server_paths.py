"""No path of this machine reaches a page; what a visitor may see of one is its end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from transformer.house import CODE
from transformer.ui import models
from transformer.ui.server.server_paths import without


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_UP_CHECKPOINTS", str(tmp_path / "models"))
    return tmp_path / "runs"


def test_folders_of_the_app_keep_their_names(runs: Path) -> None:
    cut = "a run/x.json"
    for text, wanted in (
        (f"{runs}/a run/x.json is cut off", "runs/a run/x.json is cut off"),
        (f"[Errno 28] no room: {str(runs / cut)!r}", f"[Errno 28] no room: 'runs/{cut}'"),
        (f"{runs.parent}/models/tiny: no", "models/tiny: no"),
        (f"none in {runs}.", "none in runs."),
        (f"({CODE}/limits.toml)", "(limits.toml)"),
        (f"{Path.home()}/.cache/x", "~/.cache/x"),
        (f"{sys.prefix}/lib/x.py", "python/lib/x.py"),
    ):
        assert models.public(text) == wanted


def test_what_is_no_path_of_this_machine_stays(runs: Path) -> None:
    for text in (
        "and/or",
        "1/√d_k",
        "either / or",
        "/nowhere/else/x.json",
        f"{runs}-of-others/x".replace(str(runs.parent), "/srv"),
        f"/mnt{CODE}/x",
        "a\\b",
        "/",
        "",
    ):
        assert without(text) == text
    # The app itself may lie in a folder that is cut, as that of temporary files.
    assert without(f"{CODE}-old/x").endswith(f"{CODE.name}-old/x")


def test_a_link_to_a_folder_and_where_it_leads_are_cut(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.mkdir()
    (tmp_path / "link").symlink_to(runs)
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "link"))
    assert without(f"{runs}/a and {tmp_path}/link/a") == "link/a and link/a"
