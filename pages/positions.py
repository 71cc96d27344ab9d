"""Positions: how a model without order is told about order."""

from __future__ import annotations

from transformer.ui import frame, state
from transformer.ui.kit import controls
from transformer.ui.positions import Positions, far, formula, learned, slips, sums

SHOWN = {
    "matrix": formula.matrix,
    "waves": formula.waves,
    "distance": formula.distance,
    "shift": formula.shift,
    "added": sums.sizes,
    "parts": sums.parts,
    "learned": learned.show,
    "far": far.show,
    "slip": slips.show,
}
OF_A_SENTENCE = ("matrix", "added", "parts")

with frame.page("pages/positions.py") as model:
    controls.one_of("topic", labelled=False)
    if state.view(Positions).topic in OF_A_SENTENCE:
        controls.sentence(model)
    SHOWN[state.view(Positions).topic](model)
