"""Which steps of a training run its film shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

FRAMES = 100
"""Most steps in a film."""


def film_steps(steps: Iterable[int], limit: int = FRAMES) -> list[int]:
    """At most `most` of these steps, in order: the first, the last, and between them about evenly
    many for every doubling, since most happens early."""
    distinct = sorted(set(steps))
    if len(distinct) <= limit:
        return distinct
    if limit < 3:
        return [distinct[0], distinct[-1]][-limit:]
    log_steps = np.log1p(np.array(distinct, float) - distinct[0])
    selected = [0]
    for nth in range(1, limit - 1):
        # The nearest one to its even place that is left, with one left for each that follows.
        target = log_steps[-1] * nth / (limit - 1)
        low, high = selected[-1] + 1, len(distinct) - (limit - nth)
        selected.append(low + int(np.abs(log_steps[low : high + 1] - target).argmin()))
    return [distinct[index] for index in [*selected, len(distinct) - 1]]
