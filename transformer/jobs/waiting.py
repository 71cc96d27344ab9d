"""How long a run waits: what is running has so much left, and so much stands before it in line."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def until_turn(
    left: Sequence[float | None], before: Sequence[float | None], workers: int
) -> float | None:
    """Seconds until a worker is free for what stands behind `before`; None if one of them has a
    time that is not known.

    Args:
        left: seconds that each running run still takes.
        before: seconds that each waiting run before it will take, the next first.
        workers: that take runs, each one at a time.
    """
    if any(seconds is None for seconds in (*left, *before)):
        return None
    free = sorted(seconds or 0.0 for seconds in left)
    free = [0.0] * (workers - len(free)) + free[-workers:]
    heapq.heapify(free)
    for seconds in before:
        heapq.heapreplace(free, free[0] + (seconds or 0.0))
    return free[0]
