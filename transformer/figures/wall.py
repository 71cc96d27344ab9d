"""Data of the wall: concurrent runs, each with a small loss curve and its clearest head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from transformer.figures.packing import COARSE, pack, quantize

MAX_POINTS = 48
"""Maximum number of points of a curve."""
_NOTHING: npt.NDArray[np.floating] = np.empty((0, 0))


@dataclass(frozen=True)
class Card:
    """One run on the wall.

    Attributes:
        name: name of the run.
        owner: the names of its owners.
        title: its task.
        status: its status, one word.
        step: the current step.
        share: the share of training that is done, 0 to 1.
        accuracy: share of outputs that are entirely correct, 0 to 1; None before the first
            evaluation.
        curve: (step, loss) in order, at most `MAX_POINTS` of them.
        weights: weights of the head that is drawn, (query, key); empty before the first snapshot.
        head: name of that head.
    """

    name: str
    owner: str
    title: str
    status: str
    step: int
    share: float
    accuracy: float | None
    curve: Sequence[tuple[int, float]]
    weights: npt.NDArray[np.floating] = field(default_factory=lambda: _NOTHING)
    head: str = ""


def wall_data(cards: Sequence[Card]) -> bytes:
    """Return what `wall.js` shows.

    Raises:
        ValueError: if a weight is outside 0 to 1.
    """
    header = {
        "cards": [
            {name: value for name, value in asdict(card).items() if name != "weights"}
            for card in cards
        ]
    }
    heads = [
        quantize(card.name, card.weights.astype(np.float32), COARSE)
        for card in cards
        if card.weights.size
    ]
    return pack(header, heads)


def thinned(
    curve: Sequence[tuple[int, float]], max_points: int = MAX_POINTS
) -> list[tuple[int, float]]:
    """Return every n-th point of a curve and its last, at most `max_points` in all."""
    if len(curve) <= max_points:
        return list(curve)
    step = -(-len(curve) // (max_points - 1))
    return [*curve[: len(curve) - 1 : step], curve[-1]]
