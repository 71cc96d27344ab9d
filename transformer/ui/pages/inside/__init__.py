"""The Inside page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.figures.box_layout import STOPS
from transformer.ui.address import View, field

SECTIONS = {
    "walk": "Walkthrough",
    "training": "Training targets",
    "learning": "Training methods",
    "lens": "Logit lens",
    "bleu": "BLEU",
}


@dataclass(frozen=True)
class Inside(View):
    """Address fields of the page.

    Attributes:
        box: the open box of Figure 1, in layer `layer`; panel: the name of one of its tables, in
            which `row` and `column` select a number.
        d, warmup: of the learning rate schedule; dropout, smoothing: their rates.
    """

    section: str = field("walk", "Show", choices=SECTIONS)
    box: str = field(STOPS[0], choices=STOPS)
    panel: str = field()
    d: int = field(512, "d_model", bounds=(8, 4096))
    warmup: int = field(4000, "warmup, steps", bounds=(1, 100_000))
    dropout: float = field(0.1, "P_drop", bounds=(0.0, 0.9))
    smoothing: float = field(0.1, "ε", bounds=(0.0, 0.9))
