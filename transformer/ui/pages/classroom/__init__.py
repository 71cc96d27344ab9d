"""The Class page: join or open a class, see its members, questions and runs."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.base.address import View, field
from transformer.ui.base.registry import CLASS, Page


@dataclass(frozen=True)
class Class(View):
    """Address fields of the page.

    Attributes:
        code: of the class in an invitation link; removed after joining.
        plan: a lesson plan, as its link has it.
    """

    code: str = field(form=(r"[A-Za-z0-9 -]{0,20}", 'a class\'s code, like "K7F A2P"'))
    plan: str = field()


PAGE = Page(CLASS, "Class", Class, has_tokens=False)
