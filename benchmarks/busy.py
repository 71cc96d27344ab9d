"""Time of reruns and translations while other processes use every core.

    python -m benchmarks.busy [CHECKPOINTS] [--times 40] [--burners N]

Measures without and with N processes that occupy a core each, by default as many as cores. Prints
the median without them and the 99th percentile with them, in milliseconds, and their ratio, whose
goal is at most 3. Reruns are those of a session without a browser (`sessions.py`).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np

from benchmarks.browser import ROOT, app_server
from benchmarks.sessions import Session
from transformer.jobs.limits import cores

GOAL_RATIO = 3.0
ENDLESS_LOOP = "while True: pass"
_NUMBERS = itertools.count(11)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run this many processes that occupy a core each."""
    processes = [subprocess.Popen([sys.executable, "-c", ENDLESS_LOOP]) for _ in range(count)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def sentence() -> str:
    """Return a new sentence, which no cache has."""
    return f"The {next(_NUMBERS)} boats of my neighbour were sold before the winter."


def rerun_times(address: str, name: str, times: int) -> list[float]:
    """Time reruns of this page with new sentences, which it translates, traces and draws."""
    with Session(address, name, f"text={quote(sentence())}") as session:
        milliseconds = []
        for _ in range(times):
            session.query = f"text={quote(sentence())}"
            milliseconds.append(session.rerun())
        return milliseconds


def translation_times(folder: Path, times: int) -> list[float]:
    """Time translations of new sentences with the number of threads that the server uses."""
    import torch

    from transformer import Translator

    n_threads_before = torch.get_num_threads()
    torch.set_num_threads(1)
    translator = Translator.load(folder, device="cpu")
    translator.translate(sentence())
    milliseconds = []
    for _ in range(times):
        start = time.perf_counter()
        translator.translate(sentence())
        milliseconds.append(1000 * (time.perf_counter() - start))
    torch.set_num_threads(n_threads_before)
    return milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoints", nargs="?", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--burners", dest="busy_processes", type=int, default=cores())
    options = parser.parse_args()
    checkpoint = min(path.parent for path in options.checkpoints.glob("*/config.json"))
    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(options.checkpoints, HEADS_UP_RUNS=runs) as (address, _),
    ):
        workloads: dict[str, Callable[[], list[float]]] = {
            "translate one sentence": lambda: translation_times(checkpoint, options.times),
            "Translate: another sentence": lambda: rerun_times(address, "translate", options.times),
            "Attention: another sentence": lambda: rerun_times(address, "attention", options.times),
            "Heads lab: another sentence": lambda: rerun_times(address, "lab", options.times),
        }
        idle = {name: statistics.median(measure()) for name, measure in workloads.items()}
        count = options.busy_processes
        print(f"{count} busy processes on {cores()} cores, {options.times} times each")
        print(f"{'':<32} {'idle p50':>10} {'busy p50':>10} {'busy p99':>10} {'times':>7}")
        with busy_processes(count):
            for name, measure in workloads.items():
                busy = measure()
                p99 = float(np.percentile(busy, 99))
                print(
                    f"{name:<32} {idle[name]:10.0f} {statistics.median(busy):10.0f} {p99:10.0f} "
                    f"{p99 / idle[name]:7.1f}   (goal: at most {GOAL_RATIO:g})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
