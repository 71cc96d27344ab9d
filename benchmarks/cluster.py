"""Training on a cluster of this machine's own processes beside the app's own workers.

    python -m benchmarks.cluster [--runs 8] [--workers 1 2 4]

The same runs, all put in line at once: trained by the app's own processes, and by as many workers
of Dask, each with one place and one thread, over the loopback; one number after the other. Printed
are runs a minute, from the first press to the last model at home, and the first line of metrics.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.machines import Machines
from transformer.cluster import for_runs
from transformer.jobs import Jobs, Limits, services
from transformer.jobs.jobs import TRAINER
from transformer.jobs.limits import cores
from transformer.training.recipe import describe

STEPS = 150


def measure(jobs: Jobs, workers: int, runs: int) -> tuple[float, float]:
    """Seconds until the first line of metrics is at home, and until all models are."""
    jobs.start()
    while jobs.warm() < workers:
        time.sleep(0.05)
    time.sleep(8)  # a worker that says it is there may still be starting its process
    began = time.perf_counter()
    for number in range(runs):
        jobs.submit(describe("reverse", settings={"steps": STEPS, "seed": number}), "ann")
    first = 0.0
    while True:
        infos = jobs.runs()
        now = time.perf_counter() - began
        if not first and any(info.step for info in infos):
            first = now
        if any(info.status in ("failed", "cancelled") for info in infos):
            raise RuntimeError(next(info.reason for info in infos if info.status != "finished"))
        if all(info.status == "finished" for info in infos):
            return first, now
        time.sleep(0.05)


def embedded(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, Jobs(folder, Limits(workers=workers)) as jobs:
        return measure(jobs, workers, runs)


def over_dask(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(Path(folder))
        machines.scheduler()
        for _ in range(workers):
            machines.worker()
        limits = Limits(executor="dask", scheduler=machines.address)
        try:
            with Jobs(Path(folder) / "runs", limits, executor=for_runs(TRAINER)) as jobs:
                return measure(jobs, workers, runs)
        finally:
            services.close_all()
            machines.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    asked = parser.parse_args()
    print(f"{cores()} cores; {asked.runs} runs of {STEPS} steps of the task reverse")
    slowest = 0.0
    for workers in asked.workers:
        for name, measured in (("the app's own", embedded), ("over Dask", over_dask)):
            first, end = measured(workers, asked.runs)
            slowest = slowest or end
            print(
                f"{workers} {name:<14} first line after {first:4.1f} s, "
                f"{60 * asked.runs / end:5.1f} runs a minute, {slowest / end:.2f} times the first"
            )


if __name__ == "__main__":
    main()
