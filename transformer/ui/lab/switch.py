"""Heads, rows, cells and tokens taken away or changed, the original beside the altered."""

from __future__ import annotations

from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
