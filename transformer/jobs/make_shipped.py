"""Make of a run one that comes with the app (`shipped.py`): what people look at, and no more.

pack("runs/reverse-3fa2c1", "checkpoints/runs/toy-reverse")
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.languages import Languages
from transformer.measures.film_steps import film_steps
from transformer.run_config import FilmRun, RunConfig, TrainingRun
from transformer.training.evaluator import Evaluator, ProbeSet
from transformer.training.run import RunFolder
from transformer.training.snapshots import Snapshot

FRAMES = 20
"""Steps of the film."""
LINES = 160
"""Lines of metrics of single steps; those that measure all stay."""
_LEVELS = 1024
"""Weights are kept to so many parts of 1: four times finer than a film draws them."""
_SUMS = ("seconds", "tokens")
_STATE = ("status", "reason", "step", "precision")


def pack(
    run_path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    checkpoint: str = "",
    pairs: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the folder `target` whole, in place of one that stands there; returns it.

    Left out are the text, the state to resume from, whose run it is, and when and in what time it
    was trained, which says more of the machine than of the run; thinned are the film, evenly over
    the doublings of its steps, and the curves.

    Args:
        checkpoint: the name of the one that came of the run, beside the runs: it is named and not
            copied, and nothing is kept of the run's sentences or of where its files lay.
        pairs: its probes, source and target, where the config does not have them.

    Raises:
        RunError: if `run_path` holds no run.
        OSError: if a file cannot be read or written.
    """
    run, made = RunFolder(run_path), Path(target)
    config, state = run.config(), run.state()
    steps = film_steps(run.snapshots(), FRAMES)
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent, prefix=f".{made.name}.") as folder:
        new = RunFolder(Path(folder) / "run")
        new.path.mkdir()
        about: RunConfig = replace(config, owner="", created=0.0)
        if isinstance(about, TrainingRun):
            about = replace(about, race=None)
            if checkpoint:
                about = _film(checkpoint, pairs, about.model, about.training, about.languages)
        _write(new.path / "config.json", about.to_dict())
        _write(new.path / "state.json", {name: state[name] for name in _STATE if name in state})
        _write(new.metrics_path, *thinned(run.metrics()))
        if not checkpoint:
            kept = [look for look in run.examples() if look["step"] in {*steps}]
            _write(new.examples_path, *(kept or run.examples()[-1:]))
        if run.inspect():
            _write(new.inspect_path, run.inspect())
        for step in steps:
            write_snapshot(new, step, run.snapshot(step), run.labels())
        if run.checkpoint_path.is_dir() and not checkpoint:
            shutil.copytree(run.checkpoint_path, new.checkpoint_path)
        if made.exists():
            shutil.rmtree(made)
        new.path.rename(made)
    return made


def early_save(
    target: str | os.PathLike[str],
    saved: str | os.PathLike[str],
    step: int,
    checkpoint: str,
    pairs: Sequence[tuple[str, str]],
    figures: Mapping[str, float],
) -> None:
    """Add a step of a real training to the run in `target`, or replace it there: the attention of
    the probes as the model was at that step, what it writes for them, and its figures.

    Args:
        saved: the folder of the checkpoint as it was at that step; it is not kept.
        checkpoint: the name of the one that came of the training, beside the runs.
        pairs: the probes, source and target, the same at every step.
        figures: for metrics.jsonl: "valid_loss" (nats a token), "bleu", "token_accuracy", …

    Raises:
        CheckpointError: if `saved` is none.
        ValueError: if the run has other probes.
    """
    run, probes = RunFolder(target), tuple(pairs)
    model, vocabulary = load_checkpoint(saved)
    if run.exists and run.config().probes != probes:
        raise ValueError(f"{run.path} has other probes; a film keeps to its own")
    run.path.mkdir(parents=True, exist_ok=True)
    _write(run.path / "config.json", _film(checkpoint, probes, model.config).to_dict())
    evaluator = Evaluator(model, vocabulary, ProbeSet(probes=probes, valid=probes))
    write_snapshot(run, step, evaluator.attention(), evaluator.labels())
    looked: dict[str, Any] = {"step": step, "examples": evaluator.examples()}
    for path, lines, line in (
        (run.examples_path, run.examples(), looked),
        (run.metrics_path, run.metrics(), {"step": step, **figures}),
    ):
        others = [one for one in lines if one["step"] != step]
        _write(path, *sorted([*others, line], key=lambda one: int(one["step"])))
    last = run.snapshots()[-1]
    _write(
        run.path / "state.json",
        {"status": "finished", "reason": f"saved at step {last:,}", "step": last},
    )


def _film(
    checkpoint: str,
    pairs: Sequence[tuple[str, str]],
    model: ModelConfig,
    training: TrainingConfig | None = None,
    languages: Languages | None = None,
) -> FilmRun:
    return FilmRun(
        title=f"The training of {checkpoint}",
        checkpoint=checkpoint,
        probes=tuple((src, tgt) for src, tgt in pairs),
        model=model,
        training=training,
        languages=languages,
    )


def write_snapshot(
    run: RunFolder, step: int, attention: Snapshot, labels: Sequence[Mapping[str, Any]]
) -> None:
    """Add a step to the film of a run, compressed; `labels` are those of every step of it."""
    run.snapshots_path.mkdir(parents=True, exist_ok=True)
    _write(run.snapshots_path / "labels.json", labels)
    coarse = {
        name: (np.round(weights.astype(np.float32) * _LEVELS) / _LEVELS).astype(np.float16)
        for name, weights in attention.items()
    }
    np.savez_compressed(run.snapshots_path / f"{step:08d}.npz", **coarse)  # type: ignore[arg-type]


def thinned(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lines of metrics.jsonl: all that measure over held-out pairs, about `LINES` of the others,
    the first and the last among them, and numbers to five digits.

    Seconds and tokens of a line that goes are added to the next, so that their sums stay.
    """
    of_steps = [at for at, line in enumerate(lines) if "valid_loss" not in line]
    every = max(1, math.ceil(len(of_steps) / LINES))
    going = {*of_steps} - {*of_steps[::every], *of_steps[-1:]}
    kept, added = [], dict.fromkeys(_SUMS, 0.0)
    for at, line in enumerate(lines):
        sums = {name: line[name] + added[name] for name in _SUMS if name in line}
        if at in going:
            added |= sums
        else:
            kept.append({name: _short(value) for name, value in {**line, **sums}.items()})
            added |= dict.fromkeys(sums, 0.0)
    return kept


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _write(path: Path, *lines: Any) -> None:
    """Each as JSON on a line of its own."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
