"""Measure the seconds from a click on Train to the first line of metrics.

    python -m tests.jobs.click_latency reverse french

The worker has already started, as on the page. Each run is stopped after its first line.
"""

from __future__ import annotations

import sys
import tempfile
import time

from tests.jobs.conftest import start_workers, wait_until
from transformer.jobs import Jobs, Limits
from transformer.training.recipe import make_run_config


def click_to_first_line(jobs: Jobs, task: str) -> float:
    """Return the seconds from `submit` to a line in metrics.jsonl, with default settings."""
    config = make_run_config(task, title=task)
    clicked = time.perf_counter()
    name = jobs.submit(config, "click")
    while not jobs.folder(name).last_lines():
        if jobs.run(name).status == "failed":
            raise RuntimeError(jobs.run(name).reason)
        time.sleep(0.005)
    seconds = time.perf_counter() - clicked
    jobs.control(name, "click", command="stop")
    wait_until(jobs, name, "cancelled")
    return seconds


def main(tasks: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root, Jobs(root, Limits(workers=1)) as jobs:
        start = time.perf_counter()
        start_workers(jobs)
        print(f"a worker is warm after {time.perf_counter() - start:.2f} s")
        for task in tasks:
            print(f"{task}: first line after {click_to_first_line(jobs, task):.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:] or ["reverse", "french"])
