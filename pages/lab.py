"""Heads lab: what a head does, and what happens without it."""

from __future__ import annotations

from transformer.ui import frame, state
from transformer.ui.kit import controls
from transformer.ui.lab import LABS, Lab, align, attribution, dataset, importance, roles, switch

SHOWN = {
    "switch": switch.show,
    "moves": attribution.show,
    "cards": roles.show,
    "matter": importance.show,
    "align": align.show,
    "dataset": dataset.show,
}

with frame.page("pages/lab.py") as model:
    state.normalise(lab=state.view(Lab).part)
    controls.one_of("lab", labelled=False, options=[*LABS])
    SHOWN[state.view(Lab).lab](model)
