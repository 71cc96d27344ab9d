"""The strongest look of every word in every head, as the browser's pins read it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from transformer.figures.packing import FINE, Part, quantize
from transformer.measures.words import looks


def pin_parts(
    kind: str,
    layers: Sequence[Float[np.ndarray, "heads rows columns"]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> list[Part]:
    """`looks` of all layers of a kind, (layers, heads, words) each: `pins.KIND.to` and `.from`, and
    with `.who` after it the words at the other end."""
    each = [looks(one, rows, columns, same=kind != "cross") for one in layers]
    parts = []
    for which, name in enumerate(("to", "from")):
        mine = [pair[which] for pair in each]
        others = np.stack([one.others for one in mine]).astype("<u2")
        parts.append(quantize(f"pins.{kind}.{name}", np.stack([one.weights for one in mine]), FINE))
        parts.append(Part(f"pins.{kind}.{name}.who", others))
    return parts
