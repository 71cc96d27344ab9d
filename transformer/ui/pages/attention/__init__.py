"""The Attention page: the explorer, comparison with a second translation, trace files."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, explored, field

NAME = (r"([0-9a-f]{16})?", "the name of an opened trace, sixteen signs of 0-9 and a-f")


@dataclass(frozen=True)
class Attention(View):
    """As in `figures.state`.

    Attributes:
        trace, other_trace: names by which this browser's opened trace files are found again; ""
            is none.
    """

    view: str = explored("view")
    heads: str = explored("heads")
    combine: str = explored("combine")
    tokens: str = explored("tokens")
    pin: str = explored("pin")
    way: str = explored("way")
    zoom: int = explored("zoom")
    special: str = explored("special")
    renormalise: int = explored("renormalise")
    word_row: str = explored("word_row")
    scale: str = explored("scale")
    measure: str = explored("measure")
    more: int = explored("more")
    order: str = explored("order")
    node: int = explored("node")
    force: str = explored("force")
    trace: str = field(form=NAME, of_model=True)
    other_trace: str = field(form=NAME, of_model=True)
