"""Attack every entry point of the app with hostile input for some minutes and print the results.

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

# torch reads this when it is first imported. `run_forked` needs a process without other threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from tests.attack import (
    classrooms,
    clock,
    commands_and_calls,
    full_disk,
    kills,
    messages,
    out_of_memory,
    parsers,
    uploads,
)
from tests.attack.target import Attack, Target, simple_target

TARGETS: dict[str, Target] = {
    "texts": simple_target(parsers.texts, share=0.5),
    "links": simple_target(parsers.links, share=0.5),
    "checkpoints": simple_target(parsers.checkpoints, share=0.5),
    "imported folders": simple_target(parsers.marian_folders),
    "classes": simple_target(classrooms.classes),
    "traces": simple_target(parsers.traces, share=0.5),
    "run folders": simple_target(parsers.runs, share=0.5),
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
class AttackResult:
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


def run_attack(
    target: Target, seed: int, seconds: float, max_rounds: int | None = None
) -> AttackResult:
    """Attack one target for `seconds`, with at most `max_rounds` inputs."""
    result, start = AttackResult(), time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            with target.start(Path(folder)) as attack:
                deadline = time.monotonic() + seconds
                while time.monotonic() < deadline and result.n_inputs != max_rounds:
                    defect = try_seed(attack, seed + result.n_inputs)
                    result.defects += [(seed + result.n_inputs, defect)] if defect else []
                    result.n_inputs += 1
                result.summary = attack.summary()
        except Exception:
            result.defects.append((seed + result.n_inputs, traceback.format_exc().strip()))
    result.seconds = time.monotonic() - start
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="time of all targets together")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first input of every target"
    )
    parser.add_argument(
        "--targets",
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
    results: dict[str, AttackResult] = {}
    for name in arguments.targets:
        seconds = 60 * arguments.minutes * TARGETS[name].share / total_share
        results[name] = run_attack(TARGETS[name], arguments.seed, seconds)
        for seed, defect in results[name].defects[:3]:
            print(f"{name}, seed {seed}: {defect[-1500:]}\n", file=sys.stderr, flush=True)
    print(table(results))
    return 1 if any(result.defects for result in results.values()) else 0


def table(results: dict[str, AttackResult]) -> str:
    """Return one line per target, and one with the sums."""
    lines = [f"{'target':<16} {'tried':>8} {'clean':>8} {'defect':>7} {'s':>5}"]
    for name, result in results.items():
        defects = len(result.defects)
        row = f"{name:<16} {result.n_inputs:8,} {max(0, result.n_inputs - defects):8,} {defects:7,}"
        lines.append(f"{row} {result.seconds:5.0f}  {result.summary}".rstrip())
    n_inputs = sum(result.n_inputs for result in results.values())
    defects = sum(len(result.defects) for result in results.values())
    return "\n".join([*lines, f"{'all':<16} {n_inputs:8,} {n_inputs - defects:8,} {defects:7,}"])


if __name__ == "__main__":
    sys.exit(main())
