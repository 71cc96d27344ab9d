"""The learning-rate schedule of section 5.3, with an optional linear cooldown."""

from __future__ import annotations


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
