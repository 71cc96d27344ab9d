"""Make a shipped run (`shipped.py`) from a training run: only the parts that pages display.

make_shipped_run("runs/reverse-3fa2c1", "checkpoints/runs/toy-reverse")
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

from transformer.measures.film_steps import film_steps
from transformer.training.run_config import RunConfig, TrainingRun
from transformer.training.run_folder import RunFolder, Snapshot

MAX_FILM_STEPS = 20
"""Maximum steps in the film."""
MAX_STEP_LINES = 160
"""Maximum metrics lines of training steps; lines of evaluations are all kept."""
_LEVELS = 1024
"""Attention weights are rounded to multiples of 1/1024, four times finer than the film's
colours."""
_SUMMED_FIELDS = ("seconds", "tokens")
_STATE_FIELDS = ("status", "reason", "step", "precision")


def make_shipped_run(
    run_path: str | os.PathLike[str],
    target: str | os.PathLike[str],
) -> Path:
    """Write the folder `target`, replacing an existing one, and return its path.

    It does not contain the text, the state to resume from, the owner, nor when the run was trained.
    The film is thinned evenly over the doublings of its steps, the curves evenly.

    Raises:
        RunError: if `run_path` is not a run.
        OSError: if a file cannot be read or written.
    """
    run, target_path = RunFolder(run_path), Path(target)
    config, state = run.config(), run.state()
    steps = film_steps(run.snapshots(), MAX_FILM_STEPS)
    target_path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=target_path.parent, prefix=f".{target_path.name}."
    ) as folder:
        new_run = RunFolder(Path(folder) / "run")
        new_run.path.mkdir()
        shipped_config: RunConfig = replace(config, owner="", created=0.0)
        if isinstance(shipped_config, TrainingRun):
            shipped_config = replace(shipped_config, race=None)
        _write_lines(new_run.path / "config.json", shipped_config.to_dict())
        _write_lines(
            new_run.path / "state.json",
            {name: state[name] for name in _STATE_FIELDS if name in state},
        )
        _write_lines(new_run.metrics_path, *thin_metrics(run.metrics()))
        examples = [line for line in run.examples() if line["step"] in {*steps}]
        _write_lines(new_run.examples_path, *(examples or run.examples()[-1:]))
        if run.inspect():
            _write_lines(new_run.inspect_path, run.inspect())
        for step in steps:
            write_snapshot(new_run, step, run.snapshot(step), run.labels())
        if run.checkpoint_path.is_dir():
            shutil.copytree(run.checkpoint_path, new_run.checkpoint_path)
        if target_path.exists():
            shutil.rmtree(target_path)
        new_run.path.rename(target_path)
    return target_path


def write_snapshot(
    run: RunFolder, step: int, attention: Snapshot, labels: Sequence[Mapping[str, Any]]
) -> None:
    """Add a step to the film of a run, compressed; `labels` are the same for all steps."""
    run.snapshots_path.mkdir(parents=True, exist_ok=True)
    _write_lines(run.snapshots_path / "labels.json", labels)
    rounded = {
        name: (np.round(weights.astype(np.float32) * _LEVELS) / _LEVELS).astype(np.float16)
        for name, weights in attention.items()
    }
    np.savez_compressed(run.snapshots_path / f"{step:08d}.npz", **rounded)  # type: ignore[arg-type]


def thin_metrics(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Thin the lines of metrics.jsonl: keep all evaluations and about `MAX_STEP_LINES` others,
    including the first and the last; round numbers to five digits.

    Seconds and tokens of a dropped line are added to the next one, so that their sums stay.
    """
    step_lines = [index for index, line in enumerate(lines) if "valid_loss" not in line]
    interval = max(1, math.ceil(len(step_lines) / MAX_STEP_LINES))
    dropped = {*step_lines} - {*step_lines[::interval], *step_lines[-1:]}
    thinned_lines, pending_sums = [], dict.fromkeys(_SUMMED_FIELDS, 0.0)
    for index, line in enumerate(lines):
        sums = {name: line[name] + pending_sums[name] for name in _SUMMED_FIELDS if name in line}
        if index in dropped:
            pending_sums |= sums
        else:
            thinned_lines.append({name: _round(value) for name, value in {**line, **sums}.items()})
            pending_sums |= dict.fromkeys(sums, 0.0)
    return thinned_lines


def _round(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _write_lines(path: Path, *lines: Any) -> None:
    """Write each value as one line of JSON."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
