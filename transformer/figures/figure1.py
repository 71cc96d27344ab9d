"""The paper's Figures 1 and 2, drawn by ourselves: every box a button at its place.

What a box is called, what it holds and which is open comes as data. Where it stands, and which
arrows run between, is in `figures.places`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, UInt8

from transformer.figures.packing import Part, pack
from transformer.figures.places import Drawing

THUMB = (12, 20)
"""Most rows and columns of a small picture."""


@dataclass(frozen=True)
class Button:
    """One box of a drawing.

    Attributes:
        id: by which the drawing knows its place.
        label: what it is called.
        sort: "embed", "attention", "norm", "ffn", "linear", "softmax" or "text": its colour.
        hint: what it holds, in a few letters: "6 × 256".
        where: which part of the model it is in, for a screen reader: several have one label.
        picture: the same numbers, to be drawn very small; None for none.
        signed: whether these are around 0, and not all from 0 up.
    """

    id: str
    label: str
    sort: str
    hint: str = ""
    picture: Float[np.ndarray, "rows columns"] | None = field(default=None, repr=False)
    signed: bool = True
    where: str = ""


def figure_data(
    drawings: Sequence[Drawing],
    buttons: Sequence[Button],
    opened: str,
    *,
    caption: str,
    words: Mapping[str, str] | None = None,
    layers: tuple[int, int] | None = None,
    leads: tuple[str, str] | None = None,
    size: str = "normal",
    exact: bool = True,
) -> bytes:
    """What `figure1.js` draws.

    Args:
        drawings: the first is drawn where there is room for it, else the last.
        buttons: in the order of the walk, by which the arrow keys go.
        opened: the id of the box that is looked at; "" is none.
        caption: what the picture is, for a screen reader.
        words: what is written at the drawing's places for words.
        layers: how many there are, and which is shown; its frames say so.
        leads: the class of an element of the page, and what is to be seen there: when that
            becomes another, the element is brought into view.
        size: "large" for a projector.
        exact: layers are counted from 0.

    Raises:
        ValueError: for a button that a drawing has no place for.
    """
    for drawing in drawings:
        lost = [button.id for button in buttons if button.id not in drawing.boxes]
        if lost:
            raise ValueError(f"The drawing has no place for {lost[0]}.")
    head = {
        "caption": caption,
        "drawings": [drawing.to_dict() for drawing in drawings],
        "boxes": [
            {
                "id": one.id,
                "label": one.label,
                "sort": one.sort,
                "hint": one.hint,
                "where": one.where,
            }
            for one in buttons
        ],
        "words": dict(words or {}),
        "layers": layers,
        "exact": exact,
        "leads": leads,
        "opened": opened,
        "large": size == "large",
        "signed": [one.id for one in buttons if one.signed],
    }
    thumbs = [
        Part(one.id, thumb(one.picture, signed=one.signed))
        for one in buttons
        if one.picture is not None
    ]
    return pack(head, thumbs)


def thumb(
    picture: Float[np.ndarray, "rows columns"], *, signed: bool = True
) -> UInt8[np.ndarray, "few fewer"]:
    """At most `THUMB` of its places, evenly chosen, as levels of a colour scale from 0 to 255.

    Chosen and not averaged: the mean of many numbers with signs is about 0 everywhere. What is not
    finite, as a masked score, is drawn as the least.
    """
    rows, columns = (
        np.linspace(0, size - 1, min(size, most)).round().astype(int)
        for size, most in zip(picture.shape, THUMB, strict=True)
    )
    few = np.nan_to_num(picture[np.ix_(rows, columns)].astype(np.float64), neginf=0.0)
    most = float(np.abs(few).max(initial=0.0)) or 1.0
    shares = (few / most + 1) / 2 if signed else np.sqrt(np.abs(few) / most)
    levels: npt.NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return levels
