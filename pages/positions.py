"""Positions: how a model without order is told about order."""

from __future__ import annotations

from transformer.ui import frame, state
from transformer.ui.kit import controls
from transformer.ui.positions import (
    Positions,
    embedding_sum,
    extrapolation,
    formula,
    learned,
    misprint,
)

SHOWN = {
    "matrix": formula.matrix,
    "waves": formula.waves,
    "distance": formula.distance,
    "shift": formula.shift,
    "added": embedding_sum.sizes,
    "parts": embedding_sum.parts,
    "learned": learned.show,
    "far": extrapolation.show,
    "slip": misprint.show,
}
OF_A_SENTENCE = ("matrix", "added", "parts")

with frame.page("pages/positions.py") as model:
    controls.one_of("topic", labelled=False)
    if state.view(Positions).topic in OF_A_SENTENCE:
        controls.sentence(model)
    SHOWN[state.view(Positions).topic](model)
