"""The parts of the tab Why self-attention."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.inside import Inside, rows
from transformer.ui.pages.inside.why import paths, race, scores, table

SHOW = {"paths": paths.show, "table": table.show, "race": race.show, "scores": scores.show}


def show() -> None:
    """Draw the rows at the top, and the part in the address."""
    rows.draw("part")
    SHOW[state.view(Inside).part]()
