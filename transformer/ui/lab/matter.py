"""Which heads matter over a corpus, and how many can go."""

from __future__ import annotations

from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
