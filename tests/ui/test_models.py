"""Checkpoints: listed for each visitor, loaded once; messages show no folders of the server."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT
from transformer.api import model_list
from transformer.api import models as loaded
from transformer.api.model_list import ListedModel
from transformer.api.server_paths import remove_server_paths
from transformer.api.sized_cache import SizedCache
from transformer.app_folders import IMPORT_ROOT, SHIPPED_RUNS
from transformer.inference import Translator
from transformer.jobs.folder import JobFolder
from transformer.training.recipe import make_run_config
from transformer.ui.services import models


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(models.FOLDER_VARIABLE, str(tmp_path))
    cache = SizedCache[Translator](10**9, loaded._weight_bytes)
    monkeypatch.setattr(loaded, "_model_cache", lambda: cache)
    shutil.copytree(checkpoints / "tiny", tmp_path / "b")
    return tmp_path


def test_the_first_valid_model_is_loaded_for_the_first_visit(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "config.json").write_text("{}")
    models.load_first_visit_model()
    assert loaded._model_cache().get((str(folder / "b"), models.digest(folder / "b")))
    assert models.default() == "b"


def test_an_invalid_or_missing_checkpoint_does_not_stop_the_server(folder: Path) -> None:
    (folder / "b" / "vocabulary.model").write_bytes(b"nothing")
    models.load_first_visit_model()
    shutil.rmtree(folder / "b")
    models.load_first_visit_model()


def test_every_label_fits_into_the_menu_and_is_unique(folder: Path) -> None:
    for name in ("a-very-long-checkpoint-name-1", "a-very-long-checkpoint-name-2"):
        shutil.copytree(folder / "b", folder / name)
    labels = models.choices()
    assert labels["a-very-long-checkpoint-name-1"] == "a-very-long-c…name-1"
    assert all(len(label) <= model_list.MAX_LABEL for label in labels.values())
    assert len(set(labels.values())) == len(labels)
    shipped = model_list._shipped_models(ROOT / "checkpoints" / SHIPPED_RUNS, (1,))
    assert shipped["toy-addition"].label == "toy: addition"
    assert all(
        len(model.label) <= model_list.MAX_LABEL and "…" not in model.label
        for model in shipped.values()
    )
    assert model_list.shortened("Reverse a sequence", " (3fa2b1)") == "Reverse a… (3fa2b1)"


@pytest.fixture
def run(tmp_path: Path, checkpoints: Path) -> JobFolder:
    """Return a run of the visitor Ann on her own sentences, with a checkpoint."""
    folder = JobFolder(tmp_path / "runs" / "hers-123456")
    shutil.copytree(checkpoints / "tiny", folder.checkpoint_path)
    folder.write_config(replace(make_run_config(title="Hers"), owner="ann"))
    return folder


def models_for(visitor: str, run: JobFolder) -> dict[str, ListedModel]:
    """Return the list as a new script run gets it, on its own thread."""
    results: list[dict[str, ListedModel]] = []
    no_checkpoints, runs = run.path.parent / "none", run.path.parent
    thread = threading.Thread(
        target=lambda: results.append(model_list.list_models(no_checkpoints, runs, visitor))
    )
    thread.start()
    thread.join()
    return results[0]


def test_a_run_is_private_until_it_is_shared(run: JobFolder) -> None:
    listed_model = models_for("ann", run)[run.name]
    assert (listed_model.label, listed_model.holders, listed_model.is_run) == (
        f"Hers ({run.name.rpartition('-')[2]})",
        ("ann",),
        True,
    )
    assert run.name not in models_for("bob", run)
    run.change_job(shared=True)
    assert run.name in models_for("bob", run)
    run.change_job(shared=False)
    assert run.name not in models_for("bob", run)
    run.change_job(holders=["ann", "bob"])
    assert models_for("bob", run)[run.name].holders == ("ann", "bob")


def test_a_checkpoint_is_listed_while_it_is_complete(
    run: JobFolder,
) -> None:
    weights = run.checkpoint_path / "model.safetensors"
    content = weights.read_bytes()
    count = models_for("ann", run)[run.name].weights
    assert count > 0
    weights.write_bytes(content[:100])
    assert models_for("ann", run)[run.name].weights == 0
    weights.write_bytes(content)
    assert models_for("ann", run)[run.name].weights == count
    shutil.rmtree(run.path)
    assert models_for("ann", run) == {}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_UP_CHECKPOINTS", str(tmp_path / "models"))
    return tmp_path / "runs"


def test_known_folders_are_replaced_by_their_names(runs: Path) -> None:
    relative_path = "a run/x.json"
    for text, expected in (
        (f"{runs}/a run/x.json is cut off", "runs/a run/x.json is cut off"),
        (
            f"[Errno 28] no room: {str(runs / relative_path)!r}",
            f"[Errno 28] no room: 'runs/{relative_path}'",
        ),
        (f"{runs.parent}/models/tiny: no", "models/tiny: no"),
        (f"none in {runs}.", "none in runs."),
        (f"({IMPORT_ROOT}/limits.toml)", "(limits.toml)"),
        (f"{Path.home()}/.cache/x", "~/.cache/x"),
        (f"{sys.prefix}/lib/x.py", "python/lib/x.py"),
        (f"{tempfile.gettempdir()}/tmp1a_bc2d3/mine.safetensors: no", "mine.safetensors: no"),
        (f"{tempfile.gettempdir()}/tmpfiles/x.json is cut off", "tmpfiles/x.json is cut off"),
    ):
        assert models.without_server_paths(text) == expected


def test_other_paths_stay_unchanged(runs: Path) -> None:
    for text in (
        "and/or",
        "1/√d_k",
        "either / or",
        "/nowhere/else/x.json",
        f"{runs}-of-others/x".replace(str(runs.parent), "/srv"),
        f"/mnt{IMPORT_ROOT}/x",
        "a\\b",
        "/",
        "",
    ):
        assert remove_server_paths(text) == text
    # The app itself may be in a known folder, such as the one for temporary files.
    assert remove_server_paths(f"{IMPORT_ROOT}-old/x").endswith(f"{IMPORT_ROOT.name}-old/x")
