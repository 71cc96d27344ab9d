"""The page Learn: the list of lessons, and the bug clinic."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.base.address import View, field
from transformer.ui.base.registry import Page


@dataclass(frozen=True)
class Learn(View):
    """Address fields of the page.

    Attributes:
        clinic: 1 shows the bug clinic in place of the lessons.
        plan: a teacher's lesson plan to show instead; sheet: 1 shows its sheet to print.
    """

    clinic: int = field(0, bounds=(0, 1))
    plan: str = field()
    sheet: int = field(0, bounds=(0, 1))


PAGE = Page(
    "pages/learn.py",
    "Learn",
    Learn,
    link_text="**Learn**: a way through the paper, step by step →",
    summary="{lessons} prepared views, each with a question that it answers. New here? Begin with "
    "these.",
    has_tokens=False,
)
