"""The parts of the page "Class": to join one, to open one, and to see who is there."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field


@dataclass(frozen=True)
class Class(View):
    """What a link into a class carries.

    Attributes:
        code: of the class, until it is joined.
    """

    code: str = field(form=(r"[A-Za-z0-9 -]{0,12}", 'a class\'s code, like "K7F A2P"'))
