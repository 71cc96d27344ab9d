"""A film's captions: what can be seen at each step, in words worked out from the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transformer.figures.roles import Role

NOTICED = 0.03
"""Change of the mean greatest weight, from picture to picture, that is worth a word."""
DOES = {
    "positional": ("looks at one fixed place", "look at one fixed place"),
    "backwards": ("reads backwards", "read backwards"),
    "sink": ("rests on an end of the sentence", "rest on an end of the sentence"),
}


def captions(
    weights: npt.NDArray[np.floating], found: npt.NDArray[np.object_], steps: Sequence[int]
) -> list[str]:
    """A sentence or two for each picture of one kind of attention.

    Args:
        weights: (steps, layers, heads, query, key), each row a distribution.
        found: the `Role` of each head at each step, (steps, layers, heads).
        steps: the step of each picture.
    """
    greatest = weights.astype(np.float64).max(axis=-1).mean(axis=(1, 2, 3))
    return [
        _caption(
            float(greatest[at]),
            float(greatest[at - 1]) if at else None,
            _roles(found[at]),
            steps[at],
            last=at == len(steps) - 1 > 0,
        )
        for at in range(len(steps))
    ]


def _caption(now: float, before: float | None, does: str, step: int, *, last: bool) -> str:
    amount = f"the greatest weight of a row is {now:.0%} on average"
    if before is None:
        when = "Before the first step" if step == 0 else "The first picture"
        return f"{when}: {amount}. {does}"
    if last:
        way = "At the end"
    elif now > before + NOTICED:
        way = f"Sharper, from {before:.0%}"
    elif now < before - NOTICED:
        way = f"More blurred, from {before:.0%}"
    else:
        way = "Nearly as before"
    return f"{way}: {amount}. {does}"


def _roles(found: npt.NDArray[np.object_]) -> str:
    """How many heads do what, of all of one kind."""
    heads: list[Role] = found.ravel().tolist()
    counts = {group: sum(one.group == group for one in heads) for group in DOES}
    parts = [f"{count} {DOES[group][count > 1]}" for group, count in counts.items() if count]
    if not parts:
        return f"None of {len(heads)} heads shows a pattern that the rules know."
    return f"Of {len(heads)} heads {', '.join(parts)}."
