"""Data of the paper's Figures 1 and 2, redrawn with every box as a button.

The position of each box and the arrows between them are in `figures.box_layout`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, UInt8

from transformer.figures.box_layout import Drawing
from transformer.figures.packing import Part, pack

THUMBNAIL_SHAPE = (12, 20)
"""Maximum rows and columns of a thumbnail."""


@dataclass(frozen=True)
class Button:
    """One box of a drawing.

    Attributes:
        id: its key in `Drawing.boxes`.
        label: text on the button.
        kind: "embed", "attention", "norm", "ffn", "linear", "softmax" or "text"; sets its colour.
        hint: a short note on its content: "6 × 256".
        location: the part of the model, for screen readers, as several boxes share a label.
        picture: the values, to be drawn as a thumbnail; None for none.
        signed: whether these values can be negative.
    """

    id: str
    label: str
    kind: str
    hint: str = ""
    picture: Float[np.ndarray, "rows columns"] | None = field(default=None, repr=False)
    signed: bool = True
    location: str = ""


def figure_data(
    drawings: Sequence[Drawing],
    buttons: Sequence[Button],
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
        drawings: the first is drawn where it fits the screen, else the last.
        buttons: in the order in which the arrow keys visit them.
        open_box: id of the open box; "" for none.
        caption: description for screen readers.
        words: text for each of the drawing's `words`.
        layers: number of layers, and the one shown.
        scroll_to: class of an element of the page and the name of its content; when the name
            changes, the page scrolls to the element.
        size: "large" for a projector.

    Raises:
        ValueError: if a drawing has no box for a button.
    """
    for drawing in drawings:
        missing = [button.id for button in buttons if button.id not in drawing.boxes]
        if missing:
            raise ValueError(f"The drawing has no box {missing[0]!r}.")
    head = {
        "caption": caption,
        "drawings": [drawing.to_dict() for drawing in drawings],
        "boxes": [
            {
                "id": button.id,
                "label": button.label,
                "kind": button.kind,
                "hint": button.hint,
                "location": button.location,
            }
            for button in buttons
        ],
        "words": dict(words or {}),
        "layers": layers,
        "scroll_to": scroll_to,
        "opened": open_box,
        "large": size == "large",
        "signed": [button.id for button in buttons if button.signed],
    }
    thumbs = [
        Part(button.id, thumb(button.picture, signed=button.signed))
        for button in buttons
        if button.picture is not None
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
