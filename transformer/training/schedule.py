"""The learning rate of section 5.3, as steps take it and as a curve; a straight fall at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.inference.trace import Array


def paper_rate(step: int, d_model: int, warmup: int) -> float:
    """lrate = d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (eq. 3); `step` starts at 1."""
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
    """The rate of optimizer step `step` (1, 2, …).

    Args:
        d_model: width of the model, which sets the paper's scale.
        warmup: steps of linear rise; after them the rate falls with 1/√step.
        peak: the rate at the end of the warm-up; 0 means the paper's own.
        progress: share of the run that is over, 0 to 1.
        cooldown: last share of the run in which the rate falls in a line to 0; 0 means none.
    """
    rate = paper_rate(step, d_model, warmup)
    if peak:
        rate *= peak / paper_rate(warmup, d_model, warmup)
    left = max(0.0, 1.0 - progress)
    return rate * min(1.0, left / cooldown) if cooldown else rate


@dataclass(frozen=True, eq=False)
class Rates:
    """Steps and rates; all arrays are of equal length.

    Attributes:
        steps: from 1 on, the warm-up's last among them.
        rate: lrate of each (equation 3).
        rising, falling: the two that it is the less of: step · warmup^−1.5 and step^−0.5, each
            times d_model^−0.5.
        peak: (step, rate) where they meet: step = warmup, rate = (d_model · warmup)^−0.5.
    """

    steps: Array
    rate: Array
    rising: Array
    falling: Array
    peak: tuple[int, float]

    def after(self, steps: int) -> float:
        """The share of the peak that is left after that many warm-ups."""
        return float(steps**-0.5)


def rates(d_model: int, warmup: int, last: int) -> Rates:
    """Equation 3 from step 1 to `last`. Raises ValueError for a size below 1."""
    for name, size in (("d_model", d_model), ("warmup", warmup), ("last", last)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
    spread = np.linspace(1, last, 300).round()
    steps = np.unique([*spread, *([warmup] if warmup <= last else [])]).astype(int)
    scale = d_model**-0.5
    return Rates(
        steps=steps,
        rate=np.array([paper_rate(int(step), d_model, warmup) for step in steps]),
        rising=scale * steps * float(warmup) ** -1.5,
        falling=scale * steps**-0.5,
        peak=(warmup, (d_model * warmup) ** -0.5),
    )
