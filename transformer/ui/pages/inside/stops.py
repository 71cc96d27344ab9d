"""Where the walk stands: a box of the address in a layer, and the pass it is shown of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from transformer.analysis.inside import Box, boxes
from transformer.config import ModelConfig
from transformer.figures.box_layout import STOPS
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import Inside
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import exact

_BLOCKS = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "ffn": "feed-forward network",
}


@dataclass(frozen=True)
class Stop:
    """One box on its way.

    Attributes:
        place: its name without the layer, as the address has it.
        number: from 0, of `STOPS`.
    """

    box: Box
    place: str
    layer: int
    head: int

    @property
    def number(self) -> int:
        return STOPS.index(self.place)

    @property
    def attention(self) -> str:
        """The attention box of Figure 1 that it is in: "encoder.self_attn"; "" if in none."""
        block = self.place.rpartition(".")[0]
        inner = self.box.step not in ("add", "norm") and block.endswith("attn")
        return block if inner else ""


def where(box: Box) -> str:
    """The place of a box in the model, as "encoder, layer 1, self-attention"; "" for the output."""
    if box.stack == "output":
        return ""
    layer = "" if box.layer is None else exact.layer(box.layer)
    return ", ".join(filter(None, (box.stack, layer, _BLOCKS.get(box.block, ""))))


def placed(name: str) -> tuple[str, int | None]:
    """A box's name without its layer, and the layer."""
    first, second, rest = f"{name}.".split(".", 2)
    if second.isdigit():
        return f"{first}.{rest}".rstrip("."), int(second)
    return name, None


def now(model: Model) -> Stop:
    view = state.view(Inside)
    layer, head = max(view.layer, 0), max(view.head, 0)
    return Stop(_boxes(model.translator.model.config)[view.box, layer], view.box, layer, head)


def boxes_of(model: Model, layer: int) -> dict[str, Box]:
    """Every box of a walk through one layer, by its place."""
    found = _boxes(model.translator.model.config)
    return {place: found[place, layer] for place in STOPS}


def go(place: str, layer: int | None = None, panel: str = "") -> None:
    """To another box, for callbacks. The token that was looked at stays, the number in it does
    not."""
    changes: dict[str, Any] = {} if layer is None else {"layer": layer}
    state.change(box=place, panel=panel, column=-1, **changes)


def trace(model: Model, reading: CachedTrace, layer: int) -> Trace:
    """The pass with every site that boxes of this layer read, and what each sublayer leaves."""
    names = model.translator.model.hook_names
    return trace_cache.sites(model, reading, [name for name in names if _read(name, layer)])


def _read(name: str, layer: int) -> bool:
    between = ".layers." not in name or name.endswith("_norm.hook_output")
    return between or f".layers.{layer}." in name


@lru_cache(maxsize=8)
def _boxes(config: ModelConfig) -> dict[tuple[str, int], Box]:
    """By place and layer; a box outside the layers is one of each."""
    found = {}
    for box in boxes(config):
        place, layer = placed(box.name)
        for one in range(config.n_layers) if layer is None else [layer]:
            found[place, one] = box
    return found
