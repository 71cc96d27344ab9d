"""Positions of the boxes and arrows in the paper's Figures 1 and 2.

Units are pixels at full size, and y grows downwards. As in the paper, Figure 1 is read upwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Rectangle = tuple[float, float, float, float]
"""Left, top, width and height."""
Path = tuple[tuple[float, float], ...]
"""The corners of an arrow, the last of them its head."""

ATTENTION = (
    *("query", "key", "value", "scores", "scale", "mask", "softmax"),
    *("heads", "concat", "output"),
)
"""The boxes of Figure 2, in the order of computation."""
_STACKS = {"encoder": ("self_attn", "ffn"), "decoder": ("self_attn", "cross_attn", "ffn")}


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


@dataclass(frozen=True)
class Drawing:
    """Positions of everything in a drawing.

    Attributes:
        size: width and height.
        boxes: rectangle of each box, by its id.
        arrows, residuals: arrows between boxes, and residual connections around them.
        frames: frames around the layers that are repeated N times.
        words: centre and maximum width of each text, by name.
        chooser: rectangle of the layer selector; None if there is none.
    """

    size: tuple[float, float]
    boxes: Mapping[str, Rectangle]
    arrows: Sequence[Path]
    residuals: Sequence[Path] = ()
    frames: Sequence[Rectangle] = ()
    words: Mapping[str, tuple[float, float, float]] | None = None
    chooser: Rectangle | None = None

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


_HIGH = {"attention": 46, "half": 22, "embed": 32}
_WIDE = 144
_CENTRE = {"encoder": 104, "decoder": 296}
_SIDE = {"encoder": 20, "decoder": 380}
_GUTTER = 200
_STEM = 25  # from a sublayer's input to its box
_GAP = 10
_ARROW_SPACING = 36  # between the arrows of queries, keys and values


class _Stack:
    """One column of Figure 1, built from the bottom; `y` is the top of what is built so far."""

    def __init__(self, name: str, y: float) -> None:
        self.name, self.x, self.y = name, float(_CENTRE[name]), y
        self.boxes: dict[str, Rectangle] = {}
        self.arrows: list[Path] = []
        self.residuals: list[Path] = []

    def box(self, part: str, height: float, width: float = _WIDE) -> None:
        self.y -= height
        self.boxes[part] = (self.x - width / 2, self.y, width, height)

    def rise(self, distance: float) -> None:
        self.arrows.append(((self.x, self.y), (self.x, self.y - distance)))
        self.y -= distance

    def fork(self, *offsets: float, height: float, bend: float) -> None:
        """Draw arrows from the stem to the box above, at these offsets from its middle."""
        for side in offsets:
            x = self.x + side
            turn = ((self.x, self.y - bend), (x, self.y - bend)) if side else ()
            self.arrows.append(((self.x, self.y), *turn, (x, self.y - height)))

    def embed(self) -> None:
        """Add the embedding, the sum, and the positional encoding next to it."""
        self.box(f"{self.name}.embed.tokens", _HIGH["embed"])
        self.rise(20)
        self.box(f"{self.name}.embed.sum", 28, 28)
        outwards = 1 if self.name == "decoder" else -1
        middle, box_edge = self.y + 14, self.x + outwards * 25
        box_left = box_edge if outwards > 0 else box_edge - 70
        self.boxes[f"{self.name}.embed.positions"] = (box_left, middle - 14, 70, 28)
        self.arrows.append(((box_edge, middle), (self.x + outwards * 14, middle)))

    def sublayer(self, block: str) -> None:
        """Add a sublayer, its residual connection, and the sum and norm above it."""
        start = self.y
        if block == "cross_attn":
            self.fork(_ARROW_SPACING, height=_STEM, bend=11)
        elif block == "self_attn":
            self.fork(-_ARROW_SPACING, 0, _ARROW_SPACING, height=_STEM, bend=14)
        else:
            self.fork(0, height=_STEM, bend=0)
        self.y -= _STEM
        if block == "ffn":
            self.box(f"{self.name}.ffn.hidden", _HIGH["half"])
            self.box(f"{self.name}.ffn.output", _HIGH["half"])
        else:
            self.box(f"{self.name}.{block}", _HIGH["attention"])
        self.rise(_GAP)
        self.box(f"{self.name}.{block}.add", _HIGH["half"])
        side, middle = float(_SIDE[self.name]), self.y + _HIGH["half"] / 2
        edge = self.x + (_WIDE / 2 if side > self.x else -_WIDE / 2)
        residual = ((side, start - 6), (side, middle), (edge, middle))
        self.residuals.append(((self.x, start - 6), *residual))
        self.box(f"{self.name}.{block}.norm", _HIGH["half"])


@cache
def figure_1() -> Drawing:
    """Return Figure 1: encoder on the left, decoder on the right, the encoder's output between."""
    height = 652.0
    stacks, frames = {}, []
    for name, blocks in _STACKS.items():
        stack = stacks[name] = _Stack(name, height - 22)
        stack.embed()
        stack.rise(12)
        below = stack.y
        for block in blocks:
            stack.sublayer(block)
        top = stack.y - 24
        frames.append((stack.x - 94, top, 188.0, below + 2 - top))
    encoder, decoder = stacks["encoder"], stacks["decoder"]
    encoder.rise(38)
    encoder.box("encoder.memory", 30, 116)
    decoder.rise(34)
    for number, part in enumerate(("logits", "softmax", "choice")):
        if number:
            decoder.rise(_GAP)
        decoder.box(f"output.{part}", 32 if part == "choice" else 26)
    return Drawing(
        size=(400, height),
        boxes={**encoder.boxes, **decoder.boxes},
        arrows=(*encoder.arrows, *decoder.arrows, *_memory(encoder, decoder)),
        residuals=(*encoder.residuals, *decoder.residuals),
        frames=frames,
        words={
            "source": (encoder.x, height - 10, 190),
            "target": (decoder.x, height - 10, 190),
        },
        chooser=(10, decoder.y, 180, encoder.y - decoder.y - 24),
    )


