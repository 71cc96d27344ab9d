"""Which models a visitor may see, as files change between two looks."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.jobs.folder import JobFolder
from transformer.training.recipe import describe
from transformer.ui import model_list
from transformer.ui.model_list import Listed


@pytest.fixture
def run(tmp_path: Path, checkpoints: Path) -> JobFolder:
    """A finished run of Ann's on sentences of her own."""
    folder = JobFolder(tmp_path / "runs" / "hers-123456")
    shutil.copytree(checkpoints / "tiny", folder.checkpoint_path)
    folder.write_config(replace(describe(title="Hers"), owner="ann"))
    return folder


def seen_by(visitor: str, run: JobFolder) -> dict[str, Listed]:
    """As a new drawing of a page sees it, on a thread of its own."""
    found: list[dict[str, Listed]] = []
    none, runs = run.path.parent / "none", run.path.parent
    look = threading.Thread(target=lambda: found.append(model_list.listed(none, runs, visitor)))
    look.start()
    look.join()
    return found[0]


def test_a_run_is_its_owners_until_it_is_shared_and_at_once(run: JobFolder) -> None:
    hers = seen_by("ann", run)[run.name]
    assert (hers.label, hers.holders, hers.is_run) == (f"run: Hers ({run.name})", ("ann",), True)
    assert run.name not in seen_by("bob", run)
    run.change_job(shared=True)
    assert run.name in seen_by("bob", run)
    run.change_job(shared=False)
    assert run.name not in seen_by("bob", run)
    run.change_job(holders=["ann", "bob"])
    assert seen_by("bob", run)[run.name].holders == ("ann", "bob")


def test_a_checkpoint_is_opened_when_it_is_whole_and_gone_when_it_is_removed(
    run: JobFolder,
) -> None:
    weights = run.checkpoint_path / "model.safetensors"
    whole = weights.read_bytes()
    count = seen_by("ann", run)[run.name].weights
    assert count > 0
    weights.write_bytes(whole[:100])
    assert seen_by("ann", run)[run.name].weights == 0
    weights.write_bytes(whole)
    assert seen_by("ann", run)[run.name].weights == count
    shutil.rmtree(run.path)
    assert seen_by("ann", run) == {}
