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
    trace: str = field(form=TRACE_ID, of_model=True)
    other_trace: str = field(form=TRACE_ID, of_model=True)
