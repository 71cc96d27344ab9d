"""The explorer in a notebook and as a file: what `trace.heatmap()` and the like return."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from transformer.figures.explorer import explorer_page
from transformer.figures.explorer_sides import ExplorerData
from transformer.figures.state import State, state_of

HEIGHT = 860
"""Pixels of the frame in a notebook; its lower edge can be dragged."""


class ExplorerView:
    """The attention explorer over a trace, or over two. As the last line of a notebook's cell it
    is drawn below the cell; `html` is the whole page, `save` makes a file of it. Neither needs a
    server or a network.

    Args:
        sides: one, or two to compare.
        state: what it opens with, where that differs from `state.DEFAULTS`; but names are exact
            unless `exact=False`. A layer without a head opens at its head 0.

    Raises:
        ValueError: for a state that is none, or a kind, layer or head that the trace has not.
    """

    def __init__(self, sides: Sequence[ExplorerData], state: Mapping[str, Any]) -> None:
        given = {n: int(value) if isinstance(value, bool) else value for n, value in state.items()}
        self.sides, self.state = list(sides), state_of({"exact": 1, **given})
        for side in self.sides:
            _check(side, self.state, given)

    @cached_property
    def html(self) -> str:
        """The page: every layer is in it."""
        source = str(self.sides[0].traced.translation.source)
        # A lone half of a surrogate pair cannot be written as UTF-8.
        return explorer_page(self.sides, self.state, source.encode(errors="replace").decode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """The page as a file; what stood there before is replaced, all of it or nothing."""
        # Only here: with this room's door comes torch, and a drawing needs none.
        from transformer.text.files import atomic_path

        with atomic_path(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # Within a frame of its own, apart from the notebook: neither reaches the other.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="Attention explorer" style="width: 100%; height: {HEIGHT}px; border: 0; '
            'resize: vertical; overflow: auto"></iframe>'
        )


def _check(side: ExplorerData, state: State, given: Mapping[str, Any]) -> None:
    """What the state names must be in this trace."""
    if "kind" in given and state["kind"] not in side.kinds:
        raise ValueError(
            f"The trace has no weights of kind {state['kind']!r}; it has {', '.join(side.kinds)}."
        )
    depth = side.depths[str(side.resolved(state)["kind"])]
    counts = {"layer": depth, "head": int(side.traced.config["n_heads"])}
    places = [f"{state['layer']}.{state['head']}", *filter(None, str(state["heads"]).split(","))]
    for place in places:
        for (what, count), number in zip(counts.items(), place.split("."), strict=True):
            if int(number) >= count:
                raise ValueError(f"There is no {what} {number}; the {what}s are 0 to {count - 1}.")