def _memory(encoder: _Stack, decoder: _Stack) -> list[Path]:
    """Return the arrows of keys and values from the encoder's output to the decoder layers."""
    box_left, top, width, height = encoder.boxes["encoder.memory"]
    _, box, _, tall = decoder.boxes["decoder.cross_attn"]
    start = ((box_left + width, top + height / 2), (float(_GUTTER), top + height / 2))
    bend = box + tall + 8
    return [
        (*start, (float(_GUTTER), bend), (x, bend), (x, box + tall))
        for x in (decoder.x - _ARROW_SPACING, decoder.x)
    ]


@cache
def figure_2() -> tuple[Drawing, Drawing]:
    """Return Figure 2, scaled dot-product attention within multi-head attention: one drawing from
    left to right, and one for a narrow screen."""
    return _wide_figure_2(), _narrow_figure_2()


def _wide_figure_2() -> Drawing:
    height = 48.0
    boxes: dict[str, Rectangle] = {
        name: (0, 56.0 * i, 62, height) for i, name in enumerate(ATTENTION[:3])
    }
    boxes |= {name: (92 + 94.0 * i, 28, 78, height) for i, name in enumerate(ATTENTION[3:7])}
    boxes |= {name: (468 + 94.0 * i, 56, 82, height) for i, name in enumerate(ATTENTION[7:])}
    arrows: list[Path] = [
        ((62, 24), (77, 24), (77, 44), (92, 44)),
        ((62, 80), (77, 80), (77, 60), (92, 60)),
        *(((170 + 94.0 * i, 52), (186 + 94.0 * i, 52)) for i in range(3)),
        ((452, 52), (460, 52), (460, 72), (468, 72)),
        ((62, 136), (509, 136), (509, 104)),
        ((550, 80), (562, 80)),
        ((644, 80), (656, 80)),
    ]
    return Drawing((738, 160), boxes, arrows)


def _narrow_figure_2() -> Drawing:
    height = 48.0
    boxes: dict[str, Rectangle] = {
        name: (120.0 * i, 0, 100, height) for i, name in enumerate(ATTENTION[:3])
    }
    boxes |= {
        name: (86.0 * i, 84, 74 + 8 * (i == 3), height) for i, name in enumerate(ATTENTION[3:7])
    }
    boxes |= {name: (240 - 120.0 * i, 160, 100, height) for i, name in enumerate(ATTENTION[7:])}
    arrows: list[Path] = [
        ((28, 48), (28, 84)),
        ((150, 48), (150, 66), (50, 66), (50, 84)),
        *(((74 + 86.0 * i, 108), (86 + 86.0 * i, 108)) for i in range(3)),
        ((299, 132), (299, 160)),
        ((340, 24), (351, 24), (351, 184), (340, 184)),
        ((240, 184), (220, 184)),
        ((120, 184), (100, 184)),
    ]
    return Drawing((356, 210), boxes, arrows)
