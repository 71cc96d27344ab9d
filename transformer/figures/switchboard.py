"""All heads as switches, or by how far each moved, for `switchboard.js`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from transformer.figures.explorer_sides import ExplorerData, pool
from transformer.figures.packing import COARSE, Part, pack, quantize
from transformer.measures.head_codes import LETTERS

PICTURE = 24
"""Cells a side of a head's picture, at most."""


def switchboard_data(
    side: ExplorerData,
    labels: Mapping[str, str],
    off: str,
    *,
    moved: Mapping[str, Float[np.ndarray, "layers heads"]] | None = None,
    chosen: tuple[str, int, int] | None = None,
    large: bool = False,
    exact: bool = True,
) -> bytes:
    """What the browser draws: a switch a head, with its picture; with `moved` a choice of heads.

    Args:
        side: the sentence whose heads are shown.
        labels: of the kinds.
        off: the heads that are off, as `parse_heads` reads them.
        moved: by kind a number a head from 0 to 1; the kinds that have none are left out.
        chosen: the head that is looked at: kind, layer, head.
        exact: layers and heads are counted from 0, and written as in the address.

    Raises:
        ValueError: for numbers of another shape.
    """
    kinds = [kind for kind in side.kinds if moved is None or kind in moved]
    parts = []
    for kind in kinds:
        if moved is None:
            pictures = np.stack([pool(layer, PICTURE) for layer in side.weights(kind)])
            parts.append(quantize(f"thumbs.{kind}", pictures, COARSE))
        else:
            shape = (side.depths[kind], int(side.traced.config["n_heads"]))
            if moved[kind].shape != shape:
                raise ValueError(
                    f"{kind} has numbers of shape {moved[kind].shape} for {shape} heads"
                )
            parts.append(Part(f"moved.{kind}", moved[kind].astype("<f4")))
    header = {
        "kinds": [{"name": k, "letter": LETTERS[k], "label": labels[k]} for k in kinds],
        "n_layers": int(side.traced.config["n_layers"]),
        "n_heads": int(side.traced.config["n_heads"]),
        "off": off,
        "moved": moved is not None,
        "chosen": None if chosen is None else list(chosen),
        "large": large,
        "exact": exact,
    }
    return pack(header, parts)
