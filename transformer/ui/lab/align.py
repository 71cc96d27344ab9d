"""Word alignment read from heads, held against gold links."""

from __future__ import annotations

from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
