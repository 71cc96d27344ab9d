"""Attention weights as bytes for the browser: a JSON header, then one small integer a weight.

A weight w is stored as the level round(√w · top), with top 65535 (two bytes) or, for long
sentences, 255 (one byte). The square root keeps small weights apart from zero, and a level is also
the place of the weight's colour on the scale. What rounding may cost is `rounding_error`; the page
shows no more digits than that leaves sure.

    bytes 0–3    "HUA1"
    bytes 4–7    length of the header, uint32, little-endian
    then         the header as JSON, with spaces after it up to a multiple of 4
    then         the levels, little-endian, in the order layer, head, row, column
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

MAGIC = b"HUA1"
FINE_LIMIT = 4_000_000
"""Most weights that are sent with two bytes each."""


@dataclass(frozen=True)
class Labels:
    """What stands beside the weights.

    Attributes:
        rows: tokens of the queries; columns: of the keys. Any text: it is never read as HTML.
        writes: for each row the token that it went on to write, if it wrote one.
        kind: as in `trace.weights(kind, layer)`.
        title: the kind in words.
        causal: whether a row may not see the columns after it, so that those weights are no zeros
            but masked.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    writes: Sequence[str] | None = None
    kind: str = ""
    title: str = "Attention"
    causal: bool = False


@dataclass(frozen=True)
class Packed:
    """The inverse of `pack`: the header and weights, each within `rounding_error` of the packed."""

    header: dict[str, Any]
    weights: Float[np.ndarray, "layers heads rows columns"]


def pack(
    layers: Sequence[Float[np.ndarray, "heads rows columns"]],
    labels: Labels,
    *,
    fine_limit: int = FINE_LIMIT,
) -> bytes:
    """Weights of every layer and head of one kind, with their labels.

    Raises:
        ValueError: if there is nothing to see, the layers differ in shape, the labels are not as
            many as rows and columns, or a weight is not within 0 to 1.
    """
    shape = _check(layers, labels)
    top = 65535 if int(np.prod(shape)) <= fine_limit else 255
    levels = np.empty(shape, "<u2" if top > 255 else "u1")
    for layer, weights in enumerate(layers):
        np.rint(np.sqrt(np.minimum(weights, 1.0)) * top, out=levels[layer], casting="unsafe")
    body = levels.tobytes()
    header = {
        "shape": shape,
        "top": top,
        "rows": list(labels.rows),
        "columns": list(labels.columns),
        "writes": None if labels.writes is None else list(labels.writes),
        "kind": labels.kind,
        "title": labels.title,
        "causal": labels.causal,
    }
    # By its id the browser knows a view that it has drawn already.
    digest = hashlib.blake2b(json.dumps(header).encode() + body, digest_size=8)
    return _join({**header, "id": digest.hexdigest(), "start": None}, body)


def start_at(data: bytes, layer: int, head: int, visit: int = 0) -> bytes:
    """The same view, opened at this head. In a view that is on screen already, the user's own
    choice stands until `visit` changes. Raises ValueError if there is no such layer or head.
    """
    header, body = _split(data)
    for name, number, count in zip(("layer", "head"), (layer, head), header["shape"], strict=False):
        if not 0 <= number < count:
            raise ValueError(f"There is no {name} {number}; they are 0 to {count - 1}.")
    return _join({**header, "start": {"layer": layer, "head": head, "visit": visit}}, body)


def unpack(data: bytes) -> Packed:
    """Read what `pack` wrote. Raises ValueError if these bytes are cut off or of another kind."""
    header, body = _split(data)
    size, wanted = (2 if header["top"] > 255 else 1), int(np.prod(header["shape"]))
    if len(body) != size * wanted:
        raise ValueError(
            f"The header tells of {wanted} weights in {size * wanted} bytes, {len(body)} follow it."
        )
    levels = np.frombuffer(body, f"<u{size}")
    return Packed(header, _weights(levels.reshape(header["shape"]), header["top"]))


def rounding_error(weight: float, top: int) -> float:
    """The most by which a packed weight can differ: half a level, on a square-root scale.

    A level q stands for (q / top)² and for all from (q ± 1/2)² / top²: at most (q + 1/4) / top²
    away, and q is at most √w · top + 1/2. The last quarter is for float32.
    """
    return float((np.sqrt(weight) * top + 1) / top**2)


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    body = 8 + int.from_bytes(data[4:8], "little")
    if data[:4] != MAGIC or len(data) < max(9, body):
        raise ValueError(f"These {len(data)} bytes are no packed attention; pack() makes it.")
    return json.loads(data[8:body]), data[body:]


def _join(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()  # ASCII: a lone surrogate survives as its escape
    text += b" " * (-len(text) % 4)
    return MAGIC + len(text).to_bytes(4, "little") + text + body


def _weights(
    levels: Integer[np.ndarray, "layers heads rows columns"], top: int
) -> Float[np.ndarray, "layers heads rows columns"]:
    shares: npt.NDArray[np.float32] = levels.astype(np.float32) / np.float32(top)
    return shares**2


def _check(
    layers: Sequence[Float[np.ndarray, "heads rows columns"]], labels: Labels
) -> tuple[int, int, int, int]:
    if not len(layers) or not layers[0].size:
        raise ValueError("There is no attention to show: it needs a layer, a head and a token.")
    heads, rows, columns = layers[0].shape
    for layer, weights in enumerate(layers):
        if weights.shape != layers[0].shape:
            raise ValueError(
                f"Layer {layer} has weights of shape {weights.shape}, layer 0 of "
                f"{layers[0].shape}; they must be the same."
            )
        # Written so that a weight which is no number fails too; sums of rounded shares may pass 1.
        if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
            raise ValueError(
                f"Layer {layer} has weights from {weights.min()} to {weights.max()}; "
                "attention weights lie within 0 and 1."
            )
    for name, tokens, wanted in (
        ("rows", labels.rows, rows),
        ("columns", labels.columns, columns),
        ("rows", labels.rows if labels.writes is None else labels.writes, rows),
    ):
        if len(tokens) != wanted:
            raise ValueError(f"There are {len(tokens)} tokens for {wanted} {name} of weights.")
    return len(layers), heads, rows, columns
