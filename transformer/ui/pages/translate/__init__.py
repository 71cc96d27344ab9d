"""The Translate page."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, explorer_field


@dataclass(frozen=True)
class Translate(View):
    """Address fields of the page.

    Attributes:
        force: a step and the token forced there, as in `figures.state`.
    """

    force: str = explorer_field("force")
