"""Arrays as bytes for the browser: a JSON header, then the blocks that it describes.

Attention weights are sent as levels: a weight w becomes the integer round(√w · top), with top 65535
(two bytes) or, for long sentences, 255 (one byte). The square root keeps small weights distinct
from zero. The error is at most half a level; views show no more digits than it allows.

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
"""The two values of top: with two bytes per weight, and with one."""

_TYPES = {"|u1": "u1", "<u2": "u2", "<f4": "f4"}


@dataclass(frozen=True)
class Part:
    """A named array. `top` is the level of weight 1, or 0 for values that are not quantized."""

    name: str
    array: npt.NDArray[Any]
    top: int = 0

    def meta(self) -> dict[str, Any]:
        """Return the description that the browser needs to read the bytes."""
        kind = _TYPES[self.array.dtype.str]
        return {"name": self.name, "type": kind, "shape": self.array.shape, "top": self.top}


def quantize(name: str, weights: Float[np.ndarray, "*heads rows columns"], top: int = FINE) -> Part:
    """Quantize weights to levels from 0 to `top`.

    Raises:
        ValueError: if there are no weights, or one is outside 0 to 1.
    """
    if not weights.size:
        raise ValueError("There is no attention to show: it needs a layer, a head and a token.")
    # The negated form also rejects NaN; sums of rounded shares may slightly exceed 1.
    if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
        raise ValueError(
            f"{name} has weights from {weights.min()} to {weights.max()}; "
            "attention weights must be from 0 to 1."
        )
    levels: npt.NDArray[Any] = np.empty(weights.shape, "<u2" if top > COARSE else "u1")
    np.rint(np.sqrt(np.minimum(weights, 1.0)) * top, out=levels, casting="unsafe")
    return Part(name, levels, top)


def pack(header: Mapping[str, Any], parts: Sequence[Part]) -> bytes:
    """Pack a header and arrays into bytes. The header must not have a key "parts"."""
    metas, blocks, start = [], [], 0
    for part in parts:
        block = np.ascontiguousarray(part.array).tobytes()
        metas.append({**part.meta(), "start": start})
        blocks.append(block + bytes(-len(block) % 8))
        start += len(blocks[-1])
    # ASCII escapes preserve lone surrogates.
    text = json.dumps({**header, "parts": metas}, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    return MAGIC + len(text).to_bytes(4, "little") + text + b"".join(blocks)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Part]]:
    """Unpack what `pack` packed. Raises ValueError if the bytes are truncated or not packed."""
    body = 8 + int.from_bytes(data[4:8], "little")
    if data[:4] != MAGIC or len(data) < max(9, body):
        raise ValueError(f"These {len(data)} bytes are not packed arrays from pack().")
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
