"""A wall of runs that learn at the same time: for each a small curve and its clearest head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from transformer.figures.packing import COARSE, pack, quantize

POINTS = 48
"""Points of a small curve at most."""
_NOTHING: npt.NDArray[np.floating] = np.empty((0, 0))


@dataclass(frozen=True)
class Card:
    """One run on the wall.

    Attributes:
        name: of the run; who: whose it is; title: what it learns; status: a word.
        step: that it has come to; share: of its training that is over, 0 to 1.
        right: share of whole outputs that were right, 0 to 1; None before the first look.
        curve: (step, loss) in order, at most `POINTS` of them.
        weights: of the head that is drawn, (query, key); empty before the first picture.
        head: what that head is called.
    """

    name: str
    who: str
    title: str
    status: str
    step: int
    share: float
    right: float | None
    curve: Sequence[tuple[int, float]]
    weights: npt.NDArray[np.floating] = field(default_factory=lambda: _NOTHING)
    head: str = ""


def wall_data(cards: Sequence[Card]) -> bytes:
    """What `browser/wall.js` shows.

    Raises:
        ValueError: if a weight is not within 0 to 1.
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


def thinned(curve: Sequence[tuple[int, float]], most: int = POINTS) -> list[tuple[int, float]]:
    """Every n-th point so that at most so many are left, and always the last."""
    if len(curve) <= most:
        return list(curve)
    every = -(-len(curve) // (most - 1))
    return [*curve[: len(curve) - 1 : every], curve[-1]]
