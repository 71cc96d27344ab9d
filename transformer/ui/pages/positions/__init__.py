"""The Positions page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field

TOPICS = {
    "order": "Word order",
    "clocks": "Clocks",
    "matrix": "Matrix",
    "waves": "Waves",
    "added": "Vector lengths",
    "parts": "Score terms",
    "learned": "Learned",
    "far": "Length extrapolation",
}
TABS = {
    "Why positions": ("order",),
    "Sinusoids": ("clocks", "matrix", "waves"),
    "In this model": ("added", "parts"),
    "Learned positions and long inputs": ("learned", "far"),
}
"""Topics by tab."""
SIDES = {"source": "Source", "target": "Target"}


@dataclass(frozen=True)
class Positions(View):
    """Address fields of the page.

    Attributes:
        side: whether to show source or target positions.
        waves: the dimensions to draw as waves, separated by commas.
        learned: the checkpoint with learned positions; "" is the first one.
        run: a checkpoint with sinusoids to compare it with.
    """

    topic: str = field("order", "Topic", choices=TOPICS)
    side: str = field("source", "Side", choices=SIDES)
    waves: str = field()
    learned: str = field(label="Model with learned positions")
    run: str = field()

    @property
    def tab(self) -> str:
        """Return the tab that contains the topic."""
        return next(tab for tab, topics in TABS.items() if self.topic in topics)
