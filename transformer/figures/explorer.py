"""The attention explorer, as the page, a notebook and an HTML file show it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from transformer.figures.packed_trace import (
    AlignerLike,
    PackedTrace,
    aligner_fields,
    fixed_header,
    prefixed,
)
from transformer.figures.packing import Part, pack
from transformer.figures.state import State, state_of
from transformer.figures.views import TABS, data_script, page
from transformer.measures.kinds import checked_kind

_START = f"""{TABS}
import {{ openExplorer }} from "./views/explorer/explorer-file.js";
openExplorer(TABS);"""
HEIGHT = 860
"""Height of the frame in a notebook, in pixels; readers can drag its lower edge."""


def explorer_data(
    sides: Sequence[PackedTrace],
    start: Mapping[str, Any],
    vectors: Sequence[Part] = (),
    *,
    visit: int = 0,
    second_kind: str = "",
    later: Sequence[Part] = (),
    names: Sequence[str] = (),
    aligner: AlignerLike | None = None,
    has_notices: bool = False,
) -> bytes:
    """Return the traces that the explorer draws, as `explorer.js` reads them.

    Args:
        sides: one trace, or two to compare.
        start: the initial state, or where it differs from `state.DEFAULTS`. A view that is already
            on screen keeps its own state until `visit` changes.
        vectors: vectors of heads, named by `prefixed`.
        second_kind: what the second side is: "other" (sentence or checkpoint) or "force" (a forced
            token); "refused" if it could not be computed.
        names: names of the sides, instead of their own.
        aligner: the head that aligns words best by gold links, if one was measured.
        has_notices: whether to list the notable heads of the sentence.
        later: vectors that the page holds separately and unpacks when they are needed.

    Raises:
        ValueError: if the state is invalid.
    """
    state = state_of(start)
    descriptions = [side.description for side in sides]
    if names:
        named = zip(descriptions, names, strict=True)
        descriptions = [{**description, "name": name} for description, name in named]
    head = {
        **fixed_header(),
        "sides": descriptions,
        "start": state,
        "visit": visit,
        "second_kind": second_kind,
        "aligner": aligner_fields(aligner),
        "has_notices": has_notices,
        "later": [part.meta() for part in later],
    }
    weights = [part for number, side in enumerate(sides) for part in prefixed(side.parts, number)]
    return pack(head, [*weights, *vectors])


def explorer_page(
    sides: Sequence[PackedTrace],
    start: Mapping[str, Any],
    title: str = "Attention",
    aligner: AlignerLike | None = None,
    *,
    has_notices: bool = False,
) -> str:
    """Return the explorer as one HTML file, with the vectors of the selected layer if they were
    recorded; they are unpacked when they are first shown."""
    state = sides[0].resolved(state_of(start), aligner)
    open_layer = checked_kind(state["kind"]), int(state["layer"])
    later = [
        part
        for number, side in enumerate(sides)
        for part in prefixed(list(side.vectors(*open_layer)), number)
    ]
    data = explorer_data(sides, state, later=later, aligner=aligner, has_notices=has_notices)
    first = data_script("id", "hu-first", data)
    blocks = (data_script("data-part", part.name, part.array.tobytes()) for part in later)
    return page(_START, first, title, "\n".join(blocks))


class ExplorerView:
    """The attention explorer of one trace, or of two to compare.

    As the last line of a notebook cell it is drawn below the cell. `html` is the whole page, and
    `save` writes it to a file; neither needs a server or a network.

    Args:
        sides: one trace, or two to compare.
        state: the initial state where it differs from `state.DEFAULTS`; names are exact unless
            `exact=False`. A layer without a head opens at its head 0.

    Raises:
        ValueError: if the state is invalid, or names a kind, layer or head that the trace lacks.
    """

    def __init__(self, sides: Sequence[PackedTrace], state: Mapping[str, Any]) -> None:
        overrides = {
            n: int(value) if isinstance(value, bool) else value for n, value in state.items()
        }
        self.sides, self.state = list(sides), state_of({"exact": 1, **overrides})
        for side in self.sides:
            _check(side, self.state, overrides)

    @cached_property
    def html(self) -> str:
        source = str(self.sides[0].traced.translation.source)
        # A lone surrogate cannot be encoded as UTF-8.
        return explorer_page(self.sides, self.state, source.encode(errors="replace").decode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, replacing an existing one atomically."""
        # Imported here because transformer.text imports torch, which figures do not need.
        from transformer.text.files import write_text

        write_text(path, self.html)

    def _repr_html_(self) -> str:
        # A sandboxed frame keeps the page and the notebook from reaching each other.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="Attention explorer" style="width: 100%; height: {HEIGHT}px; border: 0; '
            'resize: vertical; overflow: auto"></iframe>'
        )


def _check(side: PackedTrace, state: State, overrides: Mapping[str, Any]) -> None:
    """Raise ValueError if the state names a kind, layer or head that this trace lacks."""
    if "kind" in overrides and state["kind"] not in side.kinds:
        raise ValueError(
            f"The trace has no weights of kind {state['kind']!r}; it has {', '.join(side.kinds)}."
        )
    depth = side.depths[checked_kind(side.resolved(state)["kind"])]
    counts = {"layer": depth, "head": int(side.traced.config["n_heads"])}
    selected = [f"{state['layer']}.{state['head']}", *filter(None, str(state["heads"]).split(","))]
    for layer_and_head in selected:
        for (part, count), number in zip(counts.items(), layer_and_head.split("."), strict=True):
            if int(number) >= count:
                raise ValueError(f"There is no {part} {number}; the {part}s are 0 to {count - 1}.")
