"""The box of the architecture that the walkthrough shows, in one layer, and its trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from transformer.analysis.inside import Box, boxes
from transformer.inference import Trace
from transformer.measures import naming
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import frame

_BLOCKS = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "ffn": "feed-forward network",
}


@dataclass(frozen=True)
class Stop:
    """One box of the walkthrough, and the layer and head that are shown."""

    box: Box
    layer: int
    head: int

    @property
    def attention(self) -> str:
        """Return the attention block that contains the box, like "encoder.self_attn", or ""."""
        inside = self.box.step not in ("add", "norm") and self.box.block.endswith("attn")
        return f"{self.box.stack}.{self.box.block}" if inside else ""


def location(box: Box) -> str:
    """Return where a box is, like "encoder, layer 1, self-attention"; "" for the output."""
    if box.stack == "output":
        return ""
    layer = "" if box.layer is None else naming.layer_name(box.layer)
    return ", ".join(filter(None, (box.stack, layer, _BLOCKS.get(box.block, ""))))


def current_stop(model: Model) -> Stop:
    view = state.view(Inside)
    layer, head = max(view.layer, 0), max(view.head, 0)
    return Stop(boxes_of(model, layer)[view.box], layer, head)


def boxes_of(model: Model, layer: int) -> dict[str, Box]:
    """Return every box of one layer and those outside the layers, by its name in Figure 1."""
    all_boxes = boxes(model.translator.model.config)
    return {box.stop: box for box in all_boxes if box.layer in (None, layer)}


def with_formulas(text: str) -> str:
    """Return a text as Markdown, with d_model, √d_k and W^Q as formulas."""
    parts = re.split(r"(√?\b[dn]_(?:model|heads|k|ff)\b|W\^[QKVO])", text)
    for i, part in enumerate(parts):
        if i % 2:
            root, name = part.startswith("√"), re.sub(r"_(\w+)", r"_{\1}", part.lstrip("√"))
            parts[i] = rf"$\sqrt{{{name}}}$" if root else f"${name}$"
        else:
            parts[i] = frame.plain(part)
    return "".join(parts)


def open_box(name: str, layer: int | None = None) -> None:
    """Open another box and keep the selected token, but no number of a table; for callbacks."""
    changes: dict[str, Any] = {} if layer is None else {"layer": layer}
    state.change(box=name, panel="", column=-1, **changes)


def trace(model: Model, cached_trace: CachedTrace, layer: int) -> Trace:
    """Return the trace with all hook points of this layer and the output of every sublayer."""
    names = model.translator.model.hook_names
    return trace_cache.hook_points(
        model, cached_trace, [name for name in names if _is_needed(name, layer)]
    )


def _is_needed(name: str, layer: int) -> bool:
    shared = ".layers." not in name or name.endswith("_norm.hook_output")
    return shared or f".layers.{layer}." in name
