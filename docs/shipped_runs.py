"""Create the shipped runs in checkpoints/runs/, a trained toy model for every task.

    python docs/shipped_runs.py                          # all toy models, some minutes
    python docs/shipped_runs.py reverse sort             # these toy models
    python docs/shipped_runs.py reverse --positions learned   # runs/toy-reverse-learned
    python docs/shipped_runs.py --race                   # checkpoints/races/layers.json

`--race` stores the result of the race of the layers of Table 1, which takes seven minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from transformer.measures.film_steps import film_steps  # noqa: E402
from transformer.text.files import write_json  # noqa: E402
from transformer.text.tasks import TASKS  # noqa: E402
from transformer.training import evaluation_callback, layer_race  # noqa: E402
from transformer.training.recipe import make_run_config  # noqa: E402
from transformer.training.run_folder import RunFolder, Snapshot  # noqa: E402
from transformer.training.train_folder import train_run  # noqa: E402
from transformer.ui.pages.training.probes import probes  # noqa: E402

RUNS = ROOT / "checkpoints" / "runs"
MAX_FILM_STEPS = 20
"""Maximum steps in the film."""
MAX_STEP_LINES = 160
"""Maximum metrics lines of training steps; lines of evaluations are all kept."""
LEVELS = 1024
"""Attention weights are rounded to multiples of 1/1024, four times finer than the film's
colours."""
SUMMED_FIELDS = ("seconds", "tokens")
STATE_FIELDS = ("status", "reason", "step", "precision")


def train_toy(task: str, positions: str | None = None) -> Path:
    """Train a task as the Train page does, with the default settings except for `positions`."""
    title = TASKS[task].title + (f", {positions} positions" if positions else "")
    settings = {"positions": positions} if positions else {}
    name = f"toy-{task}-{positions}" if positions else f"toy-{task}"
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / "run")
        run.path.mkdir()
        run.write_config(make_run_config(task, title=title, settings=settings, probes=probes(task)))
        status = train_run(run.path)
        if status != "finished":
            sys.exit(f"{task}: {status}, {run.state()['reason']}")
        return make_shipped_run(run.path, RUNS / name)


def run_race() -> Path:
    """Race the layers of Table 1 as Look inside: Why self-attention does; return the file."""
    result = layer_race.compute({"seeds": [*layer_race.SEEDS]}, lambda *_: None)
    path = RUNS.parent / "races" / "layers.json"
    write_json(path, {**result, "when": int(result["when"])})
    return path


def make_shipped_run(path: Path, target: Path) -> Path:
    """Write the parts of a run that pages display to the folder `target`, replacing it; return it.

    It does not contain the text, the state to resume from, the owner, nor when the run was trained.
    The film is thinned evenly over the doublings of its steps, the curves evenly. Raises RunError
    if `path` is not a run.
    """
    run, shipped = RunFolder(path), RunFolder(target)
    config, state = replace(run.config(), owner="", created=0.0), run.state()
    steps = film_steps(run.snapshots(), MAX_FILM_STEPS)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    _write_lines(target / "config.json", config.to_dict())
    _write_lines(target / "state.json", {name: state[name] for name in STATE_FIELDS})
    _write_lines(shipped.metrics_path, *thin_metrics(run.metrics()))
    examples = [line for line in run.examples() if line["step"] in {*steps}]
    _write_lines(shipped.examples_path, *(examples or run.examples()[-1:]))
    _write_lines(shipped.inspect_path, run.inspect())
    for step in steps:
        write_snapshot(shipped, step, run.snapshot(step), run.labels())
    shutil.copytree(run.checkpoint_path, shipped.checkpoint_path)
    return target


def write_snapshot(
    run: RunFolder, step: int, attention: Snapshot, labels: Sequence[Mapping[str, Any]]
) -> None:
    """Add a step to the film of a run, compressed; `labels` are the same for all steps."""
    run.snapshots_path.mkdir(parents=True, exist_ok=True)
    _write_lines(run.snapshots_path / "labels.json", labels)
    rounded = {
        name: (np.round(weights.astype(np.float32) * LEVELS) / LEVELS).astype(np.float16)
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
    thinned_lines, pending_sums = [], dict.fromkeys(SUMMED_FIELDS, 0.0)
    for index, line in enumerate(lines):
        sums = {name: line[name] + pending_sums[name] for name in SUMMED_FIELDS if name in line}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--positions", choices=["learned", "none"])
    parser.add_argument("--race", action="store_true")
    options = parser.parse_args()
    # Evaluate at every step of the film: the film is the purpose of these runs.
    evaluation_callback.FREE_SECONDS = math.inf
    if options.race:
        print(run_race().relative_to(ROOT))
    else:
        for task in options.tasks or TASKS:
            print_results(train_toy(task, options.positions))


def print_results(folder: Path) -> None:
    """Print the size of a run's folder and its final accuracy."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    last: dict[str, Any] = next(
        (x for x in reversed(RunFolder(folder).metrics()) if "sequence_accuracy" in x), {}
    )
    accuracy = f", {last['sequence_accuracy']:.1%} of sequences right" if last else ""
    print(f"{folder.relative_to(ROOT)}  {size / 1000:.0f} kB{accuracy}", flush=True)


if __name__ == "__main__":
    main()
