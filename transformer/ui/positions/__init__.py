"""The topics of the page "Positions"."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field

TOPICS = {
    "matrix": "The matrix",
    "waves": "Waves",
    "distance": "Distance",
    "shift": "Shift",
    "added": "What is added",
    "parts": "Word or place",
    "learned": "Learned",
    "far": "Far places",
    "slip": "A slip",
}
SIDES = {"source": "Source", "target": "Target"}


@dataclass(frozen=True)
class Positions(View):
    """A topic, for one `side` of the pair.

    Attributes:
        waves: the dimensions that are drawn as waves, with commas.
        shift: the k of M_k.
        learned: the checkpoint whose learned positions are looked at, "" is the first there is.
        run: one with sinusoids to stand beside it.
    """

    topic: str = field("matrix", "Topic", choices=TOPICS)
    side: str = field("source", "Side", choices=SIDES)
    waves: str = field()
    shift: int = field(1, "k, places to go on", bounds=(-64, 64))
    learned: str = field(label="Model with learned positions")
    run: str = field()
