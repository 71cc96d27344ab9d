"""Short training runs of a small model, and checks of interrupted and finished ones."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.checkpoint.models import tiny_transformer
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.jobs.folder import JobFolder
from transformer.languages import front_matter
from transformer.run_config import TrainingRun
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.training.train_folder import train_run

STEPS = 24


def config(steps: int = STEPS, **settings: Any) -> TrainingRun:
    """Return a run of a model with a few thousand weights, saved every third step."""
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "batch_tokens": 256}
    defaults = {**shape, "steps": steps, "save_every": 3, "average": 2, "cooldown": 0.0}
    options = {"n_train": 200, "n_valid": 10}
    return make_run_config("copy", settings={**defaults, **settings}, options=options, device="cpu")


def new_run_folder(path: Path, run_config: TrainingRun) -> JobFolder:
    """Return a new run folder, ready for training."""
    path.mkdir(parents=True)
    run = JobFolder(path)
    run.write_config(run_config)
    return run


def losses(run: JobFolder) -> list[float]:
    """Return the loss of every step; raise AssertionError if a step is missing or repeated."""
    lines = [line for line in run.metrics() if "loss" in line]
    steps = [line["step"] for line in lines]
    assert steps == [*range(1, len(steps) + 1)], f"missing or repeated steps: {steps}"
    return [line["loss"] for line in lines]


@cache
def uninterrupted_run(steps: int) -> tuple[list[float], bytes]:
    """Return the losses and final weights of `config(steps)`, trained without interruption."""
    with TemporaryDirectory() as folder:
        run = new_run_folder(Path(folder) / "run", config(steps))
        assert train_run(run.path) == "finished"
        return losses(run), (run.checkpoint_path / "model.safetensors").read_bytes()


def check_interrupted(run: JobFolder, run_config: TrainingRun) -> None:
    """Check an interrupted run: no file is missing or partly written."""
    config_read = run.config()
    assert replace(config_read, owner="", created=0.0) == run_config
    n_steps = len(losses(run))
    saved_step = run.saved_step()
    assert not run.resume_path.exists() or saved_step > 0, "the save cannot be read"
    assert saved_step <= n_steps, f"saved at {saved_step}, but {n_steps} lines of metrics"
    if run.metrics_path.exists():
        for line in run.metrics_path.read_bytes().split(b"\n")[:-1]:
            json.loads(line)
    if run.checkpoint_path.exists():
        load_checkpoint(run.checkpoint_path)


def check_complete(run: JobFolder, steps: int = STEPS) -> None:
    """Check that a finished run equals an uninterrupted one."""
    expected, weights = uninterrupted_run(steps)
    actual = losses(run)
    pairs = enumerate(zip(actual, expected, strict=False), 1)
    first_difference = next(
        (step for step, (loss, expected_loss) in pairs if loss != expected_loss), -1
    )
    assert actual == expected, (
        f"the losses differ from an uninterrupted run from step {first_difference}"
    )
    assert (run.checkpoint_path / "model.safetensors").read_bytes() == weights
    leftovers = [path.name for path in run.path.rglob(".*tmp*")]
    assert not leftovers, f"partly written files are left: {leftovers}"


def small_checkpoint(folder: Path) -> Path:
    """Save a small model as the checkpoint `tiny` in a folder of checkpoints; return its path."""
    pairs = [(pair.src, pair.tgt) for pair in TASKS["french"].pairs(200, seed=1)]
    vocabulary = Vocabulary.train(itertools.chain.from_iterable(pairs), 320)
    checkpoint = folder / "tiny"
    card = f"{front_matter(('en', 'fr'))}# A tiny model\n"
    save_checkpoint(checkpoint, tiny_transformer(len(vocabulary)).eval(), vocabulary, card)
    return checkpoint
