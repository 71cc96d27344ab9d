"""What the Train page keeps: the run or the race that is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field


@dataclass(frozen=True)
class Train(View):
    """Their names; "" is none."""

    run: str = field()
    race: str = field()
