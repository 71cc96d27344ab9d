"""Attack the doors for a while, and print what became of it.

    python -m tests.attack [--minutes 1] [--seed N]

For each door: inputs tried, how many ended as they may (taken, or refused in a sentence), and how
many did not, with the seed that brings each of them back.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.attack.doors import DOORS, Door


def attack(door: Door, seed: int, folder: Path) -> str:
    """What went wrong with the input of this seed, or nothing."""
    try:
        door(random.Random(seed), folder)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "".join(traceback.format_exception(error)[-3:]).strip()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{'door':<14} {'tried':>8} {'clean':>8} {'defect':>8}")
    defects = 0
    for name, door in DOORS.items():
        tried, wrong = 0, list[tuple[int, str]]()
        until = time.monotonic() + 60 * given.minutes / len(DOORS)
        with tempfile.TemporaryDirectory() as folder:
            while time.monotonic() < until:
                found = attack(door, given.seed + tried, Path(folder))
                wrong += [(given.seed + tried, found)] if found else []
                tried += 1
        defects += len(wrong)
        print(f"{name:<14} {tried:8,} {tried - len(wrong):8,} {len(wrong):8,}", flush=True)
        for seed, found in wrong[:3]:
            print(f"  seed {seed}: {found[-600:]}")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
