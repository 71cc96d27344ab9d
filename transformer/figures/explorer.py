"""The attention explorer, as the page, a notebook and an HTML file show it."""

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
import {{ openExplorer }} from "./explorer-mount.js";
openExplorer(TABS);"""
HEIGHT = 860
"""Height of the frame in a notebook, in pixels; readers can drag its lower edge."""


@dataclass(frozen=True)
class Notice:
    """Something to notice in the sentence, with the explorer state that shows it.

    Attributes:
        segments: a sentence in parts: the text, and whether it quotes a word of the example.
        state: the state to open, with a kind, a layer and a head.
    """

    segments: tuple[tuple[str, bool], ...]
    state: Mapping[str, int | str]

    def data(self) -> dict[str, Any]:
        """Return it as the browser reads it. Raises ValueError if `state` is not a valid state."""
        state_of(self.state)
        return {"segments": self.segments, "state": dict(self.state)}


def explorer_data(
    sides: Sequence[ExplorerData],
    start: Mapping[str, Any],
    parts: Sequence[Part],
    *,
    visit: int = 0,
    second_kind: str = "",
    later: Sequence[Part] = (),
    names: Sequence[str] = (),
    notices: Sequence[Notice] = (),
    exact: int | None = None,
) -> bytes:
    """Return everything the explorer draws, as `explorer.js` reads it.

    Args:
        sides: one trace, or two to compare.
        start: the initial state, or where it differs from `state.DEFAULTS`. A view that is already
            on screen keeps its own state until `visit` changes.
        parts: weights of layers and vectors of heads, named by `prefixed`.
        second_kind: what the second side is: "other" (sentence or checkpoint) or "force" (a forced
            token); "refused" if it could not be computed.
        names: names of the sides, instead of their own.
        notices: what to notice in the first side's sentence.
        exact: whether names are exact; a view on screen adopts this when it changes.
        later: parts that the page holds separately and unpacks when they are needed.

    Raises:
        ValueError: if the state is invalid.
    """
    first_parts = [
        part for i, side in enumerate(sides) for part in prefixed([*side.thumbs, *side.pins], i)
    ]
    head = {
        **header(sides, state_of(start), names),
        "visit": visit,
        "exact": int(state_of(start)["exact"] if exact is None else exact),
        "second_kind": second_kind,
        "notices": [notice.data() for notice in notices],
        "later": [part.meta() for part in later],
    }
    return pack(head, [*first_parts, *parts])


def explorer_page(
    sides: Sequence[ExplorerData],
    start: Mapping[str, Any],
    title: str = "Attention",
    notices: Sequence[Notice] = (),
) -> str:
    """Return the explorer as one HTML file with every layer, unpacked when it is first shown."""
    state = sides[0].resolved(state_of(start))
    open_layer = str(state["kind"]), int(state["layer"])
    later = [
        part
        for number, side in enumerate(sides)
        for part in prefixed(list(side.everything(*open_layer)), number)
    ]
    first = data_script(
        "id", "hu-first", explorer_data(sides, state, [], later=later, notices=notices)
    )
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

    def __init__(self, sides: Sequence[ExplorerData], state: Mapping[str, Any]) -> None:
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
        from transformer.text.files import atomic_path

        with atomic_path(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A sandboxed frame keeps the page and the notebook from reaching each other.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="Attention explorer" style="width: 100%; height: {HEIGHT}px; border: 0; '
            'resize: vertical; overflow: auto"></iframe>'
        )


def _check(side: ExplorerData, state: State, overrides: Mapping[str, Any]) -> None:
    """Raise ValueError if the state names a kind, layer or head that this trace lacks."""
    if "kind" in overrides and state["kind"] not in side.kinds:
        raise ValueError(
            f"The trace has no weights of kind {state['kind']!r}; it has {', '.join(side.kinds)}."
        )
    depth = side.depths[str(side.resolved(state)["kind"])]
    counts = {"layer": depth, "head": int(side.traced.config["n_heads"])}
    selected = [f"{state['layer']}.{state['head']}", *filter(None, str(state["heads"]).split(","))]
    for layer_and_head in selected:
        for (part, count), number in zip(counts.items(), layer_and_head.split("."), strict=True):
            if int(number) >= count:
                raise ValueError(f"There is no {part} {number}; the {part}s are 0 to {count - 1}.")
