"""Arrays as bytes for the browser: a JSON header, then the blocks it tells of.

Attention weights travel as levels: a weight w is the integer round(√w · top), with top 65535 (two
bytes) or, for long sentences, 255 (one byte). The square root keeps small weights apart from zero.
What rounding may cost is `rounding_error`; a view shows no more digits than that leaves sure.

    bytes 0–3    "HUA2"
    bytes 4–7    length of the header, uint32, little-endian
    then         the header as JSON, with spaces after it up to a multiple of 8
    then         the blocks, little-endian, each filled with zeros up to a multiple of 8
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

MAGIC = b"HUA2"
FINE, COARSE = 65535, 255
"""The two tops: with two bytes a weight, and with one."""

_TYPES = {"|u1": "u1", "<u2": "u2", "<f4": "f4"}


@dataclass(frozen=True)
class Part:
    """An array with a name. `top` is that of levels, 0 for numbers as they are."""

    name: str
    array: npt.NDArray[Any]
    top: int = 0

    def meta(self) -> dict[str, Any]:
        """What the browser must know to read its bytes."""
        kind = _TYPES[self.array.dtype.str]
        return {"name": self.name, "type": kind, "shape": self.array.shape, "top": self.top}


def quantize(name: str, weights: Float[np.ndarray, "*heads rows columns"], top: int = FINE) -> Part:
    """Weights as levels from 0 to `top`.

    Raises:
        ValueError: if there are none, or one is not within 0 to 1.
    """
    if not weights.size:
        raise ValueError("There is no attention to show: it needs a layer, a head and a token.")
    # Written so that a weight which is no number fails too; sums of rounded shares may pass 1.
    if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
        raise ValueError(
            f"{name} has weights from {weights.min()} to {weights.max()}; "
            "attention weights lie within 0 and 1."
        )
    made: npt.NDArray[Any] = np.empty(weights.shape, "<u2" if top > COARSE else "u1")
    np.rint(np.sqrt(np.minimum(weights, 1.0)) * top, out=made, casting="unsafe")
    return Part(name, made, top)


def weights_of(part: Part) -> Float[np.ndarray, "..."]:
    """The inverse of `levels`, each weight within `rounding_error`."""
    shares: npt.NDArray[np.float32] = part.array.astype(np.float32) / np.float32(part.top)
    return shares**2


def rounding_error(weight: float, top: int) -> float:
    """The most by which a packed weight can differ: half a level, on a square-root scale.

    A level q stands for (q / top)² and for all from (q ± 1/2)² / top²: at most (q + 1/4) / top²
    away, and q is at most √w · top + 1/2. The last quarter and the last term are for float32, in
    which weights come and go.
    """
    return float((np.sqrt(weight) * top + 1) / top**2 + weight * 2.0**-22)


def pack(header: Mapping[str, Any], parts: Sequence[Part]) -> bytes:
    """A header and arrays as one run of bytes. The header may not use the name "parts"."""
    metas, blocks, start = [], [], 0
    for part in parts:
        block = np.ascontiguousarray(part.array).tobytes()
        metas.append({**part.meta(), "start": start})
        blocks.append(block + bytes(-len(block) % 8))
        start += len(blocks[-1])
    # ASCII: a lone surrogate survives as its escape.
    text = json.dumps({**header, "parts": metas}, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    return MAGIC + len(text).to_bytes(4, "little") + text + b"".join(blocks)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Part]]:
    """The inverse of `pack`. Raises ValueError if these bytes are cut off or of another kind."""
    body = 8 + int.from_bytes(data[4:8], "little")
    if data[:4] != MAGIC or len(data) < max(9, body):
        raise ValueError(f"These {len(data)} bytes are no packed arrays; pack() makes them.")
    header = json.loads(data[8:body])
    parts = {}
    for meta in header.pop("parts"):
        kind, count = np.dtype("<" + meta["type"]), int(np.prod(meta["shape"]))
        start = body + meta["start"]
        if len(data) < start + count * kind.itemsize:
            raise ValueError(f"The bytes end within {meta['name']}.")
        array = np.frombuffer(data, kind, count, start).reshape(meta["shape"])
        parts[meta["name"]] = Part(meta["name"], array, meta["top"])
    return header, parts
