"""The attention explorer: what the page, a notebook and a file on disk show alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from transformer.figures.explorer_sides import ExplorerData, header, prefixed
from transformer.figures.packing import Part, pack
from transformer.figures.state import State, state_of
from transformer.figures.views import TABS, data_script, page

_START = f"""{TABS}
import {{ openExplorer }} from "./explorer-use.js";
openExplorer(TABS);"""
HEIGHT = 860
"""Pixels of the frame in a notebook; its lower edge can be dragged."""


@dataclass(frozen=True)
class Notice:
    """One thing to notice: a sentence as pieces of text, each with whether it is a word of what is
    looked at, and where to look: the state that it leads to, with a kind, a layer and a head."""

    said: tuple[tuple[str, bool], ...]
    look: Mapping[str, int | str]

    def data(self) -> dict[str, Any]:
        """As the browser takes it. Raises ValueError if `look` has what is no state."""
        state_of(self.look)
        return {"said": self.said, "look": dict(self.look)}


def explorer_data(
    sides: Sequence[ExplorerData],
    start: Mapping[str, Any],
    parts: Sequence[Part],
    *,
    visit: int = 0,
    versus: str = "",
    later: Sequence[Part] = (),
    names: Sequence[str] = (),
    story: Sequence[Notice] = (),
    exact: int | None = None,
) -> bytes:
    """Everything that one drawing of the explorer needs, as `explorer.js` takes it.

    Args:
        sides: one, or two to compare.
        start: the state, or where it differs from `state.DEFAULTS`. A view that is on screen
            already keeps its own state until `visit` changes.
        parts: weights of layers and vectors of heads, named by `prefixed`.
        versus: what the second side is, "other" (sentence or checkpoint) or "force" (a
            piece); "refused" if that could not be.
        names: of the sides, in place of their own.
        story: what to notice on the first side's sentence.
        exact: whether names are exact, which a view that is on screen takes over when it changes.
        later: what the reader of these bytes has besides, and unpacks when it is looked at.

    Raises:
        ValueError: for a state that is none.
    """
    small = [
        part for i, side in enumerate(sides) for part in prefixed([*side.thumbs, *side.pins], i)
    ]
    head = {
        **header(sides, state_of(start), names),
        "visit": visit,
        "exact": int(state_of(start)["exact"] if exact is None else exact),
        "versus": versus,
        "story": [notice.data() for notice in story],
        "later": [part.meta() for part in later],
    }
    return pack(head, [*small, *parts])


def explorer_page(
    sides: Sequence[ExplorerData],
    start: Mapping[str, Any],
    title: str = "Attention",
    story: Sequence[Notice] = (),
) -> str:
    """The explorer as one HTML file: every layer in it, each unpacked when it is looked at."""
    state = sides[0].resolved(state_of(start))
    looked_at = str(state["kind"]), int(state["layer"])
    later = [
        part
        for number, side in enumerate(sides)
        for part in prefixed(list(side.everything(*looked_at)), number)
    ]
    first = data_script("id", "hu-first", explorer_data(sides, state, [], later=later, story=story))
    blocks = (data_script("data-part", part.name, part.array.tobytes()) for part in later)
    return page(_START, first, title, "\n".join(blocks))


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
