"""The Class page: join or open a class, see its members and its runs."""

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
