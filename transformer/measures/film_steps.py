"""Which steps of a training run its film shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

FRAMES = 100
"""Most steps in a film."""


def film_steps(steps: Iterable[int], most: int = FRAMES) -> list[int]:
    """At most `most` of these steps, in order: the first, the last, and between them about evenly
    many for every doubling, since most happens early."""
    found = sorted(set(steps))
    if len(found) <= most:
        return found
    if most < 3:
        return [found[0], found[-1]][-most:]
    places = np.log1p(np.array(found, float) - found[0])
    kept = [0]
    for nth in range(1, most - 1):
        # The nearest one to its even place that is left, with one left for each that follows.
        wanted = places[-1] * nth / (most - 1)
        low, high = kept[-1] + 1, len(found) - (most - nth)
        kept.append(low + int(np.abs(places[low : high + 1] - wanted).argmin()))
    return [found[place] for place in [*kept, len(found) - 1]]
