"""Shipped runs: packing, lookup by name, visible to everyone, read-only."""

from __future__ import annotations

import math
import runpy
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.jobs.conftest import idle_jobs, run_config
from transformer import Translator
from transformer.app_folders import SHIPPED_RUNS
from transformer.checkpoint import load_checkpoint
from transformer.jobs import JobError
from transformer.jobs.shipped import (
    ShippedFolder,
    find_shipped,
    shipped_folders,
)
from transformer.text.files import write_json
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import train_run

OWNER = "m" * 32
SCRIPT = runpy.run_path(str(ROOT / "docs/shipped_runs.py"))
make_shipped_run, thin_metrics = SCRIPT["make_shipped_run"], SCRIPT["thin_metrics"]
MAX_FILM_STEPS, MAX_STEP_LINES = SCRIPT["MAX_FILM_STEPS"], SCRIPT["MAX_STEP_LINES"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a finished run of twelve steps, as the app stores it."""
    run = RunFolder(tmp_path_factory.mktemp("trained") / "reverse-3fa2c1")
    run.path.mkdir()
    settings = {"steps": 12, "d_model": 16, "d_ff": 16, "n_heads": 2, "n_layers": 1}
    config = make_run_config(
        "reverse", settings=settings, options={"n_train": 200, "n_valid": 20}, title="Reverse"
    )
    run.write_config(replace(config, owner=OWNER, created=1.5e9))
    assert train_run(run.path) == "finished"
    return run


@pytest.fixture
def root(tmp_path: Path, trained: RunFolder) -> Path:
    """Return the folder of shipped runs, which has one run."""
    make_shipped_run(trained.path, tmp_path / "checkpoints" / SHIPPED_RUNS / "toy-reverse")
    return tmp_path / "checkpoints" / SHIPPED_RUNS


def add_early_checkpoints(root: Path, checkpoint: Any, name: str = "training") -> Path:
    """Store a run with the early checkpoints of a training that names its final checkpoint."""
    run = RunFolder(root / name)
    run.path.mkdir()
    config = {"kind": "film", "title": "A training", "checkpoint": checkpoint}
    write_json(run.path / "config.json", config)
    run.append_metrics({"step": 5, "valid_loss": 2.5, "bleu": 3.0})
    run.write_state("finished", "saved at step 5", step=5)
    return run.path


def test_a_shipped_run_has_what_pages_display_and_nothing_else(
    trained: RunFolder, root: Path
) -> None:
    run = RunFolder(root / "toy-reverse")
    assert run.snapshots() == trained.snapshots()
    assert run.labels() == trained.labels()
    for step in run.snapshots():
        for name, weights in trained.snapshot(step).items():
            np.testing.assert_allclose(run.snapshot(step)[name], weights, atol=1 / 1024)
    assert run.examples() == trained.examples()
    assert run.inspect() == trained.inspect()
    assert [line["step"] for line in run.metrics()] == [line["step"] for line in trained.metrics()]
    model, _ = load_checkpoint(run.checkpoint_path)
    expected, _ = load_checkpoint(trained.checkpoint_path)
    assert model.state_dict().keys() == expected.state_dict().keys()
    assert sorted(path.name for path in run.path.iterdir()) == [
        "checkpoint",
        "config.json",
        "examples.jsonl",
        "inspect.json",
        "metrics.jsonl",
        "snapshots",
        "state.json",
    ]
    texts = [path.read_text() for path in run.path.glob("*.json*")]
    assert not any(OWNER in text or "1500000000" in text for text in texts)
    assert not any(str(trained.path) in text for text in texts)


def test_thinned_curves_keep_evaluations_and_the_total_time() -> None:
    lines: list[dict[str, Any]] = []
    for step in range(1, 1001):
        lines.append({"step": step, "loss": 1 / 3 / step, "seconds": 0.25, "tokens": 7})
        if step % 100 == 0:
            lines.append({"step": step, "valid_loss": 0.5, "sequence_accuracy": step / 1000})
    thinned = thin_metrics(lines)
    assert [x for x in thinned if "valid_loss" in x] == [x for x in lines if "valid_loss" in x]
    steps = [x for x in thinned if "loss" in x]
    assert MAX_STEP_LINES / 2 <= len(steps) <= MAX_STEP_LINES + 1
    assert (steps[0]["step"], steps[-1]["step"]) == (1, 1000)
    assert math.fsum(x["seconds"] for x in steps) == pytest.approx(250)
    assert sum(x["tokens"] for x in steps) == 7000
    assert all(x["loss"] == pytest.approx(1 / 3 / x["step"], rel=1e-4) for x in steps)


SHIPPED = shipped_folders(ROOT / "checkpoints" / SHIPPED_RUNS)
TOYS = [folder for folder in SHIPPED if folder.name.startswith("toy-")]


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
def test_a_shipped_run_has_learned_and_has_a_film(toy: ShippedFolder) -> None:
    task = toy.config().to_dict()["data"]["task"]
    assert toy.name in (f"toy-{task}", f"toy-{task}-learned")
    assert task in TASKS
    assert toy.state()["status"] == "finished"
    assert 10 <= len(toy.snapshots()) <= MAX_FILM_STEPS
    assert toy.snapshots()[0] == 0
    assert toy.snapshots()[-1] == toy.state()["step"] == toy.metrics()[-1]["step"]
    assert toy.inspect()
    assert sum(path.stat().st_size for path in toy.path.rglob("*") if path.is_file()) < 1_500_000
    # It learned: outputs at the end are correct more often than before the first step.
    first, *_, last = (
        [item["right"] for item in evaluation["examples"]] for evaluation in toy.examples()
    )
    assert sum(last) > sum(first)
    translator = Translator.load(toy.checkpoint_path, device="cpu")
    example = toy.examples()[-1]["examples"][0]
    assert translator.translate(example["src"]).text == example["output"]


def test_early_checkpoints_belong_to_the_checkpoint_that_they_name(
    root: Path, trained: RunFolder
) -> None:
    named_checkpoint = Path(shutil.copytree(trained.checkpoint_path, root.parent / "en-fr"))
    add_early_checkpoints(root, "en-fr")
    by_name = {folder.name: folder for folder in shipped_folders(root)}
    assert by_name["training"].checkpoint_path == named_checkpoint
    assert not by_name["training"].has_own_checkpoint
    assert by_name["toy-reverse"].has_own_checkpoint


@pytest.mark.parametrize(
    "name", ["../outside", "../../outside", "/outside", "..", ".", "", "none", 7, None, ["en-fr"]]
)
def test_no_name_leaves_the_folder_of_shipped_runs(
    root: Path, trained: RunFolder, name: Any
) -> None:
    shutil.copytree(trained.checkpoint_path, root.parents[1] / "outside")
    add_early_checkpoints(root, name)
    shipped = find_shipped(root, "training")
    assert shipped
    assert shipped.checkpoint_path == root / "training" / "checkpoint"


def test_everybody_sees_shipped_runs_and_nobody_changes_them(root: Path, tmp_path: Path) -> None:
    jobs = idle_jobs(tmp_path / "runs", root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert [info.name for info in jobs.shipped()] == ["toy-reverse"]
    assert jobs.runs() == []
    assert jobs.folder("toy-reverse").shipped
    for action in (
        lambda: jobs.control("toy-reverse", "", command="stop"),
        lambda: jobs.control("toy-reverse", OWNER, save=True),
        lambda: jobs.resume("toy-reverse", OWNER),
        lambda: jobs.delete("toy-reverse", OWNER),
    ):
        with pytest.raises(JobError, match="is part of the app: it can be viewed"):
            action()
    assert jobs.archive("toy-reverse").startswith(b"PK")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    with pytest.raises(JobError, match="there is no run 'toy-sort'"):
        jobs.folder("toy-sort")


def test_an_own_run_takes_precedence_over_a_shipped_one(root: Path, tmp_path: Path) -> None:
    jobs = idle_jobs(tmp_path / "runs", root)
    name = jobs.submit(run_config(title="Mine"), OWNER)
    (tmp_path / "runs" / name).rename(tmp_path / "runs" / "toy-reverse")
    assert not jobs.folder("toy-reverse").shipped
    jobs.delete("toy-reverse", OWNER)
    assert jobs.folder("toy-reverse").shipped
