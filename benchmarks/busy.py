"""Pages and the translator on a machine that others use: every core burnt beside them.

    python -m benchmarks.busy [CHECKPOINTS] [--times 40] [--burners N]

First quiet, then with as many busy processes as this process has cores. The median of the quiet
machine and the 99th percentile of the busy one, in milliseconds, and how many times as long that
is; at most 3 is wanted. Page reruns are those of a visitor without a browser (`sessions.py`).
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

from benchmarks.browser import ROOT, served
from benchmarks.sessions import Session
from transformer.jobs.limits import cores

AIM = 3.0
BURN = "while True: pass"
_NUMBERS = itertools.count(11)


@contextmanager
def burning(count: int) -> Iterator[None]:
    """So many processes that do nothing but take a core."""
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def sentence() -> str:
    """One that nobody has asked for."""
    return f"The {next(_NUMBERS)} boats of my neighbour were sold before the winter."


def page(address: str, name: str, times: int) -> list[float]:
    """Another sentence on this page, again and again: translated, traced and drawn."""
    with Session(address, name, f"text={quote(sentence())}") as session:
        found = []
        for _ in range(times):
            session.query = f"text={quote(sentence())}"
            found.append(session.rerun())
        return found


def translations(folder: Path, times: int) -> list[float]:
    """The translator alone, with as many threads as the server gives it."""
    import torch

    from transformer import Translator

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    translator = Translator.load(folder, device="cpu")
    translator.translate(sentence())
    found = []
    for _ in range(times):
        began = time.perf_counter()
        translator.translate(sentence())
        found.append(1000 * (time.perf_counter() - began))
    torch.set_num_threads(before)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoints", nargs="?", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--burners", type=int, default=cores())
    given = parser.parse_args()
    first = min(path.parent for path in given.checkpoints.glob("*/config.json"))
    with (
        tempfile.TemporaryDirectory() as runs,
        served(given.checkpoints, HEADS_UP_RUNS=runs) as (address, _),
    ):
        what: dict[str, Callable[[], list[float]]] = {
            "translate one sentence": lambda: translations(first, given.times),
            "Translate: another sentence": lambda: page(address, "translate", given.times),
            "Attention: another sentence": lambda: page(address, "attention", given.times),
            "Heads lab: another sentence": lambda: page(address, "lab", given.times),
        }
        quiet = {name: statistics.median(measure()) for name, measure in what.items()}
        print(f"{given.burners} busy processes on {cores()} cores, {given.times} times each")
        print(f"{'':<32} {'quiet p50':>10} {'busy p50':>10} {'busy p99':>10} {'times':>7}")
        with burning(given.burners):
            for name, measure in what.items():
                busy = measure()
                p99 = float(np.percentile(busy, 99))
                print(
                    f"{name:<32} {quiet[name]:10.0f} {statistics.median(busy):10.0f} {p99:10.0f} "
                    f"{p99 / quiet[name]:7.1f}   (at most {AIM:g} wanted)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
