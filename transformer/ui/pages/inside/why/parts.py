"""The parts of the tab Why self-attention."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.inside import Inside, rows
from transformer.ui.pages.inside.why import paths, scores, table
from transformer.ui.services.models import Model

PARTS = {
    "paths": lambda _: paths.show(),
    "table": lambda _: table.show(),
    "scores": scores.show,
}


def show(model: Model | None) -> None:
    """Draw the rows at the top, and the part in the address; only the scores read a model."""
    rows.draw("part")
    PARTS[state.view(Inside).part](model)
