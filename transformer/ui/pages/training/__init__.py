"""The Train page: ideas, the form, a run during and after training, the list of runs."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field


@dataclass(frozen=True)
class Train(View):
    """Their names; "" is none."""

    run: str = field()
    race: str = field()
