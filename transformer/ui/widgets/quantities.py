"""Durations, percentages and counts of training, formatted for people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from transformer.api.training_facts import duration


def reproducibility_note(state: Mapping[str, Any], seed: object) -> str:
    """Return what a run's results depend on besides its settings, from its state.json; "" if
    it is not recorded."""
    threads, units, torch = (state.get(name) for name in ("threads", "units", "torch"))
    if not (isinstance(threads, int) and torch):
        return ""
    return (
        f"Trained with seed {seed} in {state.get('precision')} on {state.get('device')}, {threads} "
        f"thread{'s' if threads != 1 else ''}, {units}, torch {torch}. If any of these "
        "differs, the same seed may train a different model."
    )


def ago(created: float) -> str:
    """Format the time since a Unix time."""
    if created <= 0:
        return ""
    seconds = max(0.0, time.time() - created)
    if seconds < 86_400 * 2:
        return f"{duration(seconds)} ago"
    return f"{round(seconds / 86_400)} days ago"


def percent(share: float) -> str:
    """Format a share as a percentage; only 1 gives "100%" and only 0 gives "0%"."""
    text = f"{100 * share:.0f}"
    if (text == "100" and share < 1) or (text == "0" and share > 0):
        text = f"{100 * share:.1f}" if 0.0005 <= share <= 0.9995 else f"{100 * share:.3f}"
    return f"{text}%"


def right_answers(n_right: int, total: int) -> str:
    """Return how many of at least one answer are right, as a sentence."""
    if total == 1:
        return "The only answer is right." if n_right else "The only answer is wrong."
    return f"{n_right} of {total} answers are right."


def weights(count: int) -> str:
    """Format a number of weights: "183,000", "1.2 million"."""
    if count < 1_000_000:
        return f"{round(count, -3):,}" if count >= 10_000 else f"{count:,}"
    return f"{count / 1e6:.1f} million"
