"""Heads lab: what a head does, and what happens without it."""

from __future__ import annotations

from transformer.ui import page, state
from transformer.ui.lab import (
    Lab,
    align,
    attribution,
    dataset,
    importance,
    menu,
    query_keys,
    roles,
    sweep,
    switch,
)

SHOWN = {
    "switch": switch.show,
    "sweep": sweep.show,
    "moves": attribution.show,
    "cards": roles.show,
    "map": query_keys.show,
    "matter": importance.show,
    "align": align.show,
    "dataset": dataset.show,
}

with page.page("pages/lab.py") as model:
    state.normalise(lab=state.view(Lab).part)
    menu.show()
    SHOWN[state.view(Lab).lab](model)
