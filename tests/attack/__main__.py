"""Attack the doors for a while, and print what became of it.

    python -m tests.attack [--minutes 10] [--seed N] [--doors NAME …]

For each door: inputs tried, how many ended as they may (taken, or refused in a sentence), and how
many did not. Each input has a seed of its own, which is said of every defect: `--seed` brings the
inputs back, though not the moments that a kill or a full disk met.
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

# Read when torch is first imported; `forked` needs it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from tests.attack import classes, clock, full, given, kills, memory, messages, typed, uploads
from tests.attack.door import Attack, Door, simple

DOORS: dict[str, Door] = {
    "texts": simple(given.texts, share=0.5),
    "links": simple(given.links, share=0.5),
    "checkpoints": simple(given.checkpoints, share=0.5),
    "folders of others": simple(given.folders_of_others),
    "classes": simple(classes.classes),
    "traces": simple(given.traces, share=0.5),
    "run folders": simple(given.runs, share=0.5),
    "uploads": Door(uploads.opened, rounds=40),
    "messages": Door(messages.opened, share=2.0, rounds=15),
    "command line": Door(typed.commands, share=2.0, rounds=10),
    "calls": Door(typed.calls, share=0.5),
    "trainers killed": Door(kills.trainers, share=6.0, rounds=4),
    "servers killed": Door(kills.servers, share=4.0, rounds=1),
    "two servers": Door(kills.two_servers, share=2.0, rounds=2),
    "a full disk": Door(full.opened, share=2.0, rounds=4),
    "no memory left": Door(memory.opened, rounds=5),
    "a clock put back": Door(clock.opened, rounds=20),
}


@dataclass
class Figures:
    """What became of one door; `wrong` has the seed and the traceback of each defect."""

    tried: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    summary: str = ""


def attack(attacked: Attack, seed: int) -> str:
    """What went wrong with the input of this seed, or nothing."""
    try:
        attacked.try_once(random.Random(seed))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return traceback.format_exc().strip()
    return ""


def attacked(door: Door, seed: int, seconds: float, max_rounds: int | None = None) -> Figures:
    """Attack one door for so many seconds, or with `most` inputs if that is less."""
    figures, began = Figures(), time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            with door.open(Path(folder)) as opened:
                until = time.monotonic() + seconds
                while time.monotonic() < until and figures.tried != max_rounds:
                    wrong = attack(opened, seed + figures.tried)
                    figures.wrong += [(seed + figures.tried, wrong)] if wrong else []
                    figures.tried += 1
                figures.summary = opened.summary()
        except Exception:
            figures.wrong.append((seed + figures.tried, traceback.format_exc().strip()))
    figures.seconds = time.monotonic() - began
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="of all doors together")
    parser.add_argument("--seed", type=int, default=0, help="of the first input of every door")
    parser.add_argument("--doors", nargs="+", default=[*DOORS], choices=DOORS, metavar="NAME")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"seed {arguments.seed}", flush=True)
    total_share = sum(DOORS[name].share for name in arguments.doors)
    results: dict[str, Figures] = {}
    for name in arguments.doors:
        seconds = 60 * arguments.minutes * DOORS[name].share / total_share
        results[name] = attacked(DOORS[name], arguments.seed, seconds)
        for seed, wrong in results[name].wrong[:3]:
            print(f"{name}, seed {seed}: {wrong[-1500:]}\n", file=sys.stderr, flush=True)
    print(table(results))
    return 1 if any(figures.wrong for figures in results.values()) else 0


def table(figures: dict[str, Figures]) -> str:
    """A line a door, and one of their sums."""
    lines = [f"{'door':<16} {'tried':>8} {'clean':>8} {'defect':>7} {'s':>5}"]
    for name, figures_ in figures.items():
        wrong = len(figures_.wrong)
        row = f"{name:<16} {figures_.tried:8,} {max(0, figures_.tried - wrong):8,} {wrong:7,}"
        lines.append(f"{row} {figures_.seconds:5.0f}  {figures_.summary}".rstrip())
    tried = sum(figures_.tried for figures_ in figures.values())
    wrong = sum(len(figures_.wrong) for figures_ in figures.values())
    return "\n".join([*lines, f"{'all':<16} {tried:8,} {tried - wrong:8,} {wrong:7,}"])


if __name__ == "__main__":
    sys.exit(main())
