"""The learning-rate schedule of section 5.3, with an optional linear cooldown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.inference.trace import Array


def paper_rate(step: int, d_model: int, warmup: int) -> float:
    """Return d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (eq. 3); `step` starts at 1."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


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


@dataclass(frozen=True, eq=False)
class ScheduleCurve:
    """The schedule as a curve; all arrays have the same length.

    Attributes:
        steps: sampled steps from 1, including the last of the warm-up.
        rate: learning rate of each step (equation 3), the minimum of `rising` and `falling`.
        rising: d_model^−0.5 · step · warmup^−1.5.
        falling: d_model^−0.5 · step^−0.5.
        peak: (step, rate) where both are equal: step = warmup, rate = (d_model · warmup)^−0.5.
    """

    steps: Array
    rate: Array
    rising: Array
    falling: Array
    peak: tuple[int, float]

    def after(self, steps: int) -> float:
        """Return the rate after `steps` times the warm-up, as a fraction of the peak."""
        return float(steps**-0.5)


def schedule_curve(d_model: int, warmup: int, n_steps: int) -> ScheduleCurve:
    """Sample equation 3 from step 1 to `n_steps`. Raises ValueError for an argument below 1."""
    for name, size in (("d_model", d_model), ("warmup", warmup), ("last", n_steps)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
    sampled_steps = np.linspace(1, n_steps, 300).round()
    steps = np.unique([*sampled_steps, *([warmup] if warmup <= n_steps else [])]).astype(int)
    scale = d_model**-0.5
    return ScheduleCurve(
        steps=steps,
        rate=np.array([paper_rate(int(step), d_model, warmup) for step in steps]),
        rising=scale * steps * float(warmup) ** -1.5,
        falling=scale * steps**-0.5,
        peak=(warmup, (d_model * warmup) ** -0.5),
    )
