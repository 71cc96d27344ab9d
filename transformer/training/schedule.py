"""The learning-rate schedule of section 5.3, with an optional linear cooldown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


def paper_rate(step: int, d_model: int, warmup: int) -> float:
    """Return d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (eq. 3); `step` starts at 1."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


class RateCurves(NamedTuple):
    """The paper's learning rate at some steps, and the two terms of which it is the minimum."""

    steps: npt.NDArray[np.int64]
    rate: npt.NDArray[np.float64]
    rising: npt.NDArray[np.float64]
    falling: npt.NDArray[np.float64]


def rate_curves(d_model: int, warmup: int) -> RateCurves:
    """Return the curves of equation 3 at up to 301 steps from 1 to 4 · warmup.

    One of the steps is `warmup`, where the two terms meet.
    """
    steps = np.unique([*np.linspace(1, 4 * warmup, 300).round(), warmup]).astype(np.int64)
    rate = np.array([paper_rate(int(step), d_model, warmup) for step in steps])
    rising, falling = d_model**-0.5 * steps * warmup**-1.5, d_model**-0.5 * steps**-0.5
    return RateCurves(steps, rate, rising, falling)


def learning_rate(
    step: int,
    *,
    d_model: int,
    warmup: int,
    peak: float = 0.0,
    progress: float = 0.0,
    cooldown: float = 0.0,
) -> float:
    """Return the learning rate of optimizer step `step` (1, 2, …).

    Args:
        d_model: width of the model, which sets the paper's scale.
        warmup: steps of linear rise; after them the rate falls with 1/√step.
        peak: rate at the end of the warm-up; 0 means the paper's.
        progress: completed fraction of the run, 0 to 1.
        cooldown: final fraction of the run in which the rate falls linearly to 0; 0 means none.
    """
    rate = paper_rate(step, d_model, warmup)
    if peak:
        rate *= peak / paper_rate(warmup, d_model, warmup)
    remaining = max(0.0, 1.0 - progress)
    return rate * min(1.0, remaining / cooldown) if cooldown else rate
