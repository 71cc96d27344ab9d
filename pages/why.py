"""Why self-attention: Table 1 of the paper, counted and raced."""

from __future__ import annotations

from transformer.ui import state
from transformer.ui.pages.why import Why, paths, race, scores, table
from transformer.ui.shell import page
from transformer.ui.widgets import controls

PARTS = {
    "table": table.show,
    "paths": paths.show,
    "race": race.show,
    "scores": scores.show,
}

with page.page_without_model("pages/why.py"):
    controls.button_row("part", labelled=False)
    PARTS[state.view(Why).part]()
