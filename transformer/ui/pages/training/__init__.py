"""The Train page: example runs, the form, the page of a run, and the list of runs."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, field


@dataclass(frozen=True)
class Train(View):
    """Address fields of the page: the name of the open run or race; "" is none."""

    run: str = field()
    race: str = field()
