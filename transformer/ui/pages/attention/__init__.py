"""The Attention page: the explorer, comparison with a second translation, trace files."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, explorer_field, field

NAME = (r"([0-9a-f]{16})?", "the name of an opened trace, sixteen signs of 0-9 and a-f")


@dataclass(frozen=True)
class Attention(View):
    """As in `figures.state`.

    Attributes:
        trace, other_trace: names by which this browser's opened trace files are found again; ""
            is none.
    """

    view: str = explorer_field("view")
    heads: str = explorer_field("heads")
    combine: str = explorer_field("combine")
    tokens: str = explorer_field("tokens")
    pin: str = explorer_field("pin")
    way: str = explorer_field("way")
    zoom: int = explorer_field("zoom")
    special: str = explorer_field("special")
    renormalise: int = explorer_field("renormalise")
    word_row: str = explorer_field("word_row")
    scale: str = explorer_field("scale")
    measure: str = explorer_field("measure")
    more: int = explorer_field("more")
    order: str = explorer_field("order")
    node: int = explorer_field("node")
    force: str = explorer_field("force")
    trace: str = field(form=NAME, of_model=True)
    other_trace: str = field(form=NAME, of_model=True)
