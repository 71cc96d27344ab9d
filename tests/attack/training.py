"""A small model, and real runs that are short: what must be true of one at every look."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.checkpoint.models import tiny
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
    """A run of a model of a few thousand weights, saved at every third step."""
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "batch_tokens": 256}
    wanted = {**shape, "steps": steps, "save_every": 3, "average": 2, "cooldown": 0.0, **settings}
    options = {"n_train": 200, "n_valid": 10}
    return make_run_config("copy", settings=wanted, options=options, device="cpu")


def fresh(path: Path, asked: TrainingRun) -> JobFolder:
    """A run folder that waits to be trained."""
    path.mkdir(parents=True)
    run = JobFolder(path)
    run.write_config(asked)
    return run


def losses(run: JobFolder) -> list[float]:
    """Of every step, in the order they were written. Raises if a step is missing or twice."""
    lines = [line for line in run.metrics() if "loss" in line]
    steps = [line["step"] for line in lines]
    assert steps == [*range(1, len(steps) + 1)], f"steps missing or doubled: {steps}"
    return [line["loss"] for line in lines]


@cache
def undisturbed(steps: int) -> tuple[list[float], bytes]:
    """Losses and final weights of `config(steps)`, trained without an interruption."""
    with TemporaryDirectory() as folder:
        run = fresh(Path(folder) / "run", config(steps))
        assert train_run(run.path) == "finished"
        return losses(run), (run.checkpoint_path / "model.safetensors").read_bytes()


def sound(run: JobFolder, asked: TrainingRun) -> None:
    """A run that somebody was in the middle of: nothing half written, nothing gone."""
    found = run.config()
    assert replace(found, owner="", created=0.0) == asked
    trained = len(losses(run))
    saved = run.saved_step()
    assert not run.resume_path.exists() or saved > 0, "the save cannot be read"
    assert saved <= trained, f"saved at {saved}, but {trained} lines of metrics"
    if run.metrics_path.exists():
        for line in run.metrics_path.read_bytes().split(b"\n")[:-1]:
            json.loads(line)
    if run.checkpoint_path.exists():
        load_checkpoint(run.checkpoint_path)


def whole(run: JobFolder, steps: int = STEPS) -> None:
    """A finished run, the same as if nobody had disturbed it."""
    expected, weights = undisturbed(steps)
    found = losses(run)
    both = enumerate(zip(found, expected, strict=False), 1)
    first = next((step for step, (one, other) in both if one != other), -1)
    assert found == expected, f"another loss than undisturbed from step {first}"
    assert (run.checkpoint_path / "model.safetensors").read_bytes() == weights
    left = [path.name for path in run.path.rglob(".*tmp*")]
    assert not left, f"left half written: {left}"


def small_checkpoint(folder: Path) -> Path:
    """`tiny` in `folder`, which is a folder of checkpoints as the app wants it; its path."""
    pairs = [(pair.src, pair.tgt) for pair in TASKS["french"].pairs(200, seed=1)]
    vocabulary = Vocabulary.train(itertools.chain.from_iterable(pairs), 320)
    made = folder / "tiny"
    card = f"{front_matter(('en', 'fr'))}# A tiny model\n"
    save_checkpoint(made, tiny(len(vocabulary)).eval(), vocabulary, card)
    return made
