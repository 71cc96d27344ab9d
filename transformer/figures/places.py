"""Where the boxes of the paper's Figures 1 and 2 stand, and the arrows between them.

Units are pixels at full size. y grows downwards; the figure, as in the paper, is read upwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Place = tuple[float, float, float, float]
"""Left, top, width and height."""
Path = tuple[tuple[float, float], ...]
"""The corners of an arrow; its head is at the last."""

ATTENTION = (
    *("query", "key", "value", "scores", "scale", "mask", "softmax"),
    *("heads", "concat", "output"),
)
"""The boxes of Figure 2, in the order of the walk."""
_STACKS = {"encoder": ("self_attn", "ffn"), "decoder": ("self_attn", "cross_attn", "ffn")}


def _stops(stack: str) -> tuple[str, ...]:
    """Every box of one stack that can be opened, those of one layer for all, in the order of the
    walk."""
    found = [f"embed.{step}" for step in ("tokens", "positions", "sum")]
    for block in _STACKS[stack]:
        steps = ("hidden", "output") if block == "ffn" else ATTENTION
        found += [f"{block}.{step}" for step in (*steps, "add", "norm")]
    return tuple(f"{stack}.{one}" for one in found)


STOPS = (
    *_stops("encoder"),
    "encoder.memory",
    *_stops("decoder"),
    *("output.logits", "output.softmax", "output.choice"),
)
"""The whole walk. Names are those of `analysis.inside`, without the layer."""


@dataclass(frozen=True)
class Drawing:
    """Everything's place.

    Attributes:
        size: width and height.
        boxes: by the box's id.
        arrows, residuals: what runs through the boxes, and what goes around them.
        frames: around the layers that there are N of.
        words: centres of words, by name, and how wide they may be.
        chooser: of the layers; None where there is none.
    """

    size: tuple[float, float]
    boxes: Mapping[str, Place]
    arrows: Sequence[Path]
    residuals: Sequence[Path] = ()
    frames: Sequence[Place] = ()
    words: Mapping[str, tuple[float, float, float]] | None = None
    chooser: Place | None = None

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


_HIGH = {"attention": 46, "half": 22, "embed": 32}
_WIDE = 144
_CENTRE = {"encoder": 104, "decoder": 296}
_SIDE = {"encoder": 20, "decoder": 380}
_GUTTER = 200
_STEM = 25  # from a sublayer's input to its box
_GAP = 10
_APART = 36  # between the arrows of queries, keys and values


class _Stack:
    """One column of Figure 1, built from below; `y` is how far it has come."""

    def __init__(self, name: str, y: float) -> None:
        self.name, self.x, self.y = name, float(_CENTRE[name]), y
        self.boxes: dict[str, Place] = {}
        self.arrows: list[Path] = []
        self.residuals: list[Path] = []

    def box(self, part: str, high: float, wide: float = _WIDE) -> None:
        self.y -= high
        self.boxes[part] = (self.x - wide / 2, self.y, wide, high)

    def rise(self, far: float) -> None:
        self.arrows.append(((self.x, self.y), (self.x, self.y - far)))
        self.y -= far

    def fork(self, *apart: float, height: float, bend: float) -> None:
        """Arrows from the stem to the box above, `apart` from its middle."""
        for side in apart:
            x = self.x + side
            turn = ((self.x, self.y - bend), (x, self.y - bend)) if side else ()
            self.arrows.append(((self.x, self.y), *turn, (x, self.y - height)))

    def embed(self) -> None:
        """Embedding, the sum, and the positions beside it."""
        self.box(f"{self.name}.embed.tokens", _HIGH["embed"])
        self.rise(20)
        self.box(f"{self.name}.embed.sum", 28, 28)
        outwards = 1 if self.name == "decoder" else -1
        middle, near = self.y + 14, self.x + outwards * 25
        left = near if outwards > 0 else near - 70
        self.boxes[f"{self.name}.embed.positions"] = (left, middle - 14, 70, 28)
        self.arrows.append(((near, middle), (self.x + outwards * 14, middle)))

    def sublayer(self, block: str) -> None:
        """A sublayer, what goes around it, and the sum and norm above it."""
        start = self.y
        if block == "cross_attn":
            self.fork(_APART, height=_STEM, bend=11)
        elif block == "self_attn":
            self.fork(-_APART, 0, _APART, height=_STEM, bend=14)
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
        around = ((side, start - 6), (side, middle), (edge, middle))
        self.residuals.append(((self.x, start - 6), *around))
        self.box(f"{self.name}.{block}.norm", _HIGH["half"])


@cache
def figure_1() -> Drawing:
    """The whole model: encoder left, decoder right, the memory between them (Figure 1)."""
    high = 652.0
    stacks, frames = {}, []
    for name, blocks in _STACKS.items():
        stack = stacks[name] = _Stack(name, high - 22)
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
        size=(400, high),
        boxes={**encoder.boxes, **decoder.boxes},
        arrows=(*encoder.arrows, *decoder.arrows, *_memory(encoder, decoder)),
        residuals=(*encoder.residuals, *decoder.residuals),
        frames=frames,
        words={
            "source": (encoder.x, high - 10, 190),
            "target": (decoder.x, high - 10, 190),
        },
        chooser=(10, decoder.y, 180, encoder.y - decoder.y - 24),
    )


def _memory(encoder: _Stack, decoder: _Stack) -> list[Path]:
    """From the encoder's top into the middle of every decoder layer: keys and values."""
    left, top, wide, high = encoder.boxes["encoder.memory"]
    _, box, _, tall = decoder.boxes["decoder.cross_attn"]
    start = ((left + wide, top + high / 2), (float(_GUTTER), top + high / 2))
    bend = box + tall + 8
    return [
        (*start, (float(_GUTTER), bend), (x, bend), (x, box + tall))
        for x in (decoder.x - _APART, decoder.x)
    ]


@cache
def figure_2() -> tuple[Drawing, Drawing]:
    """Attention opened: scaled dot-product attention within many heads (Figure 2); one drawing
    from left to right, one for a narrow screen."""
    return _wide(), _narrow()


def _wide() -> Drawing:
    high = 48.0
    boxes: dict[str, Place] = {
        name: (0, 56.0 * i, 62, high) for i, name in enumerate(ATTENTION[:3])
    }
    boxes |= {name: (92 + 94.0 * i, 28, 78, high) for i, name in enumerate(ATTENTION[3:7])}
    boxes |= {name: (468 + 94.0 * i, 56, 82, high) for i, name in enumerate(ATTENTION[7:])}
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


def _narrow() -> Drawing:
    high = 48.0
    boxes: dict[str, Place] = {
        name: (120.0 * i, 0, 100, high) for i, name in enumerate(ATTENTION[:3])
    }
    boxes |= {
        name: (86.0 * i, 84, 74 + 8 * (i == 3), high) for i, name in enumerate(ATTENTION[3:7])
    }
    boxes |= {name: (240 - 120.0 * i, 160, 100, high) for i, name in enumerate(ATTENTION[7:])}
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
