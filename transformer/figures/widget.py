"""The attention explorer as a notebook widget, whose state Python can read and set.

Needs the optional package anywidget (`pip install "heads-up[widget]"`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from transformer.figures.explorer import ExplorerView, explorer_data
from transformer.figures.packed_trace import PackedTrace, prefixed
from transformer.figures.packing import Part
from transformer.figures.state import FIELDS
from transformer.figures.views import widget_module
from transformer.measures.kinds import checked_kind
from transformer.measures.words import plain_words

_MODULE = widget_module()


class ExplorerWidget(anywidget.AnyWidget):
    """The explorer over one trace, or over two, in Jupyter, marimo, VS Code or Colab.

        explorer = trace.widget(kind="cross")
        explorer                          # draws it below the cell
        explorer.layer, explorer.head     # in a later cell: the selected head
        explorer.head = 3                 # selects this head

    Attributes:
        view: the tab, one of `figures.views.EXPLORER`.
        kind: "encoder", "decoder" or "cross".
        layer, head: from 0.
        pin: the pinned word: "s" or "t" for source or target and the position of one of its
            pieces, as in "s4"; "" for none.
    """

    _esm = _MODULE.script
    _css = _MODULE.style
    view = traitlets.Unicode("heads").tag(sync=True)
    kind = traitlets.Unicode("cross").tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    pin = traitlets.Unicode("").tag(sync=True)
    _data = traitlets.Bytes().tag(sync=True)

    def __init__(self, sides: Sequence[PackedTrace], state: Mapping[str, Any]) -> None:
        """Create the widget; see `ExplorerView`. Raises ValueError if the state is invalid."""
        explorer = ExplorerView(sides, state)
        self._sides = explorer.sides
        self._start = self._sides[0].resolved(explorer.state)
        names = ("view", "kind", "layer", "head", "pin")
        super().__init__(**{name: self._start[name] for name in names})
        self._send_traces()
        self.observe(self._send_traces, names=["view", "kind", "layer"])

    @property
    def pinned_word(self) -> str | None:
        """The pinned word without punctuation; None if no word is pinned."""
        if not self.pin:
            return None
        traced = self._sides[0].traced
        numbers, labels = plain_words(
            traced.src_tokens if self.pin[0] == "s" else traced.tgt_tokens
        )
        position = int(self.pin[1:])
        return labels[numbers[position]] or None if position < len(numbers) else None

    @traitlets.validate("view", "kind", "layer", "head", "pin")
    def _check_trait(self, proposal: Any) -> Any:
        """Return the value. Raises TraitError for a kind, layer or head that the trace lacks."""
        name, value = proposal["trait"].name, proposal["value"]
        try:
            value = FIELDS[name].read(value)
        except ValueError as error:
            raise traitlets.TraitError(f"{name} must be {error}, not {value!r}") from None
        side = self._sides[0]
        if name == "kind" and value not in side.kinds:
            raise traitlets.TraitError(
                f"kind must be one of {', '.join(side.kinds)}, which this trace has, not {value!r}"
            )
        limits = {
            "layer": side.depths[checked_kind(self.kind)],
            "head": int(side.traced.config["n_heads"]),
        }
        if name in limits and not 0 <= value < limits[name]:
            raise traitlets.TraitError(f"{name} must be 0 to {limits[name] - 1}, not {value}")
        return value

    def _send_traces(self, _change: object = None) -> None:
        """Send the traces and, where they are recorded, the vectors that the view needs."""
        vectors: list[Part] = []
        for number, side in enumerate(self._sides if self.view == "query-key" else ()):
            vectors += prefixed(list(side.vectors(checked_kind(self.kind), self.layer)), number)
        self._data = explorer_data(self._sides, self._start, vectors)
