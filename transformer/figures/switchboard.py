"""Data of `switchboard.js`: all heads as switches."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Integer

from transformer.figures.packed_trace import PackedTrace
from transformer.figures.packing import COARSE, pack, quantize

THUMBNAIL_CELLS = 24
"""Maximum height and width of a head's thumbnail, in cells."""


def switchboard_data(side: PackedTrace, off: str, *, large: bool = False) -> bytes:
    """Return what `switchboard.js` draws: a switch with a thumbnail per head.

    Args:
        side: the trace whose heads are shown.
        off: the heads that are switched off, in the form that `parse_heads` reads.
    """
    parts = []
    for kind in side.kinds:
        layers = [side.traced.weights(kind, layer) for layer in range(side.depths[kind])]
        pictures = np.stack([pool(layer, THUMBNAIL_CELLS) for layer in layers])
        parts.append(quantize(f"thumbs.{kind}", pictures, COARSE))
    header = {
        "kinds": side.kinds,
        "n_layers": int(side.traced.config["n_layers"]),
        "n_heads": int(side.traced.config["n_heads"]),
        "off": off,
        "large": large,
    }
    return pack(header, parts)


def pool(
    weights: Float[np.ndarray, "heads rows columns"], limit: int
) -> Float[np.ndarray, "heads height width"]:
    """Max-pool to at most `limit` cells a side; a maximum keeps single strong weights visible.

    The switchboard gets pooled weights, because it is sent again for every switch.
    """
    for axis in (1, 2):
        count = weights.shape[axis]
        if count > limit:
            starts: Integer[np.ndarray, " limit"] = np.arange(limit) * count // limit
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights
