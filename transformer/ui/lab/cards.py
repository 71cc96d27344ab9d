"""What every head does over a corpus: numbers, a role, and the sentences where it is strongest."""

from __future__ import annotations

from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
