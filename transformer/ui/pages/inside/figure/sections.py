"""The sections of the tab Figure 1."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.inside import Inside, rows
from transformer.ui.pages.inside.figure import learning, lens, own_pair, walkthrough
from transformer.ui.services.models import Model

SHOW = {
    "walk": walkthrough.show,
    "training": own_pair.show,
    "learning": learning.show,
    "lens": lens.show,
}
LEAD = "Figure 1 of *Attention Is All You Need*, for your sentence."


def show(model: Model) -> None:
    """Draw the rows at the top, and the section in the address."""
    section = state.view(Inside).section
    rows.draw("section", model, LEAD if section == "walk" else "", parts_in_menu=True)
    SHOW[section](model)
