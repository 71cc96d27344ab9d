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
    settings_ = {
        **shape,
        "steps": steps,
        "save_every": 3,
        "average": 2,
        "cooldown": 0.0,
        **settings,
    }
    options = {"n_train": 200, "n_valid": 10}
    return make_run_config("copy", settings=settings_, options=options, device="cpu")


def fresh(path: Path, run_config: TrainingRun) -> JobFolder:
    """A run folder that waits to be trained."""
    path.mkdir(parents=True)
    run = JobFolder(path)
    run.write_config(run_config)
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


def sound(run: JobFolder, run_config: TrainingRun) -> None:
    """Check an interrupted run: nothing is partly written or missing."""
    config_read = run.config()
    assert replace(config_read, owner="", created=0.0) == run_config
    trained = len(losses(run))
    saved = run.saved_step()
    assert not run.resume_path.exists() or saved > 0, "the save cannot be read"
    assert saved <= trained, f"saved at {saved}, but {trained} lines of metrics"
    if run.metrics_path.exists():
        for line in run.metrics_path.read_bytes().split(b"\n")[:-1]:
            json.loads(line)
    if run.checkpoint_path.exists():
        load_checkpoint(run.checkpoint_path)


def check_complete(run: JobFolder, steps: int = STEPS) -> None:
    """Check a finished run: the same as an undisturbed one."""
    expected, weights = undisturbed(steps)
    losses_found = losses(run)
    pairs = enumerate(zip(losses_found, expected, strict=False), 1)
    first = next((step for step, (actual, expected_loss) in pairs if actual != expected_loss), -1)
    assert losses_found == expected, f"another loss than undisturbed from step {first}"
    assert (run.checkpoint_path / "model.safetensors").read_bytes() == weights
    leftovers = [path.name for path in run.path.rglob(".*tmp*")]
    assert not leftovers, f"left half written: {leftovers}"


def small_checkpoint(folder: Path) -> Path:
    """`tiny` in `folder`, which is a folder of checkpoints as the app wants it; its path."""
    pairs = [(pair.src, pair.tgt) for pair in TASKS["french"].pairs(200, seed=1)]
    vocabulary = Vocabulary.train(itertools.chain.from_iterable(pairs), 320)
    checkpoint = folder / "tiny"
    card = f"{front_matter(('en', 'fr'))}# A tiny model\n"
    save_checkpoint(checkpoint, tiny(len(vocabulary)).eval(), vocabulary, card)
    return checkpoint
