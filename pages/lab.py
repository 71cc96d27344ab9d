"""Heads lab: what a head does, and what happens without it."""

from __future__ import annotations

from transformer.ui import controls, frame, state
from transformer.ui.lab import Lab, align, cards, matter, moves, switch

SHOWN = {
    "switch": switch.show,
    "moves": moves.show,
    "cards": cards.show,
    "matter": matter.show,
    "align": align.show,
}

with frame.page("pages/lab.py") as model:
    controls.one_of("lab", labelled=False)
    SHOWN[state.view(Lab).lab](model)
