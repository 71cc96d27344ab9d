"""The Attention page: the explorer, comparison with a second translation, trace files."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.ui.address import View, explorer_field, field

TRACE_ID = (r"([0-9a-f]{16})?", "the id of an opened trace, 16 hexadecimal digits")


@dataclass(frozen=True)
class Attention(View):
    """Address fields of the page; `figures.state` explains those of the explorer.

    Attributes:
        trace, other_trace: ids of trace files that this browser opened; "" is none.
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
    trace: str = field(form=TRACE_ID, of_model=True)
    other_trace: str = field(form=TRACE_ID, of_model=True)
