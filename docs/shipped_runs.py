"""Create the shipped runs in checkpoints/runs/, a trained toy model for every task.

    python docs/shipped_runs.py                          # all toy models, some minutes
    python docs/shipped_runs.py reverse sort             # these toy models
    python docs/shipped_runs.py reverse --positions learned   # runs/toy-reverse-learned
    python docs/shipped_runs.py --race layers            # checkpoints/races/layers.json

`--race` runs the race of layers with one seed and stores the accuracy by distance of each layer.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from transformer.jobs import Jobs, Limits  # noqa: E402
from transformer.jobs.make_shipped import make_shipped_run  # noqa: E402
from transformer.jobs.race_runs import distance_accuracies, race_runs, submit_race, write_race  # noqa: E402
from transformer.text.tasks import TASKS  # noqa: E402
from transformer.training import evaluation_callback  # noqa: E402
from transformer.training.recipe import make_run_config  # noqa: E402
from transformer.training.run_folder import RunFolder  # noqa: E402
from transformer.training.train_folder import train_run  # noqa: E402
from transformer.ui.pages.training.draft import probes  # noqa: E402

RUNS = ROOT / "checkpoints" / "runs"
# Evaluate at every step of the film, regardless of the time: the film is the purpose of these runs.
evaluation_callback.FREE_SECONDS = math.inf


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


def run_race(name: str) -> Path:
    """Run a race as Look inside: Why self-attention does; return its file."""
    with tempfile.TemporaryDirectory() as folder, Jobs(folder, Limits()) as jobs:
        race_id = submit_race(jobs, name, "docs", (1,))
        while any(run.info.live for run in race_runs(jobs, race_id)):
            time.sleep(1)
        runs = race_runs(jobs, race_id)
        if any(run.info.status != "finished" for run in runs):
            sys.exit(f"{name}: {', '.join(run.info.status for run in runs)}")
        return write_race(RUNS.parent, name, distance_accuracies(jobs, runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--positions", choices=["learned", "none"])
    parser.add_argument("--race", metavar="NAME")
    options = parser.parse_args()
    if options.race:
        print(run_race(options.race).relative_to(ROOT))
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
