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

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.languages import Languages
from transformer.measures.film_steps import film_steps
from transformer.run_config import FilmRun, RunConfig, TrainingRun
from transformer.training.evaluator import Evaluator, ProbeSet
from transformer.training.run import RunFolder
from transformer.training.snapshots import Snapshot

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
    *,
    checkpoint: str = "",
    pairs: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the folder `target`, replacing an existing one, and return its path.

    It does not contain the text, the state to resume from, the owner, nor when the run was trained.
    The film is thinned evenly over the doublings of its steps, the curves evenly.

    Args:
        checkpoint: name of a shipped checkpoint that the run produced; it is referenced instead of
            copied, and the run's sentences and file paths are left out.
        pairs: the probes (source, target), if the config does not have them.

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
            if checkpoint:
                shipped_config = _film_config(
                    checkpoint,
                    pairs,
                    shipped_config.model,
                    shipped_config.training,
                    shipped_config.languages,
                )
        _write_lines(new_run.path / "config.json", shipped_config.to_dict())
        _write_lines(
            new_run.path / "state.json",
            {name: state[name] for name in _STATE_FIELDS if name in state},
        )
        _write_lines(new_run.metrics_path, *thin_metrics(run.metrics()))
        if not checkpoint:
            examples = [line for line in run.examples() if line["step"] in {*steps}]
            _write_lines(new_run.examples_path, *(examples or run.examples()[-1:]))
        if run.inspect():
            _write_lines(new_run.inspect_path, run.inspect())
        for step in steps:
            write_snapshot(new_run, step, run.snapshot(step), run.labels())
        if run.checkpoint_path.is_dir() and not checkpoint:
            shutil.copytree(run.checkpoint_path, new_run.checkpoint_path)
        if target_path.exists():
            shutil.rmtree(target_path)
        new_run.path.rename(target_path)
    return target_path


def add_early_checkpoint(
    target: str | os.PathLike[str],
    saved: str | os.PathLike[str],
    step: int,
    checkpoint: str,
    pairs: Sequence[tuple[str, str]],
    figures: Mapping[str, float],
) -> None:
    """Add or replace a step of the run in `target`: attention and output of an earlier checkpoint
    for the probes, and its metrics.

    Args:
        saved: folder of the checkpoint of that step; it is not copied.
        checkpoint: name of the final checkpoint, which is shipped.
        pairs: the probes (source, target), the same at every step.
        figures: for metrics.jsonl: "valid_loss" (nats per token), "bleu", "token_accuracy", …

    Raises:
        CheckpointError: if `saved` is not a checkpoint.
        ValueError: if the run has other probes.
    """
    run, probes = RunFolder(target), tuple(pairs)
    model, vocabulary = load_checkpoint(saved)
    if run.exists and run.config().probes != probes:
        raise ValueError(f"{run.path} has other probes; all steps of a film need the same")
    run.path.mkdir(parents=True, exist_ok=True)
    _write_lines(run.path / "config.json", _film_config(checkpoint, probes, model.config).to_dict())
    evaluator = Evaluator(model, vocabulary, ProbeSet(probes=probes, valid=probes))
    write_snapshot(run, step, evaluator.attention(), evaluator.labels())
    example_line: dict[str, Any] = {"step": step, "examples": evaluator.examples()}
    for path, lines, line in (
        (run.examples_path, run.examples(), example_line),
        (run.metrics_path, run.metrics(), {"step": step, **figures}),
    ):
        other_lines = [entry for entry in lines if entry["step"] != step]
        _write_lines(path, *sorted([*other_lines, line], key=lambda entry: int(entry["step"])))
    last_step = run.snapshots()[-1]
    _write_lines(
        run.path / "state.json",
        {"status": "finished", "reason": f"saved at step {last_step:,}", "step": last_step},
    )


def _film_config(
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
