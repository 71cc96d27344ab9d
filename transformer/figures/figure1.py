"""Contents of the boxes of the paper's Figures 1 and 2, which `figure1.js` draws as buttons.

The drawings are in `client/views/inside/figure1-drawing.js`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, UInt8

from transformer.figures.packing import Part, pack

ATTENTION = (
    *("query", "key", "value", "scores", "scale", "mask", "softmax"),
    *("heads", "concat", "output"),
)
"""The boxes of Figure 2, in the order of computation."""
_STACKS = {"encoder": ("self_attn", "ffn"), "decoder": ("self_attn", "cross_attn", "ffn")}
THUMBNAIL_SHAPE = (12, 20)
"""Maximum rows and columns of a thumbnail."""


def _stops(stack: str) -> tuple[str, ...]:
    """Return the boxes of one stack in the order of computation; one layer stands for all."""
    stops = [f"embed.{step}" for step in ("tokens", "positions", "sum")]
    for block in _STACKS[stack]:
        steps = ("hidden", "output") if block == "ffn" else ATTENTION
        stops += [f"{block}.{step}" for step in (*steps, "add", "norm")]
    return tuple(f"{stack}.{stop}" for stop in stops)


STOPS = (
    *_stops("encoder"),
    "encoder.memory",
    *_stops("decoder"),
    *("output.logits", "output.softmax", "output.choice"),
)
"""All boxes in the order of computation. Names are those of `analysis.inside` without the layer."""
FIGURE_1 = tuple(
    dict.fromkeys(
        stop.rpartition(".")[0] if "_attn." in stop and stop.endswith(ATTENTION) else stop
        for stop in STOPS
    )
)
"""The boxes of Figure 1: the ten steps of an attention are one box."""


@dataclass(frozen=True)
class BoxContent:
    """What a box of a drawing shows.

    Attributes:
        id: its name in the drawing, one of `FIGURE_1` or `ATTENTION`.
        hint: a short note on its content: "6 × 256".
        picture: the values, to be drawn as a thumbnail; None for none.
        signed: whether these values can be negative.
        location: the part of the model, for screen readers, as several boxes share a name.
    """

    id: str
    hint: str = ""
    picture: Float[np.ndarray, "rows columns"] | None = field(default=None, repr=False)
    signed: bool = True
    location: str = ""


def figure_data(
    figure: Literal["figure-1", "figure-2"],
    boxes: Sequence[BoxContent],
    open_box: str,
    *,
    caption: str,
    words: Mapping[str, str] | None = None,
    layers: tuple[int, int] | None = None,
    scroll_to: tuple[str, str] | None = None,
    size: str = "normal",
) -> bytes:
    """Return what `figure1.js` draws.

    Args:
        boxes: in the order in which the arrow keys visit them.
        open_box: id of the open box; "" for none.
        caption: description for screen readers.
        words: the tokens below Figure 1, "source" and "target".
        layers: number of layers, and the one shown.
        scroll_to: class of an element of the page and the name of its content; when the name
            changes, the page scrolls to the element.
        size: "large" for a projector.
    """
    head = {
        "figure": figure,
        "caption": caption,
        "boxes": [{"id": box.id, "hint": box.hint, "location": box.location} for box in boxes],
        "words": dict(words or {}),
        "layers": layers,
        "scroll_to": scroll_to,
        "opened": open_box,
        "large": size == "large",
        "signed": [box.id for box in boxes if box.signed],
    }
    thumbs = [
        Part(box.id, thumb(box.picture, signed=box.signed))
        for box in boxes
        if box.picture is not None
    ]
    return pack(head, thumbs)


def thumb(
    picture: Float[np.ndarray, "rows columns"], *, signed: bool = True
) -> UInt8[np.ndarray, "sampled_rows sampled_columns"]:
    """Sample values evenly, at most `THUMBNAIL_SHAPE`; return their colour levels from 0 to 255.

    They are sampled, not averaged, as the mean of many signed values is near 0 everywhere. Values
    that are not finite, such as masked scores, count as 0.
    """
    rows, columns = (
        np.linspace(0, size - 1, min(size, limit)).round().astype(int)
        for size, limit in zip(picture.shape, THUMBNAIL_SHAPE, strict=True)
    )
    sampled = np.nan_to_num(picture[np.ix_(rows, columns)].astype(np.float64), neginf=0.0)
    limit = float(np.abs(sampled).max(initial=0.0)) or 1.0
    shares = (sampled / limit + 1) / 2 if signed else np.sqrt(np.abs(sampled) / limit)
    levels: npt.NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return levels
