"""A class trains together: how soon every student has a trained model of their own.

    python -m benchmarks.train_together [--students 30] [--race heads] [--workers 1 2]

For each number of workers it trains the same race, assigned to the students as the teacher's page
does, on an otherwise idle machine. It prints when the first and the last student have a trained
model, and when all runs have ended.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from transformer.jobs import Jobs, Limits
from transformer.jobs.limits import cores
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.jobs.races import RACES
from transformer.ui.pages.classroom.runs import seed_count

GOAL_SECONDS = 180.0
"""Goal in seconds from Train together until every student has a model."""


def measure(race: str, students: int, workers: int, folder: Path) -> tuple[float, float, float]:
    """Return the seconds until the first student has a trained model, until all have one, and until
    all runs have ended."""
    limits = Limits(workers=workers, queued=500, runs_per_visitor=500)
    visitors = [f"student {number}" for number in range(students)]
    seeds = range(1, seed_count(race, students) + 1)
    with Jobs(folder, limits) as jobs:
        jobs.start()
        while jobs.warm_workers() < workers:
            time.sleep(0.1)
        start = time.perf_counter()
        name = submit_race(jobs, race, "teacher", seeds, owners=visitors)
        first_model: dict[str, float] = {}  # seconds until a student has a trained model
        while True:
            runs = [run.info for run in race_runs(jobs, name)]
            elapsed = time.perf_counter() - start
            for info in runs:
                if info.status == "finished":
                    first_model.setdefault(info.owner, elapsed)
            for info in runs:
                if info.status in ("failed", "cancelled"):
                    raise RuntimeError(f"{info.name} {info.status}: {info.reason}")
            if all(info.status == "finished" for info in runs):
                return min(first_model.values()), max(first_model.values()), elapsed
            time.sleep(0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--race", choices=list(RACES), default="heads")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    count = seed_count(options.race, options.students) * len(RACES[options.race].entries)
    print(f"{cores()} cores; {options.students} students, {count} runs of race {options.race!r}")
    ends = []
    for workers in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            first, all_trained, end = measure(options.race, options.students, workers, Path(folder))
        ends.append(end)
        verdict = "within" if all_trained <= GOAL_SECONDS else "over"
        print(
            f"{workers} at once: the first student has a model after {first:5.1f} s, all after "
            f"{all_trained:5.1f} s ({verdict} {GOAL_SECONDS:.0f} s); all runs end after "
            f"{end:5.1f} s, {ends[0] / end:.2f} times as fast as the first row"
        )


if __name__ == "__main__":
    main()
