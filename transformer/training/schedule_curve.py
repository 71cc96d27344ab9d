"""The learning rate of equation 3 as a curve, with its two branches and its peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.inference.trace import Array
from transformer.training.schedule import paper_rate

POINTS = 300


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
    """Equation 3 from step 1 to `last`.

    Raises:
        ValueError: for a size below 1.
    """
    for name, size in (("d_model", d_model), ("warmup", warmup), ("last", last)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
    spread = np.linspace(1, last, POINTS).round()
    steps = np.unique([*spread, *([warmup] if warmup <= last else [])]).astype(int)
    scale = d_model**-0.5
    return Rates(
        steps=steps,
        rate=np.array([paper_rate(int(step), d_model, warmup) for step in steps]),
        rising=scale * steps * float(warmup) ** -1.5,
        falling=scale * steps**-0.5,
        peak=(warmup, (d_model * warmup) ** -0.5),
    )
