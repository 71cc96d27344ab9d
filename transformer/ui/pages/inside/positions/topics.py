"""The topics of the tab Positions."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.inside import Inside, rows
from transformer.ui.pages.inside.positions import (
    embedding_sum,
    extrapolation,
    formula,
    learned,
)
from transformer.ui.services.models import Model

SHOW = {
    "matrix": formula.matrix,
    "waves": formula.waves,
    "added": embedding_sum.vector_lengths,
    "parts": embedding_sum.score_terms,
    "learned": learned.show,
    "far": extrapolation.show,
}
WITH_SENTENCE = ("matrix", "added", "parts")


def show(model: Model) -> None:
    """Draw the rows at the top, and the topic in the address."""
    topic = state.view(Inside).topic
    rows.draw("topic", model if topic in WITH_SENTENCE else None)
    SHOW[topic](model)
