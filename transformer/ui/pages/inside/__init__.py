"""The page Look inside: Figure 1 of the paper, positions, and why self-attention."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.figures.figure1 import STOPS
from transformer.ui.base.address import View, field
from transformer.ui.base.registry import Page

TABS = {"figure": "Figure 1", "positions": "Positions", "why": "Why self-attention"}
SECTION_LABELS = {
    "walk": "Walkthrough",
    "training": "Training targets",
    "learning": "Training methods",
    "lens": "Logit lens",
}
"""Sections of the tab Figure 1."""
TOPIC_LABELS = {
    "matrix": "Matrix",
    "waves": "Waves",
    "added": "Vector lengths",
    "parts": "Score terms",
    "learned": "Learned and none",
    "far": "Extrapolation",
}
"""Topics of the tab Positions."""
PART_LABELS = {"paths": "Paths", "table": "Table 1", "race": "Race of layers", "scores": "Scores"}
"""Parts of the tab Why self-attention."""
SIDES = {"source": "Source", "target": "Target"}


@dataclass(frozen=True)
class Inside(View):
    """Address fields of the page, by tab: `section` to `smoothing` belong to Figure 1, `topic` to
    `learned` to Positions, and `part` to `dk` to Why self-attention.

    Attributes:
        box: the open box of Figure 1, in layer `layer`; panel: the name of one of its tables, in
            which `row` and `column` select a number.
        d_model, warmup: of the learning rate schedule; dropout, smoothing: their rates.
        side: whether to show source or target positions.
        waves: the dimensions to draw as waves, separated by commas.
        learned: the checkpoint with learned positions; "" is the first one.
        n, d, k, r: sizes as in Table 1; dk: d_k of the scores.
    """

    tab: str = field("figure", "Tab", choices=TABS)
    section: str = field("walk", "Section", choices=SECTION_LABELS)
    box: str = field(STOPS[0], choices=STOPS)
    panel: str = field()
    d_model: int = field(512, "d_model", bounds=(8, 4096))
    warmup: int = field(4000, "warmup, steps", bounds=(1, 100_000))
    dropout: float = field(0.1, "P_drop", bounds=(0.0, 0.9))
    smoothing: float = field(0.1, "ε", bounds=(0.0, 0.9))
    topic: str = field("matrix", "Topic", choices=TOPIC_LABELS)
    side: str = field("source", "Side", choices=SIDES)
    waves: str = field()
    learned: str = field(label="Model with learned positions")
    part: str = field("paths", "Part", choices=PART_LABELS)
    n: int = field(64, "n, sequence length", bounds=(2, 65536))
    d: int = field(512, "d, dimension of the vectors", bounds=(8, 4096))
    k: int = field(3, "k, kernel size", bounds=(1, 31))
    r: int = field(15, "r, neighbourhood size", bounds=(1, 127))
    dk: int = field(64, "d_k, dimension of a query", bounds=(1, 1024))


PAGE = Page(
    "pages/inside.py",
    "Look inside",
    Inside,
    "**Look inside**: the paper's Figure 1, box by box →",
    "Every number on a sentence's way through the model; how word order enters it; why the paper "
    "uses self-attention.",
)
