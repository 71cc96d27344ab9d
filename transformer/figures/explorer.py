"""The attention explorer: what the page, a notebook and a file on disk show alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.figures.explorer_sides import ExplorerData, header, prefixed
from transformer.figures.packing import Part, pack
from transformer.figures.state import state_of
from transformer.figures.views import TABS, data_script, page


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


_START = f"""{TABS}
import {{ openExplorer }} from "./explorer-use.js";
openExplorer(TABS);"""


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
