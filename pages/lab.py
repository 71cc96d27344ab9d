"""Heads lab: what a head does, and what changes when it is ablated."""

from __future__ import annotations

from transformer.ui import state
from transformer.ui.pages.lab import (
    Lab,
    align,
    attribution,
    importance,
    menu,
    roles,
    sweep,
)
from transformer.ui.shell import page

PARTS = {
    "sweep": sweep.show,
    "attribution": attribution.show,
    "roles": roles.show,
    "importance": importance.show,
    "align": align.show,
}

with page.page("pages/lab.py") as model:
    state.set_fields(lab=state.view(Lab).experiment)
    menu.show()
    PARTS[state.view(Lab).lab](model)
