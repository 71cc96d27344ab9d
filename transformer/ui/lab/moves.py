"""Beside every weight what it moves: norms, rollout, flow, ALTI+ and gradients."""

from __future__ import annotations

from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
