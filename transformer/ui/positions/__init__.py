"""The Positions page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field

TOPICS = {
    "order": "Dog bites man",
    "clocks": "Clocks",
    "matrix": "All numbers",
    "waves": "Waves",
    "distance": "Distance",
    "shift": "Shift",
    "added": "What is added",
    "parts": "Word or place",
    "learned": "Learned",
    "far": "Far places",
    "slip": "A slip",
}
TABS = {
    "Why they are needed": ("order",),
    "What they are": ("clocks", "matrix", "waves", "distance", "shift", "slip"),
    "In this model": ("added", "parts"),
    "Learned, and far": ("learned", "far"),
}
"""The topics under a few plain headings."""
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

    topic: str = field("order", "Topic", choices=TOPICS)
    side: str = field("source", "Side", choices=SIDES)
    waves: str = field()
    shift: int = field(1, "k, places to go on", bounds=(-64, 64))
    learned: str = field(label="Model with learned positions")
    run: str = field()

    @property
    def tab(self) -> str:
        """The heading that the topic stands under."""
        return next(tab for tab, topics in TABS.items() if self.topic in topics)
