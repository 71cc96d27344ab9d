"""The home page: a sentence translated while it is typed, and links to the other pages."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import HEADS_FORM, View, field


@dataclass(frozen=True)
class Home(View):
    """Address fields of the page.

    Attributes:
        off: heads that are switched off, by kind, layer and head.
    """

    off: str = field(form=HEADS_FORM, of_model=True)
