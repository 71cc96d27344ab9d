"""Selection of the training steps that a film shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

FRAMES = 100
"""Maximum number of steps in a film."""


def film_steps(steps: Iterable[int], limit: int = FRAMES) -> list[int]:
    """Select at most `limit` of these steps, sorted: the first, the last, and about equally many
    for every doubling between them, since most changes happen early."""
    distinct = sorted(set(steps))
    if len(distinct) <= limit:
        return distinct
    if limit < 3:
        return [distinct[0], distinct[-1]][-limit:]
    log_steps = np.log1p(np.array(distinct, float) - distinct[0])
    selected = [0]
    for nth in range(1, limit - 1):
        # The remaining step nearest to its log-spaced target that leaves enough steps for the rest.
        target = log_steps[-1] * nth / (limit - 1)
        low, high = selected[-1] + 1, len(distinct) - (limit - nth)
        selected.append(low + int(np.abs(log_steps[low : high + 1] - target).argmin()))
    return [distinct[index] for index in [*selected, len(distinct) - 1]]
