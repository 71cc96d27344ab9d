"""Attack every entry point for some minutes and print the results.

    python -m tests.attack [--minutes 10] [--seed N] [--targets NAME …]

The table has, for each target, the number of inputs, how many were handled correctly (accepted, or
rejected with one sentence) and how many were not. Each defect is printed with the seed of its
input. `--seed` repeats the inputs, but not the moment of a kill or the free space on a full disk.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

# Read when torch is first imported; `run_forked` needs it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from tests.attack import (
    classes,
    clock,
    commands_and_calls,
    full_disk,
    kills,
    messages,
    out_of_memory,
    parsers,
    uploads,
)
from tests.attack.target import Attack, Target, simple

TARGETS: dict[str, Target] = {
    "texts": simple(parsers.texts, share=0.5),
    "links": simple(parsers.links, share=0.5),
    "checkpoints": simple(parsers.checkpoints, share=0.5),
    "imported folders": simple(parsers.marian_folders),
    "classes": simple(classes.classes),
    "traces": simple(parsers.traces, share=0.5),
    "run folders": simple(parsers.runs, share=0.5),
    "uploads": Target(uploads.start_attack, rounds=40),
    "messages": Target(messages.start_attack, share=2.0, rounds=15),
    "command line": Target(commands_and_calls.commands, share=2.0, rounds=10),
    "calls": Target(commands_and_calls.calls, share=0.5),
    "trainers killed": Target(kills.trainers, share=6.0, rounds=4),
    "servers killed": Target(kills.servers, share=4.0, rounds=1),
    "two servers": Target(kills.two_servers, share=2.0, rounds=2),
    "a full disk": Target(full_disk.start_attack, share=2.0, rounds=4),
    "no memory left": Target(out_of_memory.start_attack, rounds=5),
    "a clock put back": Target(clock.start_attack, rounds=20),
}


@dataclass
class Figures:
    """Results of one target; `defects` has the seed and the traceback of each defect."""

    n_inputs: int = 0
    defects: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    summary: str = ""


def try_seed(attack: Attack, seed: int) -> str:
    """Send the input of this seed; return the traceback of a defect, or ""."""
    try:
        attack.try_once(random.Random(seed))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return traceback.format_exc().strip()
    return ""


def run_attack(target: Target, seed: int, seconds: float, max_rounds: int | None = None) -> Figures:
    """Attack one target for `seconds`, with at most `max_rounds` inputs."""
    figures, began = Figures(), time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            with target.start(Path(folder)) as attack:
                deadline = time.monotonic() + seconds
                while time.monotonic() < deadline and figures.n_inputs != max_rounds:
                    defect = try_seed(attack, seed + figures.n_inputs)
                    figures.defects += [(seed + figures.n_inputs, defect)] if defect else []
                    figures.n_inputs += 1
                figures.summary = attack.summary()
        except Exception:
            figures.defects.append((seed + figures.n_inputs, traceback.format_exc().strip()))
    figures.seconds = time.monotonic() - began
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="time of all targets together")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first input of every target"
    )
    parser.add_argument(
        *("--targets", "--doors"),  # --doors: the former name
        nargs="+",
        default=[*TARGETS],
        choices=TARGETS,
        metavar="NAME",
        help="the targets to attack (all)",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"seed {arguments.seed}", flush=True)
    total_share = sum(TARGETS[name].share for name in arguments.targets)
    results: dict[str, Figures] = {}
    for name in arguments.targets:
        seconds = 60 * arguments.minutes * TARGETS[name].share / total_share
        results[name] = run_attack(TARGETS[name], arguments.seed, seconds)
        for seed, defect in results[name].defects[:3]:
            print(f"{name}, seed {seed}: {defect[-1500:]}\n", file=sys.stderr, flush=True)
    print(table(results))
    return 1 if any(figures.defects for figures in results.values()) else 0


def table(results: dict[str, Figures]) -> str:
    """Return one line per target, and one with the sums."""
    lines = [f"{'target':<16} {'tried':>8} {'clean':>8} {'defect':>7} {'s':>5}"]
    for name, figures in results.items():
        defects = len(figures.defects)
        row = (
            f"{name:<16} {figures.n_inputs:8,} {max(0, figures.n_inputs - defects):8,} {defects:7,}"
        )
        lines.append(f"{row} {figures.seconds:5.0f}  {figures.summary}".rstrip())
    n_inputs = sum(figures.n_inputs for figures in results.values())
    defects = sum(len(figures.defects) for figures in results.values())
    return "\n".join([*lines, f"{'all':<16} {n_inputs:8,} {n_inputs - defects:8,} {defects:7,}"])


if __name__ == "__main__":
    sys.exit(main())
