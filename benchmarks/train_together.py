"""A class trains together: how soon every student has a trained model of a setting of their own.

    python -m benchmarks.train_together [--students 30] [--race heads] [--workers 1 2]

Each number of workers trains the same race, dealt to so many students as the teacher's page deals
it, one number after the other on a machine that should have nothing else to do. Printed is when
the first and the last student had a model that is trained, and when all runs were over.
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

WANTED = 180.0
"""Seconds from Train together until everybody has one."""


def measure(race: str, students: int, workers: int, folder: Path) -> tuple[float, float, float]:
    """Seconds until the first student had a trained model, until all had one, and until the end."""
    limits = Limits(workers=workers, queued=500, runs_per_visitor=500)
    visitors = [f"student {number}" for number in range(students)]
    seeds = range(1, seed_count(race, students) + 1)
    with Jobs(folder, limits) as jobs:
        jobs.start()
        while jobs.warm_workers() < workers:
            time.sleep(0.1)
        began = time.perf_counter()
        name = submit_race(jobs, race, "teacher", seeds, owners=visitors)
        have: dict[str, float] = {}
        while True:
            runs = [run.info for run in race_runs(jobs, name)]
            now = time.perf_counter() - began
            for info in runs:
                if info.status == "finished":
                    have.setdefault(info.owner, now)
            if any(info.status in ("failed", "cancelled") for info in runs):
                raise RuntimeError(next(i.reason for i in runs if i.status == "failed"))
            if all(info.status == "finished" for info in runs):
                return min(have.values()), max(have.values()), now
            time.sleep(0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--race", choices=list(RACES), default="heads")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    count = seed_count(asked.race, asked.students) * len(RACES[asked.race].entries)
    print(f"{cores()} cores; {asked.students} students, {count} runs of the race {asked.race!r}")
    ends = []
    for workers in asked.workers:
        with tempfile.TemporaryDirectory() as folder:
            first, everybody, end = measure(asked.race, asked.students, workers, Path(folder))
        ends.append(end)
        said = "within" if everybody <= WANTED else "over"
        print(
            f"{workers} at once: the first has a model after {first:5.1f} s, everybody after "
            f"{everybody:5.1f} s ({said} {WANTED:.0f} s); all runs after {end:5.1f} s, "
            f"{ends[0] / end:.2f} times as fast as the first line"
        )


if __name__ == "__main__":
    main()
